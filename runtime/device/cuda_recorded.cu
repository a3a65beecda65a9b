// Recorded programs on a GPU.
#include "runtime/device/cuda_cells.h"
#include "runtime/device/cuda_compiled.h"
#include "runtime/device/recorded_job.h"

namespace rimetree {

namespace {

template <int kRegisters>
__global__ void run_recorded_program(const __grid_constant__ RecordedJob job) {
  for_each_of_thread(job.cells, [&](const CellItem& item, std::size_t i) { run_recorded<kRegisters>(job, item, i); });
}

void launch_on_gpu(memory::Queue& queue, const RecordedJob& job) {
  if (job.cells.n_item == 0 || job.cells.most_threads == 0) return;
  const LaunchShape shape(job.cells);
  if (const cudaKernel_t kernel = compiled_kernel(job)) {
    CellJob cells = job.cells;
    void* arguments[] = {&cells};
    memory::check_cuda(cudaLaunchKernel(reinterpret_cast<const void*>(kernel), shape.blocks, dim3(shape.threads),
                                        arguments, 0, memory::cuda_stream(queue)),
                       "launch of a compiled program");
    return;
  }
  with_registers(job, [&]<int kRegisters>() {
    run_recorded_program<kRegisters><<<shape.blocks, shape.threads, 0, memory::cuda_stream(queue)>>>(job);
  });
  memory::check_cuda(cudaGetLastError(), "launch of a recorded program");
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_on_gpu);

}  // namespace

}  // namespace rimetree
