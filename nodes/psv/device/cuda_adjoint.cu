// The adjoint kernel and those that go with it on a GPU.
#include "nodes/psv/device/adjoint_block.h"
#include "nodes/psv/device/compare_block.h"
#include "nodes/psv/pipeline/device_target.h"
#include "runtime/device/cuda_blocks.h"

namespace rimetree::psv::device {
namespace {

[[maybe_unused]] const bool brought =
    bring_launcher(&launch_kernel_on_gpu<AdjointJob>) && bring_launcher(&launch_kernel_on_gpu<CompareJob>) &&
    bring_launcher(&launch_threads_on_gpu<AddJob>) && bring_launcher(&launch_threads_on_gpu<PlanesJob>) &&
    bring_launcher(&launch_threads_on_gpu<MoveJob>);

}  // namespace
}  // namespace rimetree::psv::device
