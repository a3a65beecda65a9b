#include "nodes/correlator/device/product_launch.h"

#include <cstring>
#include <memory>
#include <vector>

#include "nodes/correlator/device/byte_unit.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {

namespace {

/// Shared memory of a GPU holds whatever was there before.
template <class T>
void poison(T& shared) {
  std::memset(static_cast<void*>(&shared), 0xff, sizeof shared);
}

template <int kDown, int kAcross>
void run_tile(const TileJob& job, const TilePlace& place) {
  using Shape = TileShape<kDown, kAcross>;
  const auto staged = std::make_unique<TileStaged<Shape>>();
  poison(*staged);
  std::vector<TileReader<Shape>> readers;
  for (int thread = 0; thread < Shape::kThreads; ++thread) readers.push_back(tile_reader<Shape>(job, place, thread));
  std::vector<TileSums<HostByteUnit>> sums(Shape::kWarps);
  for (int step = 0; step < job.n_step; step += Shape::kSteps) {
    const int buffer = step / Shape::kSteps % 2;
    for (int thread = 0; thread < Shape::kThreads; ++thread) {
      TileFetched<Shape> fetched;
      fetch(job, step, readers[static_cast<std::size_t>(thread)], fetched);
      put(fetched, thread, buffer, *staged);
    }
    for (int warp = 0; warp < Shape::kWarps; ++warp)
      multiply<HostByteUnit, kDown, kAcross>(job, place, warp, 0, buffer, *staged,
                                             sums[static_cast<std::size_t>(warp)]);
  }
  for (int warp = 0; warp < Shape::kWarps; ++warp)
    store<HostByteUnit, kDown, kAcross>(job, place, warp, 0, sums[static_cast<std::size_t>(warp)]);
}

void run_tiles(const TileJob& job) {
  with_tile_variant(job.variant, [&]<int kDown, int kAcross>() {
    TilePlace place;
    for (place.channel = 0; place.channel < job.n_channel; ++place.channel)
      for (place.tile = 0; place.tile < job.sums.n_pair; ++place.tile) run_tile<kDown, kAcross>(job, place);
  });
}

template <int kGroup>
void run_shared(const PairJob& job, int pair, int channels) {
  PairShared shared;
  poison(shared);
  std::vector<PairTotals<kGroup>> totals(kPairThreads);
  const auto each_thread = [&](auto&& step) {
    for (int thread = 0; thread < kPairThreads; ++thread)
      step(PairPlace<kGroup>(job, pair, channels, thread), thread, totals[static_cast<std::size_t>(thread)]);
  };
  for (std::int64_t t = 0; t < job.n_time; ++t) {
    each_thread([&](const auto& at, int thread, auto& total) { read_pair(job, at, thread, t, shared, total); });
    each_thread([&](const auto&, int thread, auto& total) { add_shared(thread, shared, total); });
  }
  each_thread([&](const auto& at, int, auto& total) { store_shared(job, at, total); });
}

void run_pairs(const PairJob& job) {
  with_group(job.group, [&]<int kGroup>() {
    const int blocks = (job.sums.n_channel + PairPlace<kGroup>::kChannels - 1) / PairPlace<kGroup>::kChannels;
    for (int pair = 0; pair < job.sums.n_pair; ++pair)
      for (int channels = 0; channels < blocks; ++channels) {
        if (job.is_shared != 0)
          run_shared<kGroup>(job, pair, channels);
        else
          for (int thread = 0; thread < kPairThreads; ++thread) add_hybrid<kGroup>(job, pair, channels, thread);
      }
  });
}

void run_nibble_tile(const NibbleJob& job, int tile, std::int64_t channel) {
  NibbleStaged staged;
  poison(staged);
  std::vector<NibbleTotals> totals(kNibbleThreads);
  for (std::int64_t first = 0; first < job.n_time; first += kNibbleStage) {
    for (int thread = 0; thread < kNibbleThreads; ++thread) stage_nibbles(job, tile, channel, thread, first, staged);
    for (int thread = 0; thread < kNibbleThreads; ++thread) {
      auto& total = totals[static_cast<std::size_t>(thread)];
      multiply_nibbles(thread, staged, total);
      if ((first + kNibbleStage) % kNibbleTimes == 0) take_nibbles_out(total);
    }
  }
  for (int thread = 0; thread < kNibbleThreads; ++thread) {
    auto& total = totals[static_cast<std::size_t>(thread)];
    take_nibbles_out(total);
    store_nibbles(job, tile, channel, thread, total);
  }
}

void run_nibbles(const NibbleJob& job) {
  for (std::int64_t thread = 0; thread < std::int64_t{job.sums.n_channel} * job.sums.n_input; ++thread)
    add_codes(job, thread);
  for (int tile = 0; tile < job.sums.n_pair; ++tile)
    for (std::int64_t channel = 0; channel < job.sums.n_channel; ++channel) {
      run_nibble_tile(job, tile, channel);
      for (int thread = 0; thread < kNibbleThreads; ++thread) correct_nibbles(job, tile, channel, thread);
    }
}

}  // namespace

void launch(memory::Queue& queue, const UnpackJob& job) {
  if (job.n_thread() == 0) return;
  launch_job(queue, job, [](const UnpackJob& on_host) {
    for (std::int64_t thread = 0; thread < on_host.n_thread(); ++thread) unpack(on_host, thread);
  });
}
void launch(memory::Queue& queue, const TileJob& job) {
  if (job.n_step > 0 && job.sums.n_pair > 0) launch_job(queue, job, run_tiles);
}
void launch(memory::Queue& queue, const PairJob& job) {
  if (job.n_time > 0 && job.sums.n_pair > 0) launch_job(queue, job, run_pairs);
}
void launch(memory::Queue& queue, const NibbleJob& job) {
  if (job.n_time > 0 && job.sums.n_pair > 0) launch_job(queue, job, run_nibbles);
}

}  // namespace rimetree::correlator
