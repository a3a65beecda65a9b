// The PSV kernel on a GPU.
#include <algorithm>

#include "nodes/psv/device/direct_block.h"
#include "runtime/device/cuda_blocks.h"

namespace rimetree::psv::device {
namespace {

constexpr int kFewestThreads = 64;

template <class T>
void launch_on_gpu(memory::Queue& queue, const DirectJob<T>& job) {
  with_kernel(job, [&]<class Kernel>() {
    constexpr int kBytes = static_cast<int>(sizeof(typename Kernel::Shared));
    if (Kernel::kThreads <= kFewestThreads || kBytes <= shared_memory_per_block())
      return launch_blocks<Kernel>(queue, job);
    // Cards of compute capability 7.5 have 64 kB; what was tuned without smearing may take more with it.
    DirectJob<T> smaller = job;
    smaller.threads = Kernel::kThreads / 2;
    smaller.group_bits = std::max(job.group_bits - 1, 0);
    launch_on_gpu(queue, smaller);
  });
}

[[maybe_unused]] const bool brought = bring_launcher(&launch_on_gpu<float>) && bring_launcher(&launch_on_gpu<double>);

}  // namespace
}  // namespace rimetree::psv::device
