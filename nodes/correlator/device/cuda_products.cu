// The kernels of products on a GPU: the bodies of unpack_job.h, tile_job.h, pair_job.h and nibble_job.h by blocks of
// threads.
#include <algorithm>

#include "memory/cuda_device.h"
#include "nodes/correlator/device/byte_unit.cuh"
#include "nodes/correlator/device/product_launch.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {
namespace {

constexpr int kMostAlongY = 65535;

__global__ void unpack_kernel(const __grid_constant__ UnpackJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x, n = job.n_thread();
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < n; i += step) unpack(job, i);
}

template <int kDown, int kAcross>
__global__ void __launch_bounds__(TileShape<kDown, kAcross>::kThreads)
    tile_kernel(const __grid_constant__ TileJob job) {
  using Shape = TileShape<kDown, kAcross>;
  extern __shared__ __align__(16) unsigned char shared[];
  auto& staged = *reinterpret_cast<TileStaged<Shape>*>(shared);
  const int thread = static_cast<int>(threadIdx.x), warp = thread / 32, lane = thread % 32;
  const TilePlace place{static_cast<std::int32_t>(blockIdx.x),
                        job.first_channel + static_cast<std::int32_t>(blockIdx.y)};
  TileFetched<Shape> fetched;
  TileSums<GpuByteUnit> sums;
  TileReader<Shape> reader = tile_reader<Shape>(job, place, thread);
  fetch(job, 0, reader, fetched);
  int buffer = 0;
  for (int step = 0; step < job.n_step; step += Shape::kSteps) {
    // What the other buffer holds may still be multiplied; this one was, before the last barrier.
    put(fetched, thread, buffer, staged);
    __syncthreads();
    fetch(job, step + Shape::kSteps, reader, fetched);
    multiply<GpuByteUnit, kDown, kAcross>(job, place, warp, lane, buffer, staged, sums);
    buffer = 1 - buffer;
  }
  store<GpuByteUnit, kDown, kAcross>(job, place, warp, lane, sums);
}

template <int kGroup>
__global__ void __launch_bounds__(kPairThreads) hybrid_kernel(const __grid_constant__ PairJob job) {
  add_hybrid<kGroup>(job, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), static_cast<int>(threadIdx.x));
}

template <int kGroup>
__global__ void __launch_bounds__(kPairThreads) group_kernel(const __grid_constant__ PairJob job) {
  __shared__ PairShared shared;
  const int thread = static_cast<int>(threadIdx.x);
  const PairPlace<kGroup> at(job, static_cast<int>(blockIdx.x), static_cast<int>(blockIdx.y), thread);
  PairTotals<kGroup> total;
  for (std::int64_t t = 0; t < job.n_time; ++t) {
    read_pair(job, at, thread, t, shared, total);
    __syncthreads();
    add_shared(thread, shared, total);
    __syncthreads();
  }
  store_shared(job, at, total);
}

__global__ void code_sums_kernel(const __grid_constant__ NibbleJob job) {
  add_codes(job, std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x);
}

__global__ void __launch_bounds__(kNibbleThreads) nibble_kernel(const __grid_constant__ NibbleJob job) {
  __shared__ NibbleStaged staged;
  const int thread = static_cast<int>(threadIdx.x), tile = static_cast<int>(blockIdx.x);
  const std::int64_t channel = job.first_channel + std::int64_t{blockIdx.y};
  NibbleTotals total;
  for (std::int64_t first = 0; first < job.n_time; first += kNibbleStage) {
    stage_nibbles(job, tile, channel, thread, first, staged);
    __syncthreads();
    multiply_nibbles(thread, staged, total);
    if ((first + kNibbleStage) % kNibbleTimes == 0) take_nibbles_out(total);
    __syncthreads();
  }
  take_nibbles_out(total);
  store_nibbles(job, tile, channel, thread, total);
}

__global__ void __launch_bounds__(kNibbleThreads) correction_kernel(const __grid_constant__ NibbleJob job) {
  correct_nibbles(job, static_cast<int>(blockIdx.x), job.first_channel + std::int64_t{blockIdx.y},
                  static_cast<int>(threadIdx.x));
}

unsigned blocks_of(std::int64_t n, int threads) { return static_cast<unsigned>((n + threads - 1) / threads); }

void launch_unpack(memory::Queue& queue, const UnpackJob& job) {
  constexpr int kThreads = 256;
  constexpr unsigned kMostBlocks = 1u << 20;
  unpack_kernel<<<std::min(blocks_of(job.n_thread(), kThreads), kMostBlocks), kThreads, 0,
                  memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of the correlator's corner turn");
}

/// Calls launch(part, grid) for as many channels as a grid may have.
template <class Job, class Launch>
void by_channels(const Job& job, Launch&& launch) {
  for (std::int32_t first = 0; first < job.sums.n_channel; first += kMostAlongY) {
    Job part = job;
    part.first_channel = first;
    part.n_channel = std::min(job.sums.n_channel - first, kMostAlongY);
    launch(part, dim3(static_cast<unsigned>(part.sums.n_pair), static_cast<unsigned>(part.n_channel)));
  }
}

void launch_tiles(memory::Queue& queue, const TileJob& job) {
  const cudaStream_t stream = memory::cuda_stream(queue);
  with_tile_variant(job.variant, [&]<int kDown, int kAcross>() {
    using Shape = TileShape<kDown, kAcross>;
    const auto kernel = tile_kernel<kDown, kAcross>;
    constexpr int kBytes = static_cast<int>(sizeof(TileStaged<Shape>));
    memory::check_cuda(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes),
                       "shared memory of the correlator's tiles");
    by_channels(job, [&](const TileJob& part, const dim3& grid) {
      kernel<<<grid, Shape::kThreads, kBytes, stream>>>(part);
      memory::check_cuda(cudaGetLastError(), "launch of the correlator's tiles");
    });
  });
}

void launch_pairs(memory::Queue& queue, const PairJob& job) {
  const cudaStream_t stream = memory::cuda_stream(queue);
  with_group(job.group, [&]<int kGroup>() {
    constexpr int kChannels = PairPlace<kGroup>::kChannels;
    const dim3 grid(static_cast<unsigned>(job.sums.n_pair), blocks_of(job.sums.n_channel, kChannels));
    if (job.is_shared != 0)
      group_kernel<kGroup><<<grid, kPairThreads, 0, stream>>>(job);
    else
      hybrid_kernel<kGroup><<<grid, kPairThreads, 0, stream>>>(job);
    memory::check_cuda(cudaGetLastError(), "launch of the correlator's pairs");
  });
}

void launch_nibbles(memory::Queue& queue, const NibbleJob& job) {
  const cudaStream_t stream = memory::cuda_stream(queue);
  code_sums_kernel<<<blocks_of(std::int64_t{job.sums.n_channel} * job.sums.n_input, kPairThreads), kPairThreads, 0,
                     stream>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch of the sums of nibbles");
  by_channels(job, [&](const NibbleJob& part, const dim3& grid) {
    nibble_kernel<<<grid, kNibbleThreads, 0, stream>>>(part);
    memory::check_cuda(cudaGetLastError(), "launch of the products of nibbles");
    correction_kernel<<<grid, kNibbleThreads, 0, stream>>>(part);
    memory::check_cuda(cudaGetLastError(), "launch of the correction of nibbles");
  });
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_unpack) && bring_launcher(&launch_tiles) &&
                                      bring_launcher(&launch_pairs) && bring_launcher(&launch_nibbles);

}  // namespace
}  // namespace rimetree::correlator
