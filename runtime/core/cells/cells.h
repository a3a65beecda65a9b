// The grid of one evaluation: where its cells are and how wide, e.g. a time-slot group of one spectral window.
#pragma once

#include <array>
#include <vector>

#include "runtime/core/cells/axes.h"

namespace rimetree {

/// One axis of the grid. Units: seconds of MJD (UTC) for time, Hz for freq, direction cosines for l and m.
struct AxisGrid {
  std::vector<double> centre;
  std::vector<double> width;  ///< positive, same length as `centre`
};

class Cells {
 public:
  /// Axes that are left empty have one cell, on which nothing depends. Throws Error if widths do not match centres, are
  /// negative or not finite.
  explicit Cells(std::array<AxisGrid, kAxes> axes);
  /// The usual grid, in seconds and Hz.
  static Cells time_frequency(AxisGrid time_s, AxisGrid frequency_hz);

  const AxisGrid& axis(Axis which) const { return axes_[static_cast<int>(which)]; }
  /// True if the grid has this axis at all.
  bool has(Axis which) const { return !axis(which).centre.empty(); }
  const CellShape& shape() const { return shape_; }
  /// Throws Error saying that node needs the axis if the grid does not have it.
  const AxisGrid& require(Axis which) const;
  /// A number that is the same for equal grids and, but for a chance of 2^-64, differs for different ones.
  std::uint64_t fingerprint() const { return fingerprint_; }

 private:
  std::array<AxisGrid, kAxes> axes_;
  CellShape shape_;
  std::uint64_t fingerprint_ = 0;
};

}  // namespace rimetree
