// Starts the adjoint kernel and those that go with it on whatever device a queue belongs to
// (runtime/device/job_launch.h).
#pragma once

#include "nodes/psv/device/adjoint_job.h"
#include "nodes/psv/pipeline/with_planes.h"
#include "runtime/device/job_launch.h"

namespace rimetree::psv {

/// Each queues its work. The arrays that a job names must stay until it is done. Throws std::logic_error on a GPU
/// without the plugin.
void launch(memory::Queue& queue, const DeviceAdjointJob& job);
void launch(memory::Queue& queue, const DeviceAddJob& job);
void launch(memory::Queue& queue, const DeviceSideAddJob& job);
void launch(memory::Queue& queue, const DeviceCompareJob& job);
void launch(memory::Queue& queue, const DevicePlanesJob& job);

/// Calls f.template operator()<kPlanes, kGeneral, kSpectra>() with the instance that a job needs.
template <class F>
void with_adjoint_instance(const DeviceAdjointJob& job, F&& f) {
  with_planes(job.sum.n_plane, [&]<int kPlanes>() {
    if (job.spectra())
      f.template operator()<kPlanes, true, true>();
    else if (job.sum.general())
      f.template operator()<kPlanes, true, false>();
    else
      f.template operator()<kPlanes, false, false>();
  });
}

}  // namespace rimetree::psv
