// Walking the cells of a shape.
#pragma once

#include <array>
#include <cstddef>

#include "runtime/core/cells/axes.h"

namespace rimetree {

/// Calls body(cell) for every cell of the shape, last axis fastest.
template <class Body>
void for_each_cell(const CellShape& shape, const Body& body) {
  const auto& n = shape.extent;
  std::array<int, kAxes> cell{};
  for (cell[0] = 0; cell[0] < n[0]; ++cell[0])
    for (cell[1] = 0; cell[1] < n[1]; ++cell[1])
      for (cell[2] = 0; cell[2] < n[2]; ++cell[2])
        for (cell[3] = 0; cell[3] < n[3]; ++cell[3]) body(cell);
}

/// Where a cell is among values of the given strides.
inline std::size_t offset_of(const std::array<int, kAxes>& cell, const std::array<std::size_t, kAxes>& stride) {
  std::size_t offset = 0;
  for (int axis = 0; axis < kAxes; ++axis) offset += static_cast<std::size_t>(cell[axis]) * stride[axis];
  return offset;
}

}  // namespace rimetree
