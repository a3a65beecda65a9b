// The shape of a tensor of quantities, e.g. [] a scalar, [2,2] a Jones matrix, [source,3] directions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <string>

#include "runtime/math/host_device.h"

namespace rimetree {

struct TensorShape {
  static constexpr int kMaxRank = 4;
  std::int32_t extent[kMaxRank] = {};
  int rank = 0;

  TensorShape() = default;
  TensorShape(std::initializer_list<std::int32_t> extents);

  RT_HD std::int32_t operator[](int dimension) const { return extent[dimension]; }
  /// Throws ShapeError beyond kMaxRank, and for a length that is negative or no 32-bit number.
  void append(std::int64_t length);
  /// Number of elements; 1 for a scalar.
  RT_HD std::size_t size() const {
    std::size_t n = 1;
    for (int i = 0; i < rank; ++i) n *= static_cast<std::size_t>(extent[i]);
    return n;
  }
  RT_HD bool is_scalar() const { return rank == 0; }
  /// With the last two dimensions exchanged.
  TensorShape transposed() const {
    TensorShape to = *this;
    if (rank >= 2) to.extent[rank - 1] = extent[rank - 2], to.extent[rank - 2] = extent[rank - 1];
    return to;
  }
  /// Element of the shape with the last two dimensions exchanged that is element e of this one.
  RT_HD std::size_t transposed(std::size_t e) const {
    if (rank < 2) return e;
    const auto rows = static_cast<std::size_t>(extent[rank - 2]), columns = static_cast<std::size_t>(extent[rank - 1]);
    const std::size_t first = e / (rows * columns) * rows * columns, i = e / columns % rows, j = e % columns;
    return first + j * rows + i;
  }
  friend bool operator==(const TensorShape& a, const TensorShape& b) {
    if (a.rank != b.rank) return false;
    for (int i = 0; i < a.rank; ++i)
      if (a.extent[i] != b.extent[i]) return false;
    return true;
  }
};

/// "[100,3]"; "[]" is a scalar.
std::string to_string(const TensorShape& shape);

}  // namespace rimetree
