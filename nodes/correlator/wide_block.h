// Samples widened to 16 bits, real and imaginary part side by side: what multiply-adds of pairs read, which every
// machine has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "nodes/correlator/byte_products.h"

namespace rimetree::correlator {

/// With (re, im) of inputs j in a register, and (re, im) and (im, -re) of one input i in every pair of two others, a
/// multiply-add of pairs gives the real and the imaginary part of x_i x_j*: nothing is turned, neither times nor
/// inputs.
class WideBlock final : public BlockProducts {
 public:
  static constexpr std::size_t kGroup = 16;  ///< inputs of a line, which is one of the cache's

  WideBlock(std::size_t n_input, std::size_t max_time)
      : n_input_(n_input),
        max_time_(max_time),
        lines_(aligned<std::int16_t>(n_group() * max_time * 2 * kGroup)),
        pairs_(aligned<std::int16_t>(n_group() * max_time * 4 * kGroup)) {}

  void fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
            const SampleMask* mask) override;
  /// A part is a group of inputs i, with all inputs j that are not behind them.
  std::size_t n_part() const override { return n_group(); }
  void add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const override;

  std::size_t n_input() const { return n_input_; }
  std::size_t n_group() const { return (n_input_ + kGroup - 1) / kGroup; }
  std::size_t n_time() const { return n_time_; }
  /// int16 from one pair of inputs to the next.
  std::size_t pair_stride() const { return max_time_ * 8; }
  /// [time][16 inputs] re, im.
  const std::int16_t* line(std::size_t group) const { return lines_.get() + group * max_time_ * 2 * kGroup; }
  std::int16_t* line(std::size_t group) { return lines_.get() + group * max_time_ * 2 * kGroup; }
  /// [time][2 inputs] re, im, im, -re.
  const std::int16_t* pair(std::size_t number) const { return pairs_.get() + number * pair_stride(); }
  std::int16_t* pair(std::size_t number) { return pairs_.get() + number * pair_stride(); }

 private:
  std::size_t n_input_, max_time_, n_time_ = 0;
  Aligned<std::int16_t> lines_, pairs_;
};

}  // namespace rimetree::correlator
