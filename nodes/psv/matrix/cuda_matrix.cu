// The matrix-product kernel on a GPU: the bodies of matrix_block.h by blocks of threads.
#include <algorithm>

#include "memory/cuda_device.h"
#include "nodes/psv/matrix/gpu_unit.cuh"
#include "nodes/psv/matrix/matrix_block.h"
#include "nodes/psv/matrix/matrix_kernel.h"

namespace rimetree::psv {
namespace {

template <class T, MatrixUnitKind kKind>
struct GpuUnit {
  using Type = GpuPlainUnit<T>;
};
template <>
struct GpuUnit<double, MatrixUnitKind::kTensor> {
  using Type = GpuDoubleUnit;
};
template <>
struct GpuUnit<float, MatrixUnitKind::kTensor> {
  using Type = GpuSingleUnit;
};

template <class T, MatrixUnitKind kUnit, int kTile, int kWarps, int kPlanes>
__global__ void __launch_bounds__(MatrixShape<T, kTile, kWarps, kPlanes>::kThreads)
    matrix_kernel(const __grid_constant__ MatrixJob<T> job) {
  using Shape = MatrixShape<T, kTile, kWarps, kPlanes>;
  using Unit = typename GpuUnit<T, kUnit>::Type;
  extern __shared__ __align__(16) unsigned char shared[];
  auto& staged = *reinterpret_cast<MatrixStaged<T, Shape, kPlanes>*>(shared);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const MatrixPlace place{static_cast<std::int32_t>(blockIdx.x), static_cast<std::int32_t>(blockIdx.y)};
  MatrixSums<T, Shape, Unit, kPlanes> sums;
  const int terms = job.with_jones() ? Shape::kDepth / 2 : Shape::kDepth;
  for (std::int32_t first = 0; first < job.n_term(); first += terms) {
    stage(job, place, thread, first, staged);
    __syncthreads();
    multiply(job, place, warp, lane, staged, sums);
    __syncthreads();
  }
  clear_rows(thread, staged);
  __syncthreads();
  find_rows(job, place, thread, staged);
  __syncthreads();
  store(job, place, warp, lane, staged, sums);
}

template <class T>
void launch_on_gpu(memory::Queue& queue, const MatrixJob<T>& job) {
  const cudaStream_t stream = memory::cuda_stream(queue);
  constexpr int kMostRuns = 65535;  // blocks along y
  with_matrix_instance(job.variant, job.n_plane, [&]<MatrixUnitKind kUnit, int kTile, int kWarps, int kPlanes>() {
    using Shape = MatrixShape<T, kTile, kWarps, kPlanes>;
    const auto kernel = matrix_kernel<T, kUnit, kTile, kWarps, kPlanes>;
    constexpr int kBytes = static_cast<int>(sizeof(MatrixStaged<T, Shape, kPlanes>));
    memory::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                       "shared memory of the matrix kernel");
    for (int run = 0; run < job.n_run; run += kMostRuns) {
      MatrixJob<T> part = job;
      part.run = job.run + run;
      part.n_run = std::min(job.n_run - run, kMostRuns);
      const dim3 grid(static_cast<unsigned>(part.n_tile), static_cast<unsigned>(part.n_run));
      kernel<<<grid, Shape::kThreads, kBytes, stream>>>(part);
      memory::check_cuda(cudaGetLastError(), "launch of the matrix kernel");
    }
  });
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_on_gpu<float>) && bring_launcher(&launch_on_gpu<double>);

}  // namespace
}  // namespace rimetree::psv
