// Jobs on devices. A job is a structure that goes to a device by its bytes and names arrays there; a kernel, or a few
// in a row, do all of it. On a GPU the plugin for GPUs brings a launcher for each type of job. An emulated device runs
// the same bodies on the host, block by block and thread by thread, when the queue comes to it.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <type_traits>
#include <typeindex>

#include "memory/device.h"
#include "memory/queue.h"

namespace rimetree {

namespace job_detail {
using AnyLauncher = void (*)();
void add_launcher(std::type_index job, AnyLauncher launcher);
/// nullptr where none has been brought.
AnyLauncher find_launcher(std::type_index job);
[[noreturn]] void throw_no_launcher(const memory::Device& device, std::type_index job);
}  // namespace job_detail

/// Brings a GPU's launcher of a type of job, which queues it.
template <class Job>
bool bring_launcher(void (*launcher)(memory::Queue& queue, const Job& job)) {
  job_detail::add_launcher(typeid(Job), reinterpret_cast<job_detail::AnyLauncher>(launcher));
  return true;
}

/// Whether jobs of a type can run on a device: on a GPU the plugin must have been built with them.
template <class Job>
bool has_launcher(const memory::Device& device) {
  return device.is_emulated() || job_detail::find_launcher(typeid(Job)) != nullptr;
}

/// Calls of a functor on an array and the number of its elements bring the array to where the host finds it.
class ArraysOnHost {
 public:
  explicit ArraysOnHost(const memory::Device& device) : device_(device) {}
  template <class T>
  void operator()(T*& array, std::int64_t count) const {
    if (array != nullptr) array = static_cast<T*>(device_.resolve(array, static_cast<std::size_t>(count) * sizeof(T)));
  }

 private:
  const memory::Device& device_;
};

/// A job of an emulated device with its arrays where the host finds them: those that for_each_array(job, f) gives to
/// f(array, count). A job whose arrays name others in their turn specialises this.
template <class Job>
struct JobOnHost {
  JobOnHost(const memory::Device& device, const Job& from) : job(from) { for_each_array(job, ArraysOnHost(device)); }
  Job job;
};

/// Queues a job; run_on_host(job) is what an emulated device does. The arrays that the job names must stay until it is
/// done. Throws std::logic_error on a GPU without the plugin.
template <class Job, class RunOnHost>
void launch_job(memory::Queue& queue, const Job& job, RunOnHost run_on_host) {
  static_assert(std::is_trivially_copyable_v<Job>, "it goes to the device by its bytes");
  if (queue.device().is_emulated())
    return queue.run([job, run_on_host, &device = queue.device()] { run_on_host(JobOnHost<Job>(device, job).job); });
  const job_detail::AnyLauncher launcher = job_detail::find_launcher(typeid(Job));
  if (launcher == nullptr) job_detail::throw_no_launcher(queue.device(), typeid(Job));
  reinterpret_cast<void (*)(memory::Queue&, const Job&)>(launcher)(queue, job);
}

}  // namespace rimetree
