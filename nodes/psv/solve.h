// Evaluates the rows of a group of baselines by the method that the planner chose, on all threads.
#pragma once

#include "nodes/psv/planner.h"
#include "runtime/core/thread_pool.h"

namespace rimetree::psv {

/// One sky on one set of channels, seen by many rows.
struct RowsProblem {
  const SkyInput& sky_input;
  const Sky<double>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
  const Output& output;
};

/// Bits do not depend on the number of threads. Throws Cancelled.
void solve_rows(const RowsProblem& problem, Choice choice, ThreadPool& threads, Cancellation& cancellation);

}  // namespace rimetree::psv
