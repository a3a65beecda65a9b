// The first paper's three ways to share out products among threads, which have channels side by side (Wayth, Greenhill
// & Briggs 2009, PASP 121, 857, section 3). Kept as they were published, to be compared with, but for the sums: whole
// numbers here, of 8-bit samples, so that all ways give the same bits.
//
//   pair parallel   a thread has one product of a channel: two reads for each
//   hybrid group    a thread has one input i and G inputs j, nothing waits: (G + 1) / G reads
//   group parallel  G threads of a channel read one input i and one j each, and share the i: 2 / G reads, but all wait
//                   for each other twice at each time
#pragma once

#include "nodes/correlator/device/unpack_job.h"
#include "nodes/correlator/one_product.h"

namespace rimetree::correlator {

struct PairJob {
  const std::uint16_t* sample = nullptr;  ///< Turned::channels
  PairSums sums;                          ///< pairs are blocks of `group` inputs
  std::int32_t n_time = 0, group = 1, is_shared = 0;
};
template <class F>
void for_each_array(PairJob& job, F&& f) {
  for_each_array(job.sums, f);
  f(job.sample, std::int64_t{job.n_time} * job.sums.n_input * job.sums.n_channel);
}

constexpr int kPairThreads = 128;

/// A thread's sums: of G products, in registers.
template <int kGroup>
struct PairTotals {
  std::int32_t re[kGroup] = {}, im[kGroup] = {};
  Numbers own = {};  ///< group parallel: the input j that it has read
};

/// What a thread works on: number `own` of a block of G inputs, in a channel.
template <int kGroup>
struct PairPlace {
  static constexpr int kChannels = kPairThreads / kGroup;  ///< of a block of threads
  std::int64_t i, j, channel;                              ///< first inputs of both blocks
  int own;

  RT_HD PairPlace(const PairJob& job, int pair, int channels, int thread)
      : i(std::int64_t{job.sums.pair[pair].i} * kGroup),
        j(std::int64_t{job.sums.pair[pair].j} * kGroup),
        channel(std::int64_t{channels} * kChannels + thread % kChannels),
        own(thread / kChannels) {}
};

RT_HD inline Numbers sample_at(const PairJob& job, std::int64_t time, std::int64_t input, std::int64_t channel) {
  if (channel >= job.sums.n_channel) return {0, 0};
  const std::uint32_t both = job.sample[(time * job.sums.n_input + input) * job.sums.n_channel + channel];
  return {static_cast<std::int8_t>(both & 255), static_cast<std::int8_t>(both >> 8)};
}

/// All of a thread's work, pair parallel where G = 1.
template <int kGroup>
RT_HD void add_hybrid(const PairJob& job, int pair, int channels, int thread) {
  const PairPlace<kGroup> at(job, pair, channels, thread);
  if (at.channel >= job.sums.n_channel) return;
  PairTotals<kGroup> total;
  for (std::int64_t t = 0; t < job.n_time; ++t) {
    const Numbers x = sample_at(job, t, at.i + at.own, at.channel);
    RT_UNROLL
    for (int b = 0; b < kGroup; ++b) add_product(x, sample_at(job, t, at.j + b, at.channel), total.re[b], total.im[b]);
  }
  RT_UNROLL
  for (int b = 0; b < kGroup; ++b) job.sums.add(at.channel, at.i + at.own, at.j + b, total.re[b], total.im[b]);
}

/// What the threads of a block share, 8 bytes each.
struct PairShared {
  Numbers left[kPairThreads];
};

template <int kGroup>
RT_HD void read_pair(const PairJob& job, const PairPlace<kGroup>& at, int thread, std::int64_t time, PairShared& shared,
                     PairTotals<kGroup>& total) {
  shared.left[thread] = sample_at(job, time, at.i + at.own, at.channel);
  total.own = sample_at(job, time, at.j + at.own, at.channel);
}
/// The products of what all threads of a channel have read as inputs i with the thread's own input j.
template <int kGroup>
RT_HD void add_shared(int thread, const PairShared& shared, PairTotals<kGroup>& total) {
  constexpr int kChannels = PairPlace<kGroup>::kChannels;
  RT_UNROLL
  for (int a = 0; a < kGroup; ++a)
    add_product(shared.left[a * kChannels + thread % kChannels], total.own, total.re[a], total.im[a]);
}
template <int kGroup>
RT_HD void store_shared(const PairJob& job, const PairPlace<kGroup>& at, const PairTotals<kGroup>& total) {
  if (at.channel >= job.sums.n_channel) return;
  RT_UNROLL
  for (int a = 0; a < kGroup; ++a) job.sums.add(at.channel, at.i + a, at.j + at.own, total.re[a], total.im[a]);
}

/// Calls f.template operator()<G>() for the job's group of 1, 2 or 4.
template <class F>
void with_group(int group, F&& f) {
  if (group == 1) return f.template operator()<1>();
  if (group == 2) return f.template operator()<2>();
  return f.template operator()<4>();
}

}  // namespace rimetree::correlator
