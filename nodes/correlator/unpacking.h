// Codes of samples as the numbers that transforms take.
#pragma once

#include <cstddef>
#include <cstdint>

#include "nodes/correlator/sample_format.h"

namespace rimetree::correlator {

/// Codes of `inputs` inputs that lie side by side, at `n` times `time_stride` bytes apart, as floats (re, im; of real
/// samples one number), `row` floats from one time to the next.
void unpack(const std::uint8_t* codes, std::ptrdiff_t time_stride, std::size_t inputs, std::size_t n,
            const SampleFormat& format, float* to, std::size_t row);

}  // namespace rimetree::correlator
