// Starts sums over cells on whatever device a queue belongs to.
#pragma once

#include "memory/queue.h"
#include "runtime/solve/sums_job.h"

namespace rimetree::solve {

/// Queues both launches that sums take. The arrays that a job names must stay until they are done. Throws
/// std::logic_error on a GPU without the plugin.
void launch(memory::Queue& queue, const SumsJob& job);
void launch(memory::Queue& queue, const SumListsJob& job);

struct GpuSumsLauncher {
  void (*sums)(memory::Queue& queue, const SumsJob& job) = nullptr;
  void (*lists)(memory::Queue& queue, const SumListsJob& job) = nullptr;
};
void set_gpu_sums_launcher(const GpuSumsLauncher& launcher);

}  // namespace rimetree::solve
