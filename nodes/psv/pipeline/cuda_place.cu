// Visibilities that stay on a GPU: place.h by one thread for each number.
#include <algorithm>

#include "memory/cuda_device.h"
#include "nodes/psv/pipeline/place.h"
#include "runtime/device/job_launch.h"

namespace rimetree::psv {
namespace {

__global__ void place_kernel(const __grid_constant__ PlaceJob job) {
  const std::int64_t step = std::int64_t{gridDim.x} * blockDim.x;
  for (std::int64_t i = std::int64_t{blockIdx.x} * blockDim.x + threadIdx.x; i < job.size(); i += step) job.place(i);
}

void place_on_gpu(memory::Queue& queue, const PlaceJob& job) {
  constexpr std::int64_t kThreads = 256, kMostBlocks = 1 << 16;
  const auto blocks = static_cast<unsigned>(std::min((job.size() + kThreads - 1) / kThreads, kMostBlocks));
  place_kernel<<<blocks, static_cast<unsigned>(kThreads), 0, memory::cuda_stream(queue)>>>(job);
  memory::check_cuda(cudaGetLastError(), "launch that places visibilities");
}

[[maybe_unused]] const bool brought = bring_launcher(&place_on_gpu);

}  // namespace
}  // namespace rimetree::psv
