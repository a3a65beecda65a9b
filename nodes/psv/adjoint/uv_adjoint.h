// Derivatives with respect to weights by the uv grid, as far as sources are points.
#pragma once

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/uv_grid/uv_reverse.h"

namespace rimetree::psv::adjoint {

/// With respect to nothing but weights, by a plan of plan_uv_grid_reverse(); of sources with a shape row by row. Bits
/// do not depend on the number of threads. Throws Cancelled.
SourceAdjoints pull_back_by_uv_grid(const Summed& of, uv_grid::UvGridPlan& plan, const ResultAdjoints& adjoints,
                                    ThreadPool& threads, Cancellation& cancellation,
                                    const uv_grid::ReverseMemory& memory = {});

}  // namespace rimetree::psv::adjoint
