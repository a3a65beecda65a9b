// Which samples a cell in time has.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>

#include "nodes/correlator/sample_stream.h"
#include "runtime/core/error.h"

namespace rimetree::correlator {

inline std::string seconds(double value) {
  char text[40];
  std::snprintf(text, sizeof text, "%.9g s", value);
  return text;
}

/// The number of a time cell's first sample; a cell must be one integration of so many samples. Cells are counted in
/// integrations and not in samples, whose interval may be less than what a time of day is rounded to.
inline std::int64_t first_sample(const StreamShape& shape, std::size_t integration, double centre_s, double width_s) {
  const double length_s = shape.interval_s * double(integration);
  // Both times may be off by half of what times are rounded to at this date: 1e-6 s of MJD.
  const double far_s = std::max(std::abs(centre_s), std::abs(shape.start_s)),
               rounded_to_s = std::nextafter(far_s, std::numeric_limits<double>::infinity()) - far_s,
               number = (centre_s - shape.start_s) / length_s - 0.5, rounding = 1e-3 + 1.05 * rounded_to_s / length_s;
  if (rounding >= 0.5)
    throw Error("integrations are " + seconds(length_s) +
                " long, which times do not tell apart: at this date they are " + "rounded to " + seconds(rounded_to_s) +
                "; integrate longer, or count times from nearby");
  if (!(std::abs(width_s - length_s) <= rounding * length_s) || !(std::abs(number - std::round(number)) <= rounding))
    throw Error("a time cell is no integration: it begins " + seconds(number * length_s) + " after start_s and is " +
                seconds(width_s) + " wide, but integrations are " + seconds(length_s) + " long");
  if (std::abs(number) * double(integration) > 0x1p62) return -static_cast<std::int64_t>(integration);
  return std::llround(number) * static_cast<std::int64_t>(integration);
}

}  // namespace rimetree::correlator
