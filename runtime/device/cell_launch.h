// Starts a program on all items of a job, on whatever device a queue belongs to: a GPU by the launcher that the plugin
// for GPUs brings, an emulated device by host code that runs the same program, thread by thread.
#pragma once

#include <functional>
#include <string>
#include <type_traits>

#include "memory/device.h"
#include "runtime/device/cell_job.h"

namespace rimetree {

/// Queues a program, given by its bytes, on a GPU.
using GpuLauncher = void (*)(memory::Queue& queue, const void* program, const CellJob& job);
/// Brings the launcher of a class's program; `variant`: program_variant().
void add_gpu_launcher(const std::string& class_name, int variant, GpuLauncher launcher);
/// Whether programs of the class can run on the device: on a GPU the plugin must have been built with the class.
bool has_launcher(const memory::Device& device, const std::string& class_name, int variant);

/// Runs host code in the queue's turn, on a job whose pointers are the host's.
void launch_emulated(memory::Queue& queue, const CellJob& job, std::size_t bytes_per_value,
                     std::function<void(const CellJob& job)> run);
void launch_on_gpu(memory::Queue& queue, const std::string& class_name, int variant, const void* program,
                   const CellJob& job);

/// Out: the number type of the result.
template <class Out, class Program>
void launch_program(memory::Queue& queue, const std::string& class_name, int variant, const Program& program,
                    const CellJob& job) {
  static_assert(std::is_trivially_copyable_v<Program>, "it goes to the device by its bytes");
  if (!queue.device().is_emulated()) return launch_on_gpu(queue, class_name, variant, &program, job);
  launch_emulated(queue, job, sizeof(Out), [program](const CellJob& on_host) {
    for (std::int32_t k = 0; k < on_host.n_item; ++k)
      for (std::size_t i = 0; i < on_host.d_item[k].n_thread; ++i) program(on_host, on_host.d_item[k], i);
  });
}

}  // namespace rimetree
