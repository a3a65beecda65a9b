#include "nodes/psv/device/adjoint_block.h"
#include "nodes/psv/device/compare_block.h"

namespace rimetree::psv::device {

void launch(memory::Queue& queue, const AdjointJob& job) { launch_kernel(queue, job); }
void launch(memory::Queue& queue, const CompareJob& job) { launch_kernel(queue, job); }

}  // namespace rimetree::psv::device
