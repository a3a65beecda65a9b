// Reductions row by row: what an outcome is does not depend on how many there are, nor on flags of others.
#pragma once

#include <type_traits>
#include <utility>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/device/cell_numbers.h"

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

/// A row is taken in so many parts, so that an addition does not wait for the one before: value i goes into part
/// i % kParts, and the parts then are values themselves. What is left at the end of a row follows one by one.
template <class N>
inline constexpr std::size_t kParts = NumberTraits<N>::is_complex ? 4 : 8;  // they stay in registers

/// Takes a row of n values, `step` apart, into an outcome that has taken `taken` before.
template <class Body, class N, class From>
void take_row(const From* from, std::size_t step, std::size_t n, std::size_t taken, N& outcome) {
  N part[kParts<N>] = {};
  const std::size_t whole = n / kParts<N> * kParts<N>;
  const auto take = [&]<std::size_t... k>(std::index_sequence<k...>, std::size_t count) {
    (Body::template add<N>(part[k], N(from[k * step]), count), ...);
  };
  for (std::size_t i = 0; i < whole; i += kParts<N>, from += kParts<N> * step)
    take(std::make_index_sequence<kParts<N>>(), i);
  for (std::size_t k = 0; k < kParts<N> && whole > 0; ++k) Body::template add<N>(outcome, part[k], taken + k);
  for (std::size_t i = whole; i < n; ++i, from += step) Body::template add<N>(outcome, N(*from), taken + i);
}

/// The same of values that may be left out: f(j, take) calls take(value) if value j counts. `taken` counts on.
template <class Body, class N, class F>
void take_chosen(std::size_t n, bool in_parts, std::size_t& taken, N& outcome, const F& f) {
  N part[kParts<N>] = {};
  std::size_t count[kParts<N>] = {};
  const std::size_t whole = in_parts ? n / kParts<N> * kParts<N> : 0;
  for (std::size_t j = 0; j < whole; ++j)
    f(j, [&](const N& value) { Body::template add<N>(part[j % kParts<N>], value, count[j % kParts<N>]++); });
  for (std::size_t k = 0; k < kParts<N> && whole > 0; ++k) {
    if (count[k] > 0) Body::template add<N>(outcome, part[k], taken);
    taken += count[k];
  }
  for (std::size_t j = whole; j < n; ++j) f(j, [&](const N& value) { Body::template add<N>(outcome, value, taken++); });
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
    for_each_cell(kept, [&](const std::array<int, kAxes>& at) {
      const From* own = values + offset_of(at, stride);
      std::size_t taken = count;
      for_each_cell(rows, [&](const std::array<int, kAxes>& row) {
        take_row<Body>(own + offset_of(row, stride), step, n, taken, *outcome);
        taken += n;
      });
      ++outcome;
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
