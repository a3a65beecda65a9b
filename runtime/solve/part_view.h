// A part of the cells as an EquationSource looks at it.
#pragma once

#include <tuple>
#include <utility>

#include "runtime/core/solver_node.h"
#include "runtime/solve/problem.h"

namespace rimetree::solve {

struct PartView {
  PartView() = default;
  PartView(RequestPart part, const Problem& problem) : request(std::move(part.request)) {
    std::tie(first_segment, time) = problem.time_segments().part(part.first_time, request.cells->shape()[Axis::time]);
  }

  Request request;
  Segments time;                    ///< of its own cells
  std::uint32_t first_segment = 0;  ///< of the problem's, that is the first of these
  std::uint32_t end_segment() const { return first_segment + static_cast<std::uint32_t>(time.size()); }
  const CellShape& cells() const { return request.cells->shape(); }
  /// [first, last) of its time slots that are in a segment of the problem's.
  std::pair<std::size_t, std::size_t> slots(std::uint32_t segment) const {
    return {time.begin[segment - first_segment], time.begin[segment - first_segment + 1]};
  }
};

}  // namespace rimetree::solve
