// Counter-based random numbers: a pure function from (key, counter) to random bits, so that every cell has its own
// number no matter in which order, on which thread or in which group of time slots it is computed.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>

#include "runtime/math/conventions.h"

namespace rimetree {

/// Philox4x32-10 (Salmon, Moraes, Dror & Shaw 2011, "Parallel random numbers: as easy as 1, 2, 3", SC11, section 4.3).
RT_HD inline std::array<std::uint32_t, 4> philox4x32(std::array<std::uint32_t, 4> counter,
                                                     std::array<std::uint32_t, 2> key) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t a = std::uint64_t{0xD2511F53u} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57u} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
    key[0] += 0x9E3779B9u;  // the Weyl sequences of the golden ratio and of sqrt(3) - 1
    key[1] += 0xBB67AE85u;
  }
  return counter;
}

/// Two independent normal deviates of mean 0 and variance 1 as a complex number (Box & Muller 1958, Ann. Math. Stat.
/// 29, 610), from two uniform ones of 53 bits.
RT_HD inline Complex<double> normal_pair(const std::array<std::uint32_t, 4>& bits) {
  const auto uniform = [](std::uint32_t high, std::uint32_t low) {
    const std::uint64_t mantissa = ((std::uint64_t{high} << 32) | low) >> 11;
    return (static_cast<double>(mantissa) + 0.5) * 0x1p-53;  // never 0
  };
  return polar(std::sqrt(-2 * std::log(uniform(bits[0], bits[1]))), 2 * kPi * uniform(bits[2], bits[3]));
}

}  // namespace rimetree
