// Programs of node classes on a GPU. Whoever includes this before files of node classes and compiles them by nvcc
// brings launchers for their bodies instead of the classes themselves; the build does so for nodes/*.cu.
#pragma once

#include <algorithm>

#include "memory/cuda_device.h"
#include "runtime/cell/cell_node.h"
#include "runtime/cell/cell_reduction.h"
#include "runtime/core/plugin_api.h"

namespace rimetree {

template <class Program>
__global__ void run_program(const __grid_constant__ Program program, const __grid_constant__ CellJob job) {
  for (std::int32_t k = static_cast<std::int32_t>(blockIdx.y); k < job.n_item;
       k += static_cast<std::int32_t>(gridDim.y)) {
    const CellItem& item = job.d_item[k];
    const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
    for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < item.n_thread; i += step)
      program(job, item, i);
  }
}

template <class Program>
void launch_cells(memory::Queue& queue, const ProgramJob<Program>& whole) {
  const CellJob& job = whole.cells;
  if (job.n_item == 0 || job.most_threads == 0) return;
  // Few cells need few threads: a block belongs to one node.
  std::size_t threads = 32;
  while (threads < 256 && threads < job.most_threads) threads *= 2;
  constexpr std::size_t kMostBlocks = (std::size_t{1} << 31) - 1;
  constexpr std::int32_t kMostItems = 65535;  // blocks along y
  const dim3 grid(static_cast<unsigned>(std::min((job.most_threads + threads - 1) / threads, kMostBlocks)),
                  static_cast<unsigned>(std::min(job.n_item, kMostItems)));
  run_program<Program><<<grid, static_cast<unsigned>(threads), 0, memory::cuda_stream(queue)>>>(whole.program, job);
  memory::check_cuda(cudaGetLastError(), "launch of a batch of nodes");
}

/// Brings launchers of all programs of a class, if it has any.
template <class Class>
bool bring_launchers() {
  if constexpr (requires(const Class& node) { node.body(); }) {
    Class::for_each_program(
        []<class N, class Out, bool kDerivatives>(typename Class::template Choice<N, Out, kDerivatives>) {
          using Body = decltype(std::declval<const Class&>().body());
          bring_launcher(&launch_cells<CellProgram<Body, N, Out, kDerivatives>>);
        });
  } else if constexpr (requires { typename Class::Reduced; }) {
    Class::for_each_program([]<class N, bool kDerivatives>(typename Class::template Choice<N, kDerivatives>) {
      bring_launcher(&launch_cells<ReductionProgram<typename Class::Reduced, N, kDerivatives>>);
    });
  }
  return true;
}

}  // namespace rimetree

#undef RIMETREE_REGISTER_NODE
#define RIMETREE_REGISTER_NODE(Class) \
  [[maybe_unused]] static const bool rimetree_registered_##Class = ::rimetree::bring_launchers<Class>()
