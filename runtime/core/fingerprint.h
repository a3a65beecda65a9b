// Identifying values by a 64-bit number: equal inputs give equal fingerprints in every run.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace rimetree {

/// Mixes `value` into `seed` (the finaliser of splitmix64; Steele, Lea & Flood 2014).
inline std::uint64_t mix(std::uint64_t seed, std::uint64_t value) {
  std::uint64_t z = seed + 0x9e3779b97f4a7c15u + value * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return z ^ (z >> 31);
}
inline std::uint64_t mix(std::uint64_t seed, double value) { return mix(seed, std::bit_cast<std::uint64_t>(value)); }
inline std::uint64_t mix(std::uint64_t seed, std::string_view text) {
  seed = mix(seed, std::uint64_t{text.size()});
  for (const unsigned char c : text) seed = mix(seed, std::uint64_t{c});
  return seed;
}
inline std::uint64_t mix(std::uint64_t seed, std::span<const double> values) {
  seed = mix(seed, std::uint64_t{values.size()});
  for (const double value : values) seed = mix(seed, value);
  return seed;
}

/// Of much memory, at several bytes per cycle: four lanes of eight bytes each.
inline std::uint64_t fingerprint(std::span<const std::byte> bytes) {
  std::uint64_t lane[4] = {1, 2, 3, 4};
  std::size_t i = 0;
  for (; i + 32 <= bytes.size(); i += 32) {
    std::uint64_t word[4];
    std::memcpy(word, bytes.data() + i, 32);
    for (int k = 0; k < 4; ++k) {
      lane[k] = (lane[k] ^ word[k]) * 0x9e3779b97f4a7c15u;
      lane[k] ^= lane[k] >> 29;
    }
  }
  std::uint64_t result = mix(0, std::uint64_t{bytes.size()});
  for (const std::uint64_t one : lane) result = mix(result, one);
  for (; i < bytes.size(); ++i) result = mix(result, static_cast<std::uint64_t>(bytes[i]));
  return result;
}

}  // namespace rimetree
