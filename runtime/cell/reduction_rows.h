// Reductions of values without flags, row by row: each outcome takes the same values in the same order as cell by cell.
#pragma once

#include <type_traits>

#include "runtime/core/cell_loop.h"

namespace rimetree::cell_detail {

/// The last axis along which there are several cells; the last one of all if there is none.
inline int row_axis(const CellShape& kept, const CellShape& inner) {
  int axis = kAxes - 1;
  while (axis > 0 && kept.extent[axis] == 1 && inner.extent[axis] == 1) --axis;
  return kept.extent[axis] == 1 && inner.extent[axis] == 1 ? kAxes - 1 : axis;
}

/// An adjoint as that of a number of another type: a real one takes the real part.
template <class To, class N>
To part_of(const N& x) {
  if constexpr (std::is_same_v<To, double> && !std::is_same_v<N, double>)
    return x.re;
  else
    return To(x);
}

/// Takes values of one element of a child, whose numbers are `stride` apart, into the outcomes on the cells that are
/// `kept`, each of which gets those of the cells of `inner`. `count`: values that each has taken before.
template <class Body, class N, class From>
void reduce_rows(const From* values, const std::array<std::size_t, kAxes>& stride, const CellShape& kept,
                 const CellShape& inner, std::size_t count, N* outcome) {
  const int axis = row_axis(kept, inner);
  const std::size_t step = stride[axis];
  if (inner.extent[axis] > 1) {
    CellShape rows = inner;
    rows.extent[axis] = 1;
    const auto n = static_cast<std::size_t>(inner.extent[axis]);
    for_each_cell(kept, [&](const std::array<int, kAxes>& at) {
      const From* own = values + offset_of(at, stride);
      N sum = *outcome;
      std::size_t taken = count;
      for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
        const From* from = own + offset_of(row, stride);
        N part = sum;  // for a register
        for (std::size_t i = 0; i < n; ++i) Body::template add<N>(part, N(from[i * step]), taken + i);
        sum = part;
        taken += n;
      });
      *outcome++ = sum;
    });
    return;
  }
  CellShape rows = kept;
  rows.extent[axis] = 1;
  const auto n = static_cast<std::size_t>(kept.extent[axis]);
  for_each_cell(inner, [&](const std::array<int, kAxes>& at) {
    const From* own = values + offset_of(at, stride);
    N* to = outcome;
    for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
      const From* from = own + offset_of(row, stride);
      if (step == 1)  // the compiler has vectors for this
        for (std::size_t i = 0; i < n; ++i) Body::template add<N>(to[i], N(from[i]), count);
      else
        for (std::size_t i = 0; i < n; ++i) Body::template add<N>(to[i], N(from[i * step]), count);
      to += n;
    });
    ++count;
  });
}

/// The reverse of a sum: adds the adjoints of the outcomes to those of one element of a child, laid out as its values.
template <class To, class N>
void spread_rows(To* values, const std::array<std::size_t, kAxes>& stride, const CellShape& kept,
                 const CellShape& inner, const N* adjoint) {
  const int axis = row_axis(kept, inner);
  const std::size_t step = stride[axis];
  const bool inner_row = inner.extent[axis] > 1;
  CellShape rows = inner_row ? inner : kept;
  const auto n = static_cast<std::size_t>(rows.extent[axis]);
  rows.extent[axis] = 1;
  if (inner_row) {
    for_each_cell(kept, [&](const std::array<int, kAxes>& at) {
      const To one = part_of<To>(*adjoint++);
      for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
        To* to = values + offset_of(at, stride) + offset_of(row, stride);
        for (std::size_t i = 0; i < n; ++i) to[i * step] += one;
      });
    });
    return;
  }
  for_each_cell(inner, [&](const std::array<int, kAxes>& at) {
    const N* from = adjoint;
    for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
      To* to = values + offset_of(at, stride) + offset_of(row, stride);
      for (std::size_t i = 0; i < n; ++i) to[i * step] += part_of<To>(from[i]);
      from += n;
    });
  });
}

}  // namespace rimetree::cell_detail
