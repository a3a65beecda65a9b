// Visibilities that are infinite or not a number: whether there are any, how many, and flagging them.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <span>

namespace rimetree::ms {

/// Whether both parts of each value are finite.
bool all_finite(std::span<const std::complex<float>> values);
/// How many values have a part that is infinite or not a number.
std::size_t count_not_finite(std::span<const std::complex<float>> values);
/// Flags these; flags that are set stay. As many flags as values. Returns how many flags were set.
std::size_t flag_not_finite(std::span<const std::complex<float>> values, std::span<std::uint8_t> flags);

}  // namespace rimetree::ms
