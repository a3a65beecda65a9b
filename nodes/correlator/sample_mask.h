// Which samples count: lost packets, interference, gates.
#pragma once

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
      : n_time_(n_time), words_((n_time + 63) / 64), bits_(n_input * words_, ~std::uint64_t{0}) {}

  bool counts(std::size_t input, std::size_t time) const {
    return (bits_[input * words_ + time / 64] >> (time % 64) & 1) != 0;
  }
  void leave_out(std::size_t input, std::size_t time) {
    bits_[input * words_ + time / 64] &= ~(std::uint64_t{1} << (time % 64));
  }
  /// How many samples both inputs have.
  std::int64_t common(std::size_t i, std::size_t j) const {
    std::int64_t count = 0;
    for (std::size_t w = 0; w < words_; ++w) {
      std::uint64_t both = bits_[i * words_ + w] & bits_[j * words_ + w];
      if (w + 1 == words_ && n_time_ % 64 != 0) both &= (std::uint64_t{1} << (n_time_ % 64)) - 1;
      count += __builtin_popcountll(both);
    }
    return count;
  }

 private:
  std::size_t n_time_, words_;
  std::vector<std::uint64_t> bits_;
};

}  // namespace rimetree::correlator
