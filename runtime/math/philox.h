// Counter-based random numbers: a pure function from (key, counter) to random bits, so that every cell has its own
// number no matter in which order, on which thread or in which group of time slots it is computed.
#pragma once

#include <cmath>
#include <cstdint>

#include "runtime/math/conventions.h"

namespace rimetree {

/// 128 random bits, or a counter of as many. (A std::array's operators are not for the device.)
struct PhiloxWords {
  std::uint32_t word[4];
  friend bool operator==(const PhiloxWords&, const PhiloxWords&) = default;
};

/// Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", SC11, section 4.3).
RT_HD inline PhiloxWords philox4x32(PhiloxWords counter, std::uint32_t key_0, std::uint32_t key_1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint32_t* x = counter.word;
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * x[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * x[2];
    counter = {{static_cast<std::uint32_t>(b >> 32) ^ x[1] ^ key_0, static_cast<std::uint32_t>(b),
                static_cast<std::uint32_t>(a >> 32) ^ x[3] ^ key_1, static_cast<std::uint32_t>(a)}};
    key_0 += 0x9E3779B9u;  // the Weyl sequences of the golden ratio and of sqrt(3) - 1
    key_1 += 0xBB67AE85u;
  }
  return counter;
}

/// Two independent normal deviates of mean 0 and variance 1 as a complex number (Box & Muller 1958, Ann. Math. Stat.
/// 29, 610), from two uniform ones of 53 bits.
RT_HD inline Complex<double> normal_pair(const PhiloxWords& bits) {
  const auto uniform = [](std::uint32_t high, std::uint32_t low) {
    const std::uint64_t mantissa = ((std::uint64_t{high} << 32) | low) >> 11;
    return (static_cast<double>(mantissa) + 0.5) * 0x1p-53;  // never 0
  };
  return polar(std::sqrt(-2 * std::log(uniform(bits.word[0], bits.word[1]))),
               2 * kPi * uniform(bits.word[2], bits.word[3]));
}

}  // namespace rimetree
