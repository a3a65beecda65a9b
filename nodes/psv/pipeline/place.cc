#include "nodes/psv/pipeline/place.h"

#include "runtime/device/job_launch.h"

namespace rimetree::psv {

void launch(memory::Queue& queue, const PlaceJob& job) {
  if (job.size() == 0) return;
  launch_job(queue, job, [](const PlaceJob& on_host) {
    for (std::int64_t i = 0; i < on_host.size(); ++i) on_host.place(i);
  });
}

}  // namespace rimetree::psv
