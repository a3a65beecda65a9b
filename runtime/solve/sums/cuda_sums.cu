// Sums over cells on a GPU: the bodies of sums_body.h, a thread each.
#include "memory/cuda_device.h"
#include "runtime/solve/sums/sums_body.h"
#include "runtime/solve/sums/sums_launch.h"

namespace rimetree::solve {
namespace {

constexpr int kThreads = 128;

template <bool kReal>
__global__ void __launch_bounds__(kThreads) lanes_kernel(const __grid_constant__ SumsJob job) {
  sum_lane<kReal>(job, std::int64_t{blockIdx.x} * kThreads + threadIdx.x, static_cast<int>(blockIdx.y));
}

__global__ void __launch_bounds__(kThreads) add_kernel(const __grid_constant__ SumsJob job) {
  add_lanes(job, std::int64_t{blockIdx.x} * kThreads + threadIdx.x);
}

__global__ void __launch_bounds__(kThreads) lists_kernel(const SumListsJob job) {
  add_list(job, std::int64_t{blockIdx.x} * kThreads + threadIdx.x);
}

unsigned blocks_of(std::int64_t n) { return static_cast<unsigned>((n + kThreads - 1) / kThreads); }

void launch_sums(memory::Queue& queue, const SumsJob& job) {
  if (job.n_thread() == 0 || job.n_sum() == 0) return;
  const cudaStream_t stream = memory::cuda_stream(queue);
  const dim3 grid(blocks_of(job.n_thread()), static_cast<unsigned>(job.n_tile()));
  if (job.is_real != 0)
    lanes_kernel<true><<<grid, kThreads, 0, stream>>>(job);
  else
    lanes_kernel<false><<<grid, kThreads, 0, stream>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of sums over cells");
  add_kernel<<<blocks_of(job.n_sum() * job.n_number()), kThreads, 0, stream>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of sums of strands");
}

void launch_lists(memory::Queue& queue, const SumListsJob& job) {
  if (job.n_total == 0) return;
  lists_kernel<<<blocks_of(job.n_total), kThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of sums of sums");
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_sums) && bring_launcher(&launch_lists);

}  // namespace
}  // namespace rimetree::solve
