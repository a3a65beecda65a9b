// The PSV kernel on a GPU.
#include "nodes/psv/device/direct_block.h"
#include "runtime/device/cuda_blocks.h"

namespace rimetree::psv::device {
namespace {

[[maybe_unused]] const bool brought = bring_launcher(&launch_kernel_on_gpu<DirectJob<float>>) &&
                                      bring_launcher(&launch_kernel_on_gpu<DirectJob<double>>) &&
                                      bring_launcher(&launch_threads_on_gpu<AntennaJob<float>>) &&
                                      bring_launcher(&launch_threads_on_gpu<AntennaJob<double>>);

}  // namespace
}  // namespace rimetree::psv::device
