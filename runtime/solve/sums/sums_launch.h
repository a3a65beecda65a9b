// Starts sums over cells on whatever device a queue belongs to (runtime/device/job_launch.h).
#pragma once

#include "runtime/device/job_launch.h"
#include "runtime/solve/sums/sums_job.h"

namespace rimetree::solve {

/// Queues both launches that sums take. The arrays that a job names must stay until they are done. Throws
/// std::logic_error on a GPU without the plugin.
void launch(memory::Queue& queue, const SumsJob& job);
void launch(memory::Queue& queue, const SumListsJob& job);

}  // namespace rimetree::solve
