// Recorded programs compiled for the card while a run goes on, by NVRTC where that is there: who has no compiler, or
// only small problems, waits for none.
#pragma once

#include "memory/cuda_device.h"
#include "runtime/device/recorded_job.h"

namespace rimetree {

/// The kernel of a program on the current device; nullptr as long as it is not worth its compilation, or cannot be had.
/// It is worth it when its threads, this launch's included, have done kWorthCompiling operations one by one.
/// RIMETREE_COMPILE=0 never compiles, 1 at once.
inline constexpr double kWorthCompiling = 1e11;
cudaKernel_t compiled_kernel(const RecordedJob& job);

}  // namespace rimetree
