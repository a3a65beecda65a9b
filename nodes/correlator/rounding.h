// Spectra as codes of integers.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nodes/correlator/sample_format.h"

namespace rimetree::correlator {

/// Rounds n complex numbers (re, im), times a real scale, to the nearest integers (the even one of two), cuts them off
/// at the format's range, and writes their codes. Returns how many of the 2 n were cut off.
std::size_t round_to_codes(const float* numbers, std::size_t n, float scale, const SampleFormat& format,
                           std::uint16_t* codes);
/// The same of numbers that are multiplied with a phase each (re, im), which has the scale in it.
std::size_t round_to_codes(const float* numbers, std::size_t n, const float* phases, const SampleFormat& format,
                           std::uint16_t* codes);

/// The same without rounding: n complex numbers times a scale, or where `phases` is given times a phase each.
void scale_numbers(const float* numbers, std::size_t n, float scale, const float* phases, float* to);

}  // namespace rimetree::correlator
