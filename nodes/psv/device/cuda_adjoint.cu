// The adjoint kernel and those that go with it on a GPU.
#include "nodes/psv/device/adjoint_block.h"
#include "nodes/psv/device/compare_block.h"
#include "nodes/psv/pipeline/place.h"
#include "runtime/device/cuda_blocks.h"

namespace rimetree::psv {
namespace {

[[maybe_unused]] const bool brought =
    bring_launcher(&launch_kernel_on_gpu<DeviceAdjointJob>) &&
    bring_launcher(&launch_kernel_on_gpu<DeviceCompareJob>) && bring_launcher(&launch_threads_on_gpu<DeviceAddJob>) &&
    bring_launcher(&launch_threads_on_gpu<DevicePlanesJob>) && bring_launcher(&launch_threads_on_gpu<PlaceJob>);

}  // namespace
}  // namespace rimetree::psv
