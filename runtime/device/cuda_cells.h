// Jobs over the items of a batch on a GPU: a thread does one cell of a node, or one value of a reduction.
#pragma once

#include <algorithm>

#include "memory/cuda_device.h"
#include "runtime/device/cell_launch.h"

namespace rimetree {

/// How many threads a job over items takes: a block belongs to one item.
struct LaunchShape {
  explicit LaunchShape(const CellJob& job) {
    // Few cells need few threads.
    while (threads < 256 && threads < job.most_threads) threads *= 2;
    constexpr std::size_t kMostBlocks = (std::size_t{1} << 31) - 1;
    constexpr std::int32_t kMostItems = 65535;  // blocks along y
    blocks = {static_cast<unsigned>(std::min((job.most_threads + threads - 1) / threads, kMostBlocks)),
              static_cast<unsigned>(std::min(job.n_item, kMostItems))};
  }
  unsigned threads = 32;
  dim3 blocks;
};

/// Calls f(item, i) for all that there is to do for this thread.
template <class F>
__device__ void for_each_of_thread(const CellJob& job, const F& f) {
  for (std::int32_t k = static_cast<std::int32_t>(blockIdx.y); k < job.n_item;
       k += static_cast<std::int32_t>(gridDim.y)) {
    const CellItem& item = job.d_item[k];
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < item.n_thread; i += step) f(item, i);
  }
}

template <class Program>
__global__ void run_program(const __grid_constant__ Program program, const __grid_constant__ CellJob job) {
  for_each_of_thread(job, [&](const CellItem& item, std::size_t i) { program(job, item, i); });
}

template <class Program>
void launch_cells(memory::Queue& queue, const ProgramJob<Program>& whole) {
  if (whole.cells.n_item == 0 || whole.cells.most_threads == 0) return;
  const LaunchShape shape(whole.cells);
  run_program<Program><<<shape.blocks, shape.threads, 0, memory::cuda_stream(queue)>>>(whole.program, whole.cells);
  memory::check_cuda(cudaGetLastError(), "launch of a batch of nodes");
}

}  // namespace rimetree
