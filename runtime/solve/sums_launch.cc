#include "runtime/solve/sums_launch.h"

#include <stdexcept>
#include <type_traits>
#include <vector>

#include "memory/device.h"
#include "runtime/solve/sums_body.h"

namespace rimetree::solve {

namespace {

GpuSumsLauncher gpu_launcher;

template <class T>
void resolve(const memory::Device& device, T*& array, std::int64_t count) {
  if (array != nullptr) array = static_cast<T*>(device.resolve(array, static_cast<std::size_t>(count) * sizeof(T)));
}

/// A job with all its arrays where the host finds them.
class ResolvedJob {
 public:
  ResolvedJob(const memory::Device& device, const SumsJob& from) : job(from), device_(device) {
    resolve(job.d_time, job.n_time + 1);
    resolve(job.d_frequency, job.n_frequency + 1);
    resolve(job.d_first_slot, job.n_block() + 1);
    resolve(job.d_coefficient, job.n_coefficient);
    resolve(job.d_partial, job.n_thread() * job.n_number());
    resolve(job.d_sums, job.n_sum() * job.n_number());
    copy(job.d_equation, job.n_equation, equations_);
    copy(job.d_fixed, job.n_fixed, fixed_);
    copy(job.d_vector, job.n_vector, vectors_);
    resolve(job.d_many, job.n_many);
    for (SumEquation& equation : equations_)
      for (SumArray* array : {&equation.data, &equation.residual, &equation.weight, &equation.flags}) move(*array);
    for (SumArray& array : fixed_) move(array);
    for (SumVector& vector : vectors_) move(vector.values);
    job.d_many = arrays_.data();
  }
  SumsJob job;

 private:
  template <class T>
  void resolve(T*& array, std::int64_t count) const {
    solve::resolve(device_, array, count);
  }
  /// Each of them becomes an array of its own.
  void move(SumArray& array) {
    if (array.base < 0) return;
    const std::byte* values = job.values<std::byte>(array);
    resolve(values, static_cast<std::int64_t>(array.bytes));
    array.base = static_cast<std::int64_t>(SumsJob::kFewArrays + arrays_.size());
    array.offset = 0;
    arrays_.push_back(values);
  }
  /// A table of descriptions, so that these can be resolved in their turn.
  template <class T>
  void copy(const T*& array, std::int64_t count, std::vector<T>& to) const {
    resolve(array, count);
    if (array != nullptr) to.assign(array, array + count);
    array = to.data();
  }
  const memory::Device& device_;
  std::vector<SumEquation> equations_;
  std::vector<SumArray> fixed_;
  std::vector<SumVector> vectors_;
  std::vector<const std::byte*> arrays_;
};

void run_on_host(const SumsJob& job) {
  for (int tile = 0; tile < job.n_tile(); ++tile)
    for (std::int64_t thread = 0; thread < job.n_thread(); ++thread)
      job.is_real != 0 ? sum_lane<true>(job, thread, tile) : sum_lane<false>(job, thread, tile);
  for (std::int64_t thread = 0; thread < job.n_sum() * job.n_number(); ++thread) add_lanes(job, thread);
}

}  // namespace

void set_gpu_sums_launcher(const GpuSumsLauncher& launcher) { gpu_launcher = launcher; }

void launch(memory::Queue& queue, const SumsJob& job) {
  if (queue.device().is_emulated())
    return queue.run([job, &device = queue.device()] { run_on_host(ResolvedJob(device, job).job); });
  if (gpu_launcher.sums == nullptr) throw std::logic_error("Solver: no sums for " + queue.device().name());
  gpu_launcher.sums(queue, job);
}

void launch(memory::Queue& queue, const SumListsJob& job) {
  if (queue.device().is_emulated())
    return queue.run([own = job, &device = queue.device()]() mutable {
      resolve(device, own.d_first, own.n_total + 1);
      resolve(device, own.d_source, own.n_source);
      resolve(device, own.d_sums, own.n_sum);
      resolve(device, own.d_total, own.n_total);
      for (std::int64_t thread = 0; thread < own.n_total; ++thread) add_list(own, thread);
    });
  if (gpu_launcher.lists == nullptr) throw std::logic_error("Solver: no sums for " + queue.device().name());
  gpu_launcher.lists(queue, job);
}

}  // namespace rimetree::solve
