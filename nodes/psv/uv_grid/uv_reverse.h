// The uv grid in reverse: from the adjoints of visibilities to derivatives with respect to the weights of all points.
//   dL/dw_s = Re sum h K_s
// over rows and channels (adjoint/adjoint.h). It is the transpose, step by step, of what uv_grid.h does: each
// visibility's adjoint is shared out to its samples, samples are added to grids of modes, these are transformed to
// cells, and each source reads what it gains there. Bounds of errors are those of the way there.
#pragma once

#include "nodes/psv/uv_grid/uv_grid.h"

namespace rimetree::psv::uv_grid {

/// Adjoints of the results, laid out as Output is.
struct GivenAdjoints {
  const Complex<double>* const* row = nullptr;  ///< [row]
  std::ptrdiff_t plane_stride = 0;
};

/// What may be there together, bytes.
struct ReverseMemory {
  std::size_t grids = kGridBytes, samples = std::size_t{1} << 26;
};

/// Adds what the weights of points gain, [point][weight channel][plane of the sky], from all rows, by a plan of
/// plan_uv_grid_reverse(). Bits do not depend on the number of threads. Throws Cancelled.
void pull_back_points(const Summed& of, UvGridPlan& plan, const GivenAdjoints& adjoints, double* weights,
                      ThreadPool& threads, Cancellation& cancellation, const ReverseMemory& memory = {});

}  // namespace rimetree::psv::uv_grid
