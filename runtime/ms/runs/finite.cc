#include "runtime/ms/runs/finite.h"

#include <algorithm>
#include <array>

namespace rimetree::ms {

namespace {

/// Calls `found(i)` for each value i that is not finite. Most blocks have none, and are looked at as a whole.
template <class Found>
void each_not_finite(std::span<const std::complex<float>> values, Found found) {
  constexpr std::size_t kBlock = 256;
  for (std::size_t first = 0; first < values.size(); first += kBlock) {
    const std::size_t n = std::min(kBlock, values.size() - first);
    if (all_finite(values.subspan(first, n))) continue;
    for (std::size_t i = first; i < first + n; ++i)
      if (!all_finite(values.subspan(i, 1))) found(i);
  }
}

}  // namespace

bool all_finite(std::span<const std::complex<float>> values) {
  constexpr std::size_t kLanes = 16;
  const auto* numbers = reinterpret_cast<const float*>(values.data());
  const std::size_t n = 2 * values.size();
  // Zero times what is finite is zero; times anything else it is NaN.
  std::array<float, kLanes> lanes{};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes)
    for (std::size_t lane = 0; lane < kLanes; ++lane) lanes[lane] += 0 * numbers[i + lane];
  for (; i < n; ++i) lanes[0] += 0 * numbers[i];
  return std::all_of(lanes.begin(), lanes.end(), [](float sum) { return sum == 0; });
}

std::size_t count_not_finite(std::span<const std::complex<float>> values) {
  std::size_t count = 0;
  each_not_finite(values, [&](std::size_t) { ++count; });
  return count;
}

std::size_t flag_not_finite(std::span<const std::complex<float>> values, std::span<std::uint8_t> flags) {
  std::size_t count = 0;
  each_not_finite(values, [&](std::size_t i) {
    if (flags[i] == 0) flags[i] = 1, ++count;
  });
  return count;
}

}  // namespace rimetree::ms
