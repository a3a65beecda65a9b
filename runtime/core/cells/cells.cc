#include "runtime/core/cells/cells.h"

#include <cmath>
#include <utility>

#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"

namespace rimetree {

Cells::Cells(std::array<AxisGrid, kAxes> axes) : axes_(std::move(axes)) {
  for (int i = 0; i < kAxes; ++i) {
    const AxisGrid& grid = axes_[i];
    const std::string name(kAxisNames[i]);
    if (grid.centre.size() != grid.width.size())
      throw Error("the " + name + " axis has " + std::to_string(grid.centre.size()) + " centres but " +
                  std::to_string(grid.width.size()) + " widths");
    for (const double centre : grid.centre)
      if (!std::isfinite(centre)) throw Error("a cell centre of the " + name + " axis is not finite");
    for (const double width : grid.width)
      if (!(width >= 0) || !std::isfinite(width))
        throw Error("a cell width of the " + name + " axis is negative or not finite");
    if (!grid.centre.empty()) shape_.extent[i] = static_cast<std::int32_t>(grid.centre.size());
    fingerprint_ = mix(mix(fingerprint_, grid.centre), grid.width);
  }
}

Cells Cells::time_frequency(AxisGrid time_s, AxisGrid frequency_hz) {
  return Cells({std::move(time_s), std::move(frequency_hz), AxisGrid{}, AxisGrid{}});
}

const AxisGrid& Cells::require(Axis which) const {
  if (!has(which))
    throw Error("the cells of this request have no " + std::string(kAxisNames[static_cast<int>(which)]) + " axis");
  return axis(which);
}

}  // namespace rimetree
