// All rows by the matrix product on the host, on all threads.
#pragma once

#include "nodes/psv/matrix/sides_plan.h"

namespace rimetree::psv::matrix {

/// Bits do not depend on the number of threads. Throws Cancelled.
void solve_by_sides(const Summed& of, const SidesPlan& plan, const Output& out, ThreadPool& threads,
                    Cancellation& cancellation);

}  // namespace rimetree::psv::matrix
