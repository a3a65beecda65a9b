#include "nodes/psv/device/direct_block.h"

namespace rimetree::psv::device {
namespace {

template <class T>
void launch_some(memory::Queue& queue, const DirectJob<T>& job) {
  if (job.n_row > 0 && job.n_run > 0) launch_kernel(queue, job);
}

}  // namespace

void launch(memory::Queue& queue, const DirectJob<float>& job) { launch_some(queue, job); }
void launch(memory::Queue& queue, const DirectJob<double>& job) { launch_some(queue, job); }

}  // namespace rimetree::psv::device
