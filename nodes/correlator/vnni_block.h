// Samples of one channel in the order that dot products of four bytes read: four times of an input side by side,
// sixteen inputs to a vector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "nodes/correlator/byte_products.h"

namespace rimetree::correlator {

/// The real parts and the imaginary parts are rows of a matrix S of integers; the products are those of S with its
/// transpose, V = (RR + II) + i (IR - RI), which needs no negation: -8 and -128 are numbers like others. Wants AVX-512
/// VNNI.
class VnniBlock final : public BlockProducts {
 public:
  static constexpr std::size_t kGroup = 16;  ///< inputs side by side
  /// A step is four times. Blocks are filled up with zeros to pairs of steps.
  static constexpr std::size_t kStepBytes = 2 * 4 * kGroup;

  VnniBlock(std::size_t n_input, std::size_t max_time);
  void fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
            const SampleMask* mask) override;
  /// A part is two groups of inputs j and all inputs i that are not before them.
  std::size_t n_part() const override { return (n_group() + 1) / 2; }
  void add_part(std::size_t part, std::int64_t* re, std::int64_t* im) const override;

  std::size_t n_group() const { return (n_input_ + kGroup - 1) / kGroup; }
  std::size_t n_step() const { return n_step_; }
  /// [step][re, im][16 inputs][4 times], each sample plus 128: unsigned, as one side of a dot product must be.
  const std::uint8_t* offset_group(std::size_t group) const { return offset_.get() + group * max_step_ * kStepBytes; }
  /// [step][re, im][4 times].
  const std::int8_t* input(std::size_t input) const { return plain_.get() + input * input_stride_; }
  /// Sums over the block's times, which take the 128 out again: of re and im.
  const std::array<std::int32_t, 2>& sum(std::size_t input) const { return sum_[input]; }

 private:
  void fill_group(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                  const SampleMask* mask, std::size_t group);

  std::size_t n_input_, max_step_, n_step_ = 0;
  Aligned<std::uint8_t> offset_;
  std::size_t input_stride_;
  Aligned<std::int8_t> plain_;
  std::vector<std::array<std::int32_t, 2>> sum_;
};

}  // namespace rimetree::correlator
