// Samples of one channel in the order that the 8-bit kernels read: four times of an input side by side, sixteen inputs
// to a vector.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "nodes/correlator/sample_mask.h"
#include "nodes/correlator/sample_view.h"

namespace rimetree::correlator {

/// The real parts and the imaginary parts are rows of a matrix S of integers; the products are those of S with its
/// transpose, V = (RR + II) + i (IR - RI), which needs no negation: -8 and -128 are numbers like others.
class PackedBlock {
 public:
  static constexpr std::size_t kGroup = 16;  ///< inputs side by side

  PackedBlock(std::size_t n_input, std::size_t max_time);

  /// Takes times [first, first + n) of a channel, n <= max_time; what the mask leaves out is 0.
  void fill(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n, const SampleMask* mask);

  std::size_t n_input() const { return n_input_; }
  std::size_t n_group() const { return (n_input_ + kGroup - 1) / kGroup; }
  /// Steps of four times; the last one is filled up with zeros.
  std::size_t n_step() const { return n_step_; }
  /// [step][re, im][16 inputs][4 times], each sample plus 128: unsigned, as one side of a dot product must be.
  const std::uint8_t* offset_group(std::size_t group) const { return offset_.get() + group * max_step_ * 128; }
  /// [step][re, im][4 times].
  const std::int8_t* input(std::size_t input) const { return plain_.get() + input * input_stride_; }
  /// Sums over the block's times, which take the 128 out again.
  std::int32_t sum_re(std::size_t input) const { return sum_[input][0]; }
  std::int32_t sum_im(std::size_t input) const { return sum_[input][1]; }

 private:
  struct Aligned {
    void operator()(void* p) const { ::operator delete[](p, std::align_val_t{64}); }
  };
  template <class T>
  static std::unique_ptr<T[], Aligned> aligned(std::size_t n) {
    return std::unique_ptr<T[], Aligned>(static_cast<T*>(::operator new[](n * sizeof(T), std::align_val_t{64})));
  }

  std::size_t n_input_, max_step_, n_step_ = 0;
  std::unique_ptr<std::uint8_t[], Aligned> offset_;
  std::size_t input_stride_;
  std::unique_ptr<std::int8_t[], Aligned> plain_;
  std::vector<std::array<std::int32_t, 2>> sum_;  ///< of re and im, [input]
};

}  // namespace rimetree::correlator
