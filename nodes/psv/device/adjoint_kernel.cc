#include "nodes/psv/device/adjoint_block.h"
#include "nodes/psv/device/compare_block.h"
#include "nodes/psv/device/launches.h"

namespace rimetree::psv {

void launch(memory::Queue& queue, const DeviceAdjointJob& job) { launch_kernel(queue, job); }
void launch(memory::Queue& queue, const DeviceCompareJob& job) { launch_kernel(queue, job); }

}  // namespace rimetree::psv
