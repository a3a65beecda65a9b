// Which samples count: lost packets, interference, gates.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rimetree::correlator {

/// One bit for each input and time, the same for all channels; samples whose bit is 0 count as zero and are not
/// counted.
class SampleMask {
 public:
  /// All samples count.
  SampleMask(std::size_t n_input, std::size_t n_time)
      : n_input_(n_input), n_time_(n_time), words_((n_time + 63) / 64), bits_(n_input * words_, ~std::uint64_t{0}) {}

  std::size_t n_time() const { return n_time_; }
  bool counts(std::size_t input, std::size_t time) const {
    return (bits_[input * words_ + time / 64] >> (time % 64) & 1) != 0;
  }
  void leave_out(std::size_t input, std::size_t time) {
    bits_[input * words_ + time / 64] &= ~(std::uint64_t{1} << (time % 64));
  }
  void take_in(std::size_t input, std::size_t time) {
    bits_[input * words_ + time / 64] |= std::uint64_t{1} << (time % 64);
  }
  /// Bits of an input, [time / 64], the first time in the lowest bit; those behind the last time mean nothing.
  const std::uint64_t* bits(std::size_t input) const { return bits_.data() + input * words_; }
  /// What counts of an input is what counts of one of another mask, of as many times.
  void copy(std::size_t input, const SampleMask& from, std::size_t other) {
    std::copy_n(from.bits(other), words_, bits_.data() + input * words_);
  }
  /// Leaves out all samples.
  void clear() { std::fill(bits_.begin(), bits_.end(), 0); }
  /// How many samples both inputs have.
  std::int64_t common(std::size_t i, std::size_t j) const {
    std::int64_t count = 0;
    for (std::size_t w = 0; w < words_; ++w) count += __builtin_popcountll(word(i, w) & word(j, w));
    return count;
  }
  /// Whether no sample is left out.
  bool is_full() const {
    for (std::size_t i = 0; i < n_input_; ++i)
      if (common(i, i) != static_cast<std::int64_t>(n_time_)) return false;
    return true;
  }
  /// Times [first, first + n) alone.
  SampleMask part(std::size_t first, std::size_t n) const {
    SampleMask some(n_input_, n);
    for (std::size_t i = 0; i < n_input_; ++i)
      for (std::size_t t = 0; t < n; ++t)
        if (!counts(i, first + t)) some.leave_out(i, t);
    return some;
  }

 private:
  /// Bits of times 64 w to 64 w + 63, without those behind the last time.
  std::uint64_t word(std::size_t input, std::size_t w) const {
    const std::uint64_t bits = bits_[input * words_ + w];
    return w + 1 == words_ && n_time_ % 64 != 0 ? bits & ((std::uint64_t{1} << (n_time_ % 64)) - 1) : bits;
  }

  std::size_t n_input_, n_time_, words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace rimetree::correlator
