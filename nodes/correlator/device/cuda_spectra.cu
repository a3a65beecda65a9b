// The F-engine's kernels on a GPU: the bodies of spectra_job.h and fourier_job.h by blocks of threads.
#include <algorithm>

#include "memory/cuda_device.h"
#include "nodes/correlator/device/fourier_job.h"
#include "nodes/correlator/device/spectra_job.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {
namespace {

__global__ void __launch_bounds__(kSpectraThreads) fold_kernel(const __grid_constant__ FoldJob job) {
  __shared__ FoldShared shared;
  const int thread = static_cast<int>(threadIdx.x);
  const SpectraPlace at = spectra_place(blockIdx.x, job.from.n_input, job.step);
  fold(job, at, thread, shared);
  __syncthreads();
  store_folded(job, at, thread, shared);
}

__global__ void __launch_bounds__(kSpectraThreads) quantise_kernel(const __grid_constant__ QuantiseJob job) {
  __shared__ QuantiseShared shared;
  const int thread = static_cast<int>(threadIdx.x);
  const SpectraPlace at = spectra_place(blockIdx.x, job.n_input, job.n_channel);
  quantise(job, at, thread, shared);
  __syncthreads();
  store_codes(job, at, blockIdx.x, thread, shared);
}

__global__ void fourier_kernel(const __grid_constant__ FourierStepJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < job.size(); i += step)
    fourier_step(job, i);
}

void launch_fold(memory::Queue& queue, const FoldJob& job) {
  const auto blocks = static_cast<unsigned>(job.n_spectrum * tiles(job.from.n_input) * tiles(job.step));
  fold_kernel<<<blocks, kSpectraThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of the channeliser's windows");
}

void launch_quantise(memory::Queue& queue, const QuantiseJob& job) {
  quantise_kernel<<<static_cast<unsigned>(job.n_block()), kSpectraThreads, 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of the channeliser's rounding");
}

void launch_fourier_step(memory::Queue& queue, const FourierStepJob& job) {
  constexpr std::int64_t kThreads = 256, kMostBlocks = 1 << 20;
  const auto blocks = static_cast<unsigned>(std::min((job.size() + kThreads - 1) / kThreads, kMostBlocks));
  fourier_kernel<<<blocks, static_cast<unsigned>(kThreads), 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of a Fourier transform's step");
}

[[maybe_unused]] const bool brought =
    bring_launcher(&launch_fold) && bring_launcher(&launch_quantise) && bring_launcher(&launch_fourier_step);

}  // namespace
}  // namespace rimetree::correlator
