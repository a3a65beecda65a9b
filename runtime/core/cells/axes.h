// The axes of a grid of cells and shapes along them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rimetree {

/// Axes by fixed position: time and frequency first, then those of images and beams.
enum class Axis : int { time = 0, frequency = 1, l = 2, m = 3 };
inline constexpr int kAxes = 4;
/// The names scripts use: "time", "freq", "l", "m".
inline constexpr std::array<std::string_view, kAxes> kAxisNames{"time", "freq", "l", "m"};

/// Throws StateError naming the known axes if `name` is none of them.
Axis axis_from_name(std::string_view name);

/// Some of the axes.
using AxisSet = std::uint8_t;
inline constexpr AxisSet kNoAxes = 0, kAllAxes = (1 << kAxes) - 1;
constexpr AxisSet set_of(Axis axis) { return static_cast<AxisSet>(1 << static_cast<int>(axis)); }

/// Extent along each axis; an axis on which nothing varies has length 1.
struct CellShape {
  std::array<std::int32_t, kAxes> extent{1, 1, 1, 1};

  std::int32_t& operator[](Axis axis) { return extent[static_cast<int>(axis)]; }
  std::int32_t operator[](Axis axis) const { return extent[static_cast<int>(axis)]; }
  /// Number of cells.
  std::size_t size() const;
  friend bool operator==(const CellShape&, const CellShape&) = default;
};

/// The shape of an operation on two operands: per axis the length that is not 1. Throws ShapeError if both differ and
/// neither is 1.
CellShape broadcast(const CellShape& a, const CellShape& b);

/// "[time 32, freq 64]"; axes of length 1 are left out, "[]" is a constant.
std::string to_string(const CellShape& shape);

}  // namespace rimetree
