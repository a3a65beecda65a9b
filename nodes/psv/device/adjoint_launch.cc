#include "nodes/psv/device/adjoint_launch.h"

#include <memory>
#include <vector>

#include "nodes/psv/device/adjoint_block.h"
#include "nodes/psv/device/compare_block.h"

namespace rimetree::psv {
namespace {

/// All threads of a block, one after the other.
template <class F>
void for_each_thread(F&& f) {
  for (int thread = 0; thread < DeviceShape::kThreads; ++thread) f(thread);
}

template <int kPlanes, bool kGeneral, bool kSpectra>
void run_block(const DeviceAdjointJob& job, const AdjointBlock& block, StagedAdjoint<kGeneral>& staged) {
  std::vector<SourceSums<kPlanes, kSpectra>> sums(DeviceShape::kThreads);
  for (int row = first_row(job, block); row < end_row(job, block); row += job.rows_per_stage()) {
    for_each_thread([&](int thread) { stage_adjoint(job, block, thread, row, staged); });
    for_each_thread([&](int thread) {
      pull_stage<kPlanes, kGeneral, kSpectra>(job, block, thread, row, staged, sums[static_cast<std::size_t>(thread)]);
    });
  }
  double shared[DeviceShape::kThreads];
  for (int sum = 0; sum < kSourceSums<kPlanes, kSpectra>; ++sum) {
    if (place_of_sum<kPlanes, kSpectra>(job, block, 0, sum) == nullptr) continue;
    for_each_thread([&](int thread) { put_sum(thread, sum, sums[static_cast<std::size_t>(thread)], shared); });
    for_each_thread([&](int thread) { take_sum<kPlanes, kSpectra>(job, block, thread, sum, shared); });
  }
  if constexpr (kSpectra)
    if (job.weights)
      for_each_thread([&](int thread) { store_spectra(job, block, thread, sums[static_cast<std::size_t>(thread)]); });
}

void run_on_host(const DeviceAdjointJob& job) {
  with_adjoint_instance(job, [&]<int kPlanes, bool kGeneral, bool kSpectra>() {
    const auto staged = std::make_unique<StagedAdjoint<kGeneral>>();
    AdjointBlock block;
    for (block.portion = 0; block.portion < job.n_portion; ++block.portion)
      for (block.run = 0; block.run < job.sum.n_run; ++block.run)
        for (block.first_source = 0; block.first_source < job.sum.n_source; block.first_source += job.sources)
          run_block<kPlanes, kGeneral, kSpectra>(job, block, *staged);
  });
}

void run_on_host(const DeviceAddJob& job) {
  for (std::int64_t value = 0; value < job.n_value; ++value) add_groups(job, value);
}

void run_on_host(const DeviceSideAddJob& job) {
  for (std::int64_t at = 0; at < job.n_piece * job.n_value; ++at) add_pieces(job, at);
}

void run_on_host(const DeviceCompareJob& job) {
  double shared[2 * DeviceShape::kThreads];
  for (int block = 0; block < job.n_block(); ++block) {
    for_each_thread([&](int thread) { compare(job, block, thread, shared); });
    for_each_thread([&](int thread) { compare_block(job, block, thread, shared); });
  }
  for_each_thread([&](int thread) { collect(job, thread, shared); });
  for_each_thread([&](int thread) { collect_total(job, thread, shared); });
}

void run_on_host(const DevicePlanesJob& job) {
  for (std::int64_t cell = 0; cell < std::int64_t{job.n_row} * job.n_channel; ++cell) plane_adjoints(job, cell);
}

template <class Job>
void launch_one(memory::Queue& queue, const Job& job) {
  launch_job(queue, job, [](const Job& on_host) { run_on_host(on_host); });
}

}  // namespace

void launch(memory::Queue& queue, const DeviceAdjointJob& job) { launch_one(queue, job); }
void launch(memory::Queue& queue, const DeviceAddJob& job) { launch_one(queue, job); }
void launch(memory::Queue& queue, const DeviceSideAddJob& job) { launch_one(queue, job); }
void launch(memory::Queue& queue, const DeviceCompareJob& job) { launch_one(queue, job); }
void launch(memory::Queue& queue, const DevicePlanesJob& job) { launch_one(queue, job); }

}  // namespace rimetree::psv
