// What correlating costs, as laws and shares: processor time of this thread, the least of some tries, with wide
// margins.
#include <gtest/gtest.h>

#include <ctime>

#include "nodes/correlator/byte_products.h"
#include "nodes/correlator/device/nibble_job.h"
#include "nodes/correlator/filter_bank.h"
#include "tests/support/sample_scene.h"

namespace rimetree::correlator {

namespace {

double processor_s() {
  timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) + 1e-9 * double(now.tv_nsec);
}
template <class F>
double least_s(int tries, F&& work) {
  double least = 1e9;
  for (int k = 0; k < tries; ++k) {
    const double begun = processor_s();
    work();
    least = std::min(least, processor_s() - begun);
  }
  return least;
}

// M13: a sample's transform costs O(log F), its products O(N), so that N = 256 takes four times as long for each sample
// as N = 64, not sixteen times: the work beside the products does not show.
TEST(CorrelatorCosts, ProductsOfASampleGrowAsTheInputs) {
  constexpr std::size_t kTimes = 2048;
  double of_sample_s[2];
  for (const std::size_t k : {0, 1}) {
    const std::size_t inputs = k == 0 ? 64 : 256;
    const SampleScene scene = SampleScene::random("chime", kTimes, 1, inputs);
    const auto block = byte_products().make(inputs, kTimes);
    ProductSums sums(1, inputs);
    of_sample_s[k] = least_s(5,
                             [&] {
                               block->fill(scene.voltages(), 0, 0, kTimes, nullptr);
                               for (std::size_t part = 0; part < block->n_part(); ++part)
                                 block->add_part(part, sums.re.data(), sums.im.data());
                             }) /
                     double(kTimes * inputs);
  }
  EXPECT_GT(of_sample_s[1] / of_sample_s[0], 2);
  EXPECT_LT(of_sample_s[1] / of_sample_s[0], 8);
}

// M13: sixteen times the channels take a few more operations for each sample (log F), not sixteen times as many.
TEST(CorrelatorCosts, TransformsOfASampleGrowAsTheLogarithm) {
  double of_sample_s[2];
  for (const std::size_t k : {0, 1}) {
    const std::size_t n = k == 0 ? 32 : 512;
    const FilterBank bank(n, 1, Window::rectangular, false, FilterBank::best_lanes(n, false));
    FilterBank::Scratch scratch(bank);
    const std::vector<float> samples(2 * n * bank.lanes() + 16);
    of_sample_s[k] = least_s(5, [&] {
      for (std::size_t done = 0; done < 200000; done += n * bank.lanes()) bank.run(samples.data(), scratch);
    });
  }
  EXPECT_LT(of_sample_s[1] / of_sample_s[0], 7);
}

// C12: the correction of offsets is at most 2 % of the work for t >> N: both of its kernels beside the one of products,
// by their bodies.
TEST(CorrelatorCosts, TheCorrectionIsASmallPart) {
  constexpr std::int32_t kInputs = 256, kTimes = 2048;
  std::vector<std::uint8_t> nibbles(std::size_t{kInputs} * kTimes);
  std::mt19937 random(1);
  for (auto& one : nibbles) one = static_cast<std::uint8_t>(random());
  std::vector<PairSums::Pair> pairs;
  for (std::int32_t i = 0; i < kInputs / kPackedTile; ++i)
    for (std::int32_t j = 0; j <= i; ++j) pairs.push_back({i, j});
  std::vector<std::int32_t> input_sums(2 * kInputs);
  std::vector<std::int64_t> re(n_products(kInputs)), im(re.size());
  NibbleJob job;
  job.nibble = nibbles.data();
  job.input_sum = input_sums.data();
  job.sums = {pairs.data(), re.data(), im.data(), static_cast<std::int32_t>(pairs.size()), kInputs, 1};
  job.n_time = kTimes;
  job.n_padded = kInputs;

  const double products_s = least_s(3, [&] {
    std::vector<NibbleTotals> totals(kNibbleThreads);
    NibbleStaged staged;
    for (int tile = 0; tile < job.sums.n_pair; ++tile) {
      std::fill(totals.begin(), totals.end(), NibbleTotals());
      for (std::int64_t first = 0; first < kTimes; first += kNibbleStage) {
        for (int thread = 0; thread < kNibbleThreads; ++thread) stage_nibbles(job, tile, 0, thread, first, staged);
        for (int thread = 0; thread < kNibbleThreads; ++thread) {
          multiply_nibbles(thread, staged, totals[std::size_t(thread)]);
          if ((first + kNibbleStage) % kNibbleTimes == 0) take_nibbles_out(totals[std::size_t(thread)]);
        }
      }
      for (int thread = 0; thread < kNibbleThreads; ++thread)
        store_nibbles(job, tile, 0, thread, totals[std::size_t(thread)]);
    }
  });
  const double correction_s = least_s(3, [&] {
    for (std::int64_t thread = 0; thread < kInputs; ++thread) add_codes(job, thread);
    for (int tile = 0; tile < job.sums.n_pair; ++tile)
      for (int thread = 0; thread < kNibbleThreads; ++thread) correct_nibbles(job, tile, 0, thread);
  });
  EXPECT_LT(correction_s, 0.02 * products_s);
}

}  // namespace

}  // namespace rimetree::correlator
