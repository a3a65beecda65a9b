// The PSV kernel on a GPU: the bodies of direct_block.h by blocks of threads.
#include "memory/cuda_device.h"
#include "nodes/psv/device/direct_block.h"
#include "nodes/psv/device/direct_kernel.h"

namespace rimetree::psv {
namespace {

template <class T, int kPlanes, bool kGeneral, int kThreads>
__global__ void __launch_bounds__(kThreads) psv_kernel(const __grid_constant__ DeviceJob<T> job) {
  extern __shared__ __align__(16) unsigned char shared[];
  auto& staged = *reinterpret_cast<Staged<T, kGeneral, kThreads>*>(shared);
  const int thread = static_cast<int>(threadIdx.x);
  const BlockPlace block{static_cast<std::int32_t>(blockIdx.x) * job.rows_per_block(),
                         static_cast<std::int32_t>(blockIdx.y)};
  Sums<T, kPlanes> sums;
  for (int first = 0; first < job.n_source; first += job.tiles()) {
    stage_pair(job, block, thread, first, staged);
    __syncthreads();
    accumulate(job, block, thread, first, staged, sums);
    __syncthreads();
  }
  store<T, kPlanes, kGeneral>(job, block, thread, sums);
}

constexpr int kFewestThreads = 64;

/// That a kernel may ask for, on the current device.
int shared_memory_per_block() {
  int device = 0, bytes = 0;
  memory::check_cuda(cudaGetDevice(&device), "cudaGetDevice");
  memory::check_cuda(cudaDeviceGetAttribute(&bytes, cudaDevAttrMaxSharedMemoryPerBlockOptin, device),
                     "cudaDeviceGetAttribute");
  return bytes;
}

template <class T>
void launch_on_gpu(memory::Queue& queue, const DeviceJob<T>& job) {
  const cudaStream_t stream = memory::cuda_stream(queue);
  const int rows = job.rows_per_block();
  constexpr int kMostRuns = 65535;  // blocks along y
  with_instance(job, [&]<int kPlanes, bool kGeneral, int kThreads>() {
    const auto kernel = psv_kernel<T, kPlanes, kGeneral, kThreads>;
    constexpr int kBytes = static_cast<int>(sizeof(Staged<T, kGeneral, kThreads>));
    if (kThreads > kFewestThreads && kBytes > shared_memory_per_block()) {
      // Cards of compute capability 7.5 have 64 kB; what was tuned without smearing may take more with it.
      DeviceJob<T> smaller = job;
      smaller.threads = kThreads / 2;
      return launch_on_gpu(queue, smaller);
    }
    memory::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                       "shared memory of the PSV kernel");
    for (int run = 0; run < job.n_run; run += kMostRuns) {
      DeviceJob<T> part = job;
      part.run = job.run + run;
      part.n_run = std::min(job.n_run - run, kMostRuns);
      const dim3 grid(static_cast<unsigned>((job.n_row + rows - 1) / rows), static_cast<unsigned>(part.n_run));
      kernel<<<grid, kThreads, kBytes, stream>>>(part);
      memory::check_cuda(cudaGetLastError(), "launch of the PSV kernel");
    }
  });
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_on_gpu<float>) && bring_launcher(&launch_on_gpu<double>);

}  // namespace
}  // namespace rimetree::psv
