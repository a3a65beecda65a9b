// A part of the cells as an EquationSource looks at it.
#pragma once

#include <utility>

#include "runtime/core/node/solver_node.h"
#include "runtime/solve/problem/problem.h"

namespace rimetree::solve {

struct PartView {
  PartView() = default;
  PartView(RequestPart part, const Problem& problem)
      : request(std::move(part.request)),
        time(problem.time_segments().of(part.time)),
        frequency(problem.frequency_segments().of(part.frequency)) {
    first_segment = time.drop_empty_ends();
  }

  Request request;
  bool is_first = true;             ///< of all parts
  Segments time, frequency;         ///< of its own cells; along frequency all of the problem's, along time some
  std::uint32_t first_segment = 0;  ///< of the problem's, that is the first of these
  std::uint32_t end_segment() const { return first_segment + static_cast<std::uint32_t>(time.size()); }
  const CellShape& cells() const { return request.cells->shape(); }
  /// [first, last) of its time slots that are in a segment of the problem's.
  std::pair<std::size_t, std::size_t> slots(std::uint32_t segment) const {
    return {time.begin[segment - first_segment], time.begin[segment - first_segment + 1]};
  }
  /// Of these those that count for an equation that varies on some cells: where it does not vary in time it is one
  /// equation for all times, that of the first.
  std::pair<std::size_t, std::size_t> counted_slots(std::uint32_t segment, const CellShape& equation) const {
    const auto [first, last] = slots(segment);
    if (equation[Axis::time] > 1 || cells()[Axis::time] == 1) return {first, last};
    return {first, segment == first_segment ? first + 1 : first};
  }
  /// [first, last) of its channels that are in a segment and count, likewise.
  std::pair<std::size_t, std::size_t> counted_channels(std::uint32_t segment, const CellShape& equation) const {
    const std::size_t first = frequency.begin[segment], last = frequency.begin[segment + 1];
    if (equation[Axis::frequency] > 1 || cells()[Axis::frequency] == 1) return {first, last};
    return {first, segment == 0 ? first + 1 : first};
  }
};

}  // namespace rimetree::solve
