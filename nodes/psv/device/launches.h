// Launches of the kernels of this folder on whatever device a queue belongs to (runtime/device/job_launch.h). Each
// queues its work. The arrays that a job names must stay until it is done. Throws std::logic_error on a GPU without the
// plugin.
#pragma once

#include "nodes/psv/device/adjoint_job.h"
#include "runtime/device/job_launch.h"

namespace rimetree::psv {

void launch(memory::Queue& queue, const DeviceJob<float>& job);
void launch(memory::Queue& queue, const DeviceJob<double>& job);
void launch(memory::Queue& queue, const DeviceAdjointJob& job);
void launch(memory::Queue& queue, const DeviceCompareJob& job);

}  // namespace rimetree::psv
