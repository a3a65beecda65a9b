// The adjoint kernel and those that go with it on a GPU: the bodies of adjoint_block.h and compare_block.h by blocks of
// threads.
#include "memory/cuda_device.h"
#include "nodes/psv/device/adjoint_block.h"
#include "nodes/psv/device/adjoint_launch.h"
#include "nodes/psv/device/compare_block.h"

namespace rimetree::psv {
namespace {

constexpr int kThreads = DeviceShape::kThreads;

template <int kPlanes, bool kGeneral, bool kSpectra>
__global__ void __launch_bounds__(kThreads) adjoint_kernel(const __grid_constant__ DeviceAdjointJob job) {
  __shared__ StagedAdjoint<kGeneral> staged;
  __shared__ double shared[kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  const AdjointBlock block{static_cast<std::int32_t>(blockIdx.x) * job.sources, static_cast<std::int32_t>(blockIdx.y),
                           static_cast<std::int32_t>(blockIdx.z)};
  SourceSums<kPlanes, kSpectra> sums;
  for (int row = first_row(job, block); row < end_row(job, block); row += job.rows_per_stage()) {
    stage_adjoint(job, block, thread, row, staged);
    __syncthreads();
    pull_stage<kPlanes, kGeneral, kSpectra>(job, block, thread, row, staged, sums);
    __syncthreads();
  }
  RT_UNROLL
  for (int sum = 0; sum < kSourceSums<kPlanes, kSpectra>; ++sum) {
    if (place_of_sum<kPlanes, kSpectra>(job, block, 0, sum) == nullptr) continue;
    put_sum(thread, sum, sums, shared);
    __syncthreads();
    take_sum<kPlanes, kSpectra>(job, block, thread, sum, shared);
    __syncthreads();
  }
  if constexpr (kSpectra)
    if (job.weights) store_spectra(job, block, thread, sums);
}

__global__ void __launch_bounds__(kThreads) add_kernel(const DeviceAddJob job) {
  add_groups(job, std::int64_t{blockIdx.x} * kThreads + threadIdx.x);
}

__global__ void __launch_bounds__(kThreads) add_sides_kernel(const DeviceSideAddJob job) {
  add_pieces(job, std::int64_t{blockIdx.x} * kThreads + threadIdx.x);
}

__global__ void __launch_bounds__(kThreads) compare_kernel(const DeviceCompareJob job) {
  __shared__ double shared[2 * kThreads];
  const int block = static_cast<int>(blockIdx.x), thread = static_cast<int>(threadIdx.x);
  compare(job, block, thread, shared);
  __syncthreads();
  compare_block(job, block, thread, shared);
}

__global__ void __launch_bounds__(kThreads) collect_kernel(const DeviceCompareJob job) {
  __shared__ double shared[2 * kThreads];
  const int thread = static_cast<int>(threadIdx.x);
  collect(job, thread, shared);
  __syncthreads();
  collect_total(job, thread, shared);
}

__global__ void __launch_bounds__(kThreads) planes_kernel(const DevicePlanesJob job) {
  plane_adjoints(job, std::int64_t{blockIdx.x} * kThreads + threadIdx.x);
}

unsigned blocks_of(std::int64_t n) { return static_cast<unsigned>((n + kThreads - 1) / kThreads); }

void launch_adjoint(memory::Queue& queue, const DeviceAdjointJob& job) {
  const dim3 grid(static_cast<unsigned>((job.sum.n_source + job.sources - 1) / job.sources),
                  static_cast<unsigned>(job.sum.n_run), static_cast<unsigned>(job.n_portion));
  with_adjoint_instance(job, [&]<int kPlanes, bool kGeneral, bool kSpectra>() {
    adjoint_kernel<kPlanes, kGeneral, kSpectra><<<grid, kThreads, 0, memory::cuda_stream(queue)>>>(job);
  });
  memory::check_cuda(cudaGetLastError(), "launch of the adjoint PSV kernel");
}

void launch_add(memory::Queue& queue, const DeviceAddJob& job) {
  add_kernel<<<blocks_of(job.n_value), kThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of a sum");
}

void launch_add_sides(memory::Queue& queue, const DeviceSideAddJob& job) {
  add_sides_kernel<<<blocks_of(job.n_piece * job.n_value), kThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of a sum");
}

void launch_compare(memory::Queue& queue, const DeviceCompareJob& job) {
  compare_kernel<<<static_cast<unsigned>(job.n_block()), kThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of a comparison");
  collect_kernel<<<1, kThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of a sum");
}

void launch_planes(memory::Queue& queue, const DevicePlanesJob& job) {
  planes_kernel<<<blocks_of(std::int64_t{job.n_row} * job.n_channel), kThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of adjoints of planes");
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_adjoint) && bring_launcher(&launch_add) &&
                                      bring_launcher(&launch_add_sides) && bring_launcher(&launch_compare) &&
                                      bring_launcher(&launch_planes);

}  // namespace
}  // namespace rimetree::psv
