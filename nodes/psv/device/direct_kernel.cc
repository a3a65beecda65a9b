#include "nodes/psv/device/direct_kernel.h"

#include <memory>
#include <vector>

#include "nodes/psv/device/direct_block.h"

namespace rimetree::psv {
namespace {

template <class T, int kPlanes, bool kGeneral, int kThreads>
void run_block(const DeviceJob<T>& job, const BlockPlace& block, Staged<T, kGeneral, kThreads>& staged) {
  std::vector<Sums<T, kPlanes>> sums(kThreads);
  for (int first = 0; first < job.n_source; first += job.tiles()) {
    for (int thread = 0; thread < kThreads; ++thread) stage_pair(job, block, thread, first, staged);
    for (int thread = 0; thread < kThreads; ++thread)
      accumulate(job, block, thread, first, staged, sums[static_cast<std::size_t>(thread)]);
  }
  for (int thread = 0; thread < kThreads; ++thread)
    store<T, kPlanes, kGeneral>(job, block, thread, sums[static_cast<std::size_t>(thread)]);
}

/// All blocks of a job whose arrays the host can reach.
template <class T>
void run_on_host(const DeviceJob<T>& job) {
  with_instance(job, [&]<int kPlanes, bool kGeneral, int kThreads>() {
    const auto staged = std::make_unique<Staged<T, kGeneral, kThreads>>();
    BlockPlace block;
    for (; block.first_row < job.n_row; block.first_row += job.rows_per_block())
      for (block.run = 0; block.run < job.n_run; ++block.run)
        run_block<T, kPlanes, kGeneral, kThreads>(job, block, *staged);
  });
}

template <class T>
void launch_some(memory::Queue& queue, const DeviceJob<T>& job) {
  if (job.n_row > 0 && job.n_run > 0) launch_job(queue, job, run_on_host<T>);
}

}  // namespace

void launch(memory::Queue& queue, const DeviceJob<float>& job) { launch_some(queue, job); }
void launch(memory::Queue& queue, const DeviceJob<double>& job) { launch_some(queue, job); }

}  // namespace rimetree::psv
