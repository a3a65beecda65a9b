// Kernels of block_kernel.h on a GPU.
#pragma once

#include <algorithm>

#include "memory/cuda_device.h"
#include "runtime/device/block_kernel.h"

namespace rimetree {

/// The threads of a block, as one of them sees it.
template <class Kernel>
class GpuTeam {
 public:
  RT_HD explicit GpuTeam(unsigned char* shared) : shared_(reinterpret_cast<typename Kernel::Shared*>(shared)) {}
  RT_HD typename Kernel::Shared& shared() { return *shared_; }
  template <class Step>
  RT_HD void each([[maybe_unused]] Step&& step) {
#ifdef __CUDA_ARCH__
    step(static_cast<int>(threadIdx.x), own_);
    __syncthreads();
#endif
  }
  template <class Step>
  RT_HD void each_at_once([[maybe_unused]] Step&& step) {
#ifdef __CUDA_ARCH__
    step(static_cast<int>(threadIdx.x), own_);
#endif
  }
  template <class Step>
  RT_HD void each_warp([[maybe_unused]] Step&& step) {
#ifdef __CUDA_ARCH__
    const int thread = static_cast<int>(threadIdx.x);
    step(thread / 32, thread % 32, own_);
    __syncthreads();
#endif
  }

 private:
  typename Kernel::Shared* shared_;
  typename Kernel::Own own_;
};

/// Blocks that a multiprocessor is to hold, for kernels that say so: what registers they may take follows from it.
template <class Kernel>
constexpr int least_blocks() {
  if constexpr (requires { Kernel::kLeastBlocks; })
    return Kernel::kLeastBlocks;
  else
    return 1;
}

template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreads, least_blocks<Kernel>())
    block_kernel(const __grid_constant__ typename Kernel::Job job, std::int32_t first_y) {
  extern __shared__ __align__(16) unsigned char shared[];
  GpuTeam<Kernel> team(shared);
  Kernel::run(job,
              {static_cast<std::int32_t>(blockIdx.x), first_y + static_cast<std::int32_t>(blockIdx.y),
               static_cast<std::int32_t>(blockIdx.z)},
              team);
}

/// Throws std::runtime_error where the device has too little shared memory, as older ones may.
template <class Kernel>
void launch_blocks(memory::Queue& queue, const typename Kernel::Job& job) {
  const BlockIndex n = Kernel::grid(job);
  constexpr std::int32_t kMostY = 65535;
  constexpr int kBytes = static_cast<int>(sizeof(typename Kernel::Shared));
  memory::check_cuda(cudaFuncSetAttribute(block_kernel<Kernel>, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                     "shared memory of a kernel");
  for (std::int32_t y = 0; y < n.y; y += kMostY) {
    const dim3 grid(static_cast<unsigned>(n.x), static_cast<unsigned>(std::min(n.y - y, kMostY)),
                    static_cast<unsigned>(n.z));
    block_kernel<Kernel><<<grid, Kernel::kThreads, kBytes, memory::cuda_stream(queue)>>>(job, y);
    memory::check_cuda(cudaGetLastError(), "launch of a kernel");
  }
}
template <class Job>
void launch_kernel_on_gpu(memory::Queue& queue, const Job& job) {
  with_kernel(job, [&]<class Kernel>() { launch_blocks<Kernel>(queue, job); });
}

template <class Job>
__global__ void thread_kernel(const __grid_constant__ Job job) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < job.n_thread(); i += step)
    job.thread(i);
}

template <class Job>
void launch_threads_on_gpu(memory::Queue& queue, const Job& job) {
  constexpr std::int64_t kThreads = 128, kMostBlocks = 1 << 16;
  const auto blocks = static_cast<unsigned>(std::min((job.n_thread() + kThreads - 1) / kThreads, kMostBlocks));
  thread_kernel<Job><<<blocks, static_cast<unsigned>(kThreads), 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of threads");
}

}  // namespace rimetree
