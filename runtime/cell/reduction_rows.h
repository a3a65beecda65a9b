// Reductions of values without flags, row by row: each outcome takes the same values in the same order as cell by cell.
#pragma once

#include <type_traits>

#include "runtime/core/cell_loop.h"

namespace rimetree::cell_detail {

/// The last axis along which there are several cells; the last one of all if there is none.
inline int last_axis(const CellShape& cells) {
  int axis = kAxes - 1;
  while (axis > 0 && cells.extent[axis] == 1) --axis;
  return cells.extent[axis] == 1 ? kAxes - 1 : axis;
}
inline int row_axis(const CellShape& kept, const CellShape& inner) { return last_axis(broadcast(kept, inner)); }

/// An adjoint as that of a number of another type: a real one takes the real part.
template <class To, class N>
To part_of(const N& x) {
  if constexpr (std::is_same_v<To, double> && !std::is_same_v<N, double>)
    return x.re;
  else
    return To(x);
}

/// Outcomes that take their rows side by side: each waits for its own last addition only.
inline constexpr int kTogether = 8;

/// Takes rows of n values, `step` apart, into kOutcomes outcomes; `offset` after where each one's values begin.
template <class Body, int kOutcomes, class N, class From>
void take_row(const From* const* values, std::size_t offset, std::size_t step, std::size_t n, std::size_t taken,
              N* outcome) {
  const From* from[kOutcomes];
  N part[kOutcomes];  // for registers
  for (int k = 0; k < kOutcomes; ++k) from[k] = values[k] + offset, part[k] = outcome[k];
  for (std::size_t i = 0; i < n; ++i)
    for (int k = 0; k < kOutcomes; ++k) Body::template add<N>(part[k], N(from[k][i * step]), taken + i);
  for (int k = 0; k < kOutcomes; ++k) outcome[k] = part[k];
}

/// Takes a value, `step` apart, into each of n outcomes. Values are none of the outcomes.
template <class Body, class N, class From>
void take_side_by_side(const From* values, std::size_t step, std::size_t n, std::size_t count, N* outcome) {
  if (step == 1) {  // the compiler has vectors for this
#pragma GCC ivdep
    for (std::size_t i = 0; i < n; ++i) Body::template add<N>(outcome[i], N(values[i]), count);
  } else {
    for (std::size_t i = 0; i < n; ++i) Body::template add<N>(outcome[i], N(values[i * step]), count);
  }
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
    const auto take = [&]<int kOutcomes>(const From* const* own, N* to) {
      std::size_t taken = count;
      for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
        take_row<Body, kOutcomes>(own, offset_of(row, stride), step, n, taken, to);
        taken += n;
      });
    };
    const From* own[kTogether];
    int waiting = 0;
    for_each_cell(kept, [&](const std::array<int, kAxes>& at) {
      own[waiting++] = values + offset_of(at, stride);
      if (waiting < kTogether) return;
      take.template operator()<kTogether>(own, outcome);
      outcome += kTogether;
      waiting = 0;
    });
    for (int k = 0; k < waiting; ++k) take.template operator()<1>(own + k, outcome++);
    return;
  }
  CellShape rows = kept;
  rows.extent[axis] = 1;
  const auto n = static_cast<std::size_t>(kept.extent[axis]);
  for_each_cell(inner, [&](const std::array<int, kAxes>& at) {
    const From* own = values + offset_of(at, stride);
    N* to = outcome;
    for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
      take_side_by_side<Body>(own + offset_of(row, stride), step, n, count, to);
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
