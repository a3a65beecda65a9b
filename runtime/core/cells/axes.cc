#include "runtime/core/cells/axes.h"

#include "runtime/core/error.h"

namespace rimetree {

Axis axis_from_name(std::string_view name) {
  for (int axis = 0; axis < kAxes; ++axis)
    if (kAxisNames[axis] == name) return static_cast<Axis>(axis);
  throw StateError("unknown axis \"" + std::string(name) + "\"; axes are time, freq, l and m");
}

std::size_t CellShape::size() const {
  std::size_t n = 1;
  for (const auto length : extent) n *= static_cast<std::size_t>(length);
  return n;
}

CellShape broadcast(const CellShape& a, const CellShape& b) {
  CellShape result;
  for (int axis = 0; axis < kAxes; ++axis) {
    const auto x = a.extent[axis], y = b.extent[axis];
    if (x != y && x != 1 && y != 1)
      throw ShapeError("cells do not fit: " + to_string(a) + " against " + to_string(b) + " along the " +
                       std::string(kAxisNames[axis]) + " axis");
    result.extent[axis] = x == 1 ? y : x;
  }
  return result;
}

std::string to_string(const CellShape& shape) {
  std::string text = "[";
  for (int axis = 0; axis < kAxes; ++axis) {
    if (shape.extent[axis] == 1) continue;
    if (text.size() > 1) text += ", ";
    text += std::string(kAxisNames[axis]) + " " + std::to_string(shape.extent[axis]);
  }
  return text + "]";
}

}  // namespace rimetree
