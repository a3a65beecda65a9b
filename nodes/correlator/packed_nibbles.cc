#include "nodes/correlator/packed_nibbles.h"

#include <algorithm>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

static_assert(kPackedTimes <= kPackedLimit);

/// A run of times of one channel as unsigned nibbles, value + 8; what is masked is 8, the code of zero.
struct Run {
  std::size_t n_time;
  std::vector<std::uint32_t> re, im, both;  ///< [input][time]; both: re in the upper half of the word, im in the lower
  std::vector<std::int64_t> sum_re, sum_im;

  Run(const SampleView& samples, const SampleMask* mask, std::size_t channel, std::size_t first, std::size_t n)
      : n_time(n), re(samples.n_input * n), im(re.size()), both(re.size()), sum_re(samples.n_input), sum_im(sum_re) {
    for (std::size_t i = 0; i < samples.n_input; ++i)
      for (std::size_t t = 0; t < n; ++t) {
        const bool counts = mask == nullptr || mask->counts(i, first + t);
        const Sample sample = counts ? samples.sample(first + t, channel, i) : Sample{};
        const std::size_t at = i * n + t;
        re[at] = static_cast<std::uint32_t>(sample.re + 8);
        im[at] = static_cast<std::uint32_t>(sample.im + 8);
        both[at] = re[at] << 16 | im[at];
        sum_re[i] += re[at];
        sum_im[i] += im[at];
      }
  }
};

void add_packed(const Run& run, std::size_t i, std::size_t j, std::int64_t& re, std::int64_t& im) {
  std::uint32_t by_re = 0, by_im = 0;
  const std::size_t x = i * run.n_time, y = j * run.n_time;
  for (std::size_t t = 0; t < run.n_time; ++t) {
    by_re += run.re[x + t] * run.both[y + t];
    by_im += run.im[x + t] * run.both[y + t];
  }
  const auto high = [](std::uint32_t word) { return static_cast<std::int64_t>(word >> 16); };
  const auto low = [](std::uint32_t word) { return static_cast<std::int64_t>(word & 0xffff); };
  // The eights take part in every product; from sums over single inputs they are taken out again (equation 3).
  const std::int64_t n = static_cast<std::int64_t>(run.n_time);
  re += high(by_re) + low(by_im) - 8 * (run.sum_re[i] + run.sum_im[i] + run.sum_re[j] + run.sum_im[j]) + 128 * n;
  im += high(by_im) - low(by_re) + 8 * (run.sum_re[i] - run.sum_im[i] - run.sum_re[j] + run.sum_im[j]);
}

}  // namespace

void add_packed_nibbles(const SampleView& samples, const SampleMask* mask, ThreadPool& threads, ProductSums& sums) {
  if (samples.format.bits > 4)
    throw Error("strategy \"packed\" takes samples of at most 4 bits, not those of format \"" + samples.format.name +
                "\" with " + std::to_string(samples.format.bits));
  const std::size_t n_product = n_products(samples.n_input);
  for (std::size_t channel = 0; channel < samples.n_channel; ++channel)
    for (std::size_t first = 0; first < samples.n_time; first += kPackedTimes) {
      const Run run(samples, mask, channel, first, std::min(kPackedTimes, samples.n_time - first));
      threads.parallel_for(samples.n_input, 1, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i)
          for (std::size_t j = 0; j <= i; ++j) {
            const std::size_t at = channel * n_product + product_of(i, j);
            add_packed(run, i, j, sums.re[at], sums.im[at]);
          }
      });
    }
}

}  // namespace rimetree::correlator
