// Evaluates the rows of a group of baselines by the method that the planner chose, on all threads.
#pragma once

#include "nodes/psv/planner/planner.h"
#include "runtime/core/thread_pool.h"

namespace rimetree::psv {

struct RowsProblem : Summed {
  const SkyInput& sky_input;
  const Output& output;
};

/// Bits do not depend on the number of threads. Throws Cancelled.
void solve_rows(const RowsProblem& problem, Choice choice, ThreadPool& threads, Cancellation& cancellation);

}  // namespace rimetree::psv
