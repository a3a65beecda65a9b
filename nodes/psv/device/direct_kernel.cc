#include "nodes/psv/device/direct_block.h"
#include "nodes/psv/device/launches.h"

namespace rimetree::psv {
namespace {

template <class T>
void launch_some(memory::Queue& queue, const DeviceJob<T>& job) {
  if (job.n_row > 0 && job.n_run > 0) launch_kernel(queue, job);
}

}  // namespace

void launch(memory::Queue& queue, const DeviceJob<float>& job) { launch_some(queue, job); }
void launch(memory::Queue& queue, const DeviceJob<double>& job) { launch_some(queue, job); }

}  // namespace rimetree::psv
