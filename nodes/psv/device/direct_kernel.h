// Starts the PSV kernel on whatever device a queue belongs to (runtime/device/job_launch.h).
#pragma once

#include "nodes/psv/device/direct_job.h"
#include "nodes/psv/pipeline/with_planes.h"
#include "runtime/device/job_launch.h"

namespace rimetree::psv {

/// Queues one launch. The arrays that the job names must stay until it is done. Throws std::logic_error on a GPU
/// without the plugin.
void launch(memory::Queue& queue, const DeviceJob<float>& job);
void launch(memory::Queue& queue, const DeviceJob<double>& job);

/// Calls f.template operator()<kPlanes, kGeneral, kThreads>() with the instance that a job needs.
template <class T, class F>
void with_instance(const DeviceJob<T>& job, F&& f) {
  const auto with_threads = [&]<int kPlanes, bool kGeneral>() {
    switch (job.threads) {
      case 64:
        return f.template operator()<kPlanes, kGeneral, 64>();
      case 256:
        return f.template operator()<kPlanes, kGeneral, 256>();
      default:
        return f.template operator()<kPlanes, kGeneral, 128>();
    }
  };
  with_planes(job.n_plane, [&]<int kPlanes>() {
    job.general() ? with_threads.template operator()<kPlanes, true>()
                  : with_threads.template operator()<kPlanes, false>();
  });
}

}  // namespace rimetree::psv
