// Starts sums over cells on whatever device a queue belongs to.
#pragma once

#include "memory/queue.h"
#include "runtime/solve/sums_job.h"

namespace rimetree::solve {

/// Queues both launches. The arrays that a job names must stay until they are done. Throws std::logic_error on a GPU
/// without the plugin.
void launch(memory::Queue& queue, const SumsJob& job);

using GpuSumsLauncher = void (*)(memory::Queue& queue, const SumsJob& job);
void set_gpu_sums_launcher(GpuSumsLauncher launcher);

}  // namespace rimetree::solve
