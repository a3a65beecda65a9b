// The matrix-product kernel on a GPU.
#include "nodes/psv/matrix/gpu_unit.cuh"
#include "nodes/psv/matrix/matrix_block.h"
#include "runtime/device/cuda_blocks.h"

namespace rimetree::psv::matrix {
namespace {

template <class T, MatrixUnitKind kKind>
struct OnGpu {
  using Type = GpuPlainUnit<T>;
};
template <>
struct OnGpu<double, MatrixUnitKind::kTensor> {
  using Type = GpuDoubleUnit;
};
template <>
struct OnGpu<float, MatrixUnitKind::kTensor> {
  using Type = GpuSingleUnit;
};

template <class T>
void launch_on_gpu(memory::Queue& queue, const MatrixJob<T>& job) {
  with_matrix_kernel<OnGpu>(job, [&]<class Kernel>() { launch_blocks<Kernel>(queue, job); });
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_on_gpu<float>) && bring_launcher(&launch_on_gpu<double>);

}  // namespace
}  // namespace rimetree::psv::matrix
