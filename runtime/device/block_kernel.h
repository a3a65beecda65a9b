// Kernels whose threads work in blocks: in steps, between which the threads of a block wait for each other. A GPU does
// a step with all threads at once (cuda_blocks.h), an emulated device with one thread after the other, by one body.
//
// A kernel is a type with
//   Job                      what a launch is told (job_launch.h)
//   Shared                   what a block has in common; it holds whatever was there before
//   Own                      what a thread keeps from step to step
//   kThreads                 of a block
//   kWarps                   where steps of warps alone use what threads keep
//   grid(job)                how many blocks there are
//   run(job, block, team)    the work of a block: calls of team.each(), team.each_warp()
//
// Which kernels a job needs says with_kernel(job, f), which calls f.template operator()<Kernel>() with each, in order.
// Jobs whose threads have nothing in common bring n_thread() and thread(i) instead.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <vector>

#include "runtime/device/job_launch.h"
#include "runtime/math/host_device.h"

namespace rimetree {

/// Which block of the grid, or how many along each axis.
struct BlockIndex {
  std::int32_t x = 0, y = 0, z = 0;
};
struct NothingOwn {};

/// The threads of a block on the host.
template <class Kernel>
class HostTeam {
 public:
  typename Kernel::Shared& shared() { return *shared_; }
  /// Calls step(thread, own) for each thread.
  template <class Step>
  void each(Step&& step) {
    for (int thread = 0; thread < Kernel::kThreads; ++thread)
      step(thread, own_[static_cast<std::size_t>(thread) % n_own()]);
  }
  /// The same, after which threads do not wait for each other.
  template <class Step>
  void each_at_once(Step&& step) {
    each(step);
  }
  /// Calls step(warp, lane, own), which the threads of a warp come to together. On the host one lane does all of it.
  template <class Step>
  void each_warp(Step&& step) {
    for (int warp = 0; warp < Kernel::kWarps; ++warp) step(warp, 0, own_[static_cast<std::size_t>(warp)]);
  }
  void begin_block() {
    // Shared memory of a GPU holds whatever was there before: not-a-numbers, here.
    constexpr int kPoison = 0xff;
    std::memset(static_cast<void*>(shared_.get()), kPoison, sizeof *shared_);
    own_.assign(n_own(), {});
  }

 private:
  static constexpr std::size_t n_own() {
    if constexpr (requires { Kernel::kWarps; })
      return Kernel::kWarps;
    else
      return Kernel::kThreads;
  }
  std::unique_ptr<typename Kernel::Shared> shared_ = std::make_unique<typename Kernel::Shared>();
  std::vector<typename Kernel::Own> own_;
};

template <class Kernel>
void run_blocks(const typename Kernel::Job& job) {
  HostTeam<Kernel> team;
  const BlockIndex end = Kernel::grid(job);
  BlockIndex at;
  for (at.z = 0; at.z < end.z; ++at.z)
    for (at.y = 0; at.y < end.y; ++at.y)
      for (at.x = 0; at.x < end.x; ++at.x) {
        team.begin_block();
        Kernel::run(job, at, team);
      }
}

/// Queues a job; emulated devices run the kernels that with_kernel(job, f) calls f with.
template <class Job>
void launch_kernel(memory::Queue& queue, const Job& job) {
  launch_job(queue, job,
             [](const Job& on_host) { with_kernel(on_host, [&]<class Kernel>() { run_blocks<Kernel>(on_host); }); });
}

/// Queues a job whose threads have nothing in common.
template <class Job>
void launch_threads(memory::Queue& queue, const Job& job) {
  if (job.n_thread() == 0) return;
  launch_job(queue, job, [](const Job& on_host) {
    for (std::int64_t i = 0; i < on_host.n_thread(); ++i) on_host.thread(i);
  });
}

}  // namespace rimetree
