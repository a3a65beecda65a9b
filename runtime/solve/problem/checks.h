// What is looked at before a solve begins.
#pragma once

#include "runtime/evaluate/evaluator.h"
#include "runtime/solve/problem/problem.h"

namespace rimetree::solve {

/// Throws Error where data are solved in parts and a node below the Condeqs looks at several times: it would look at
/// those of one part only.
void refuse_mixed_times(const Evaluator& evaluator, const Problem& problem, std::size_t n_part);

/// Throws Error where the normal matrices of all groups take more than a budget, in bytes.
void check_memory(Problem& problem, std::uint64_t budget);

/// Whether normal matrices of all unknowns together take more than a budget, in bytes, or too long: `in_blocks`, where
/// parts of them could be solved for much faster.
bool is_too_large(const Problem& problem, bool in_blocks, std::uint64_t budget);

/// Whether any unknown has a bound or a prior.
bool is_limited(const Problem& problem);

}  // namespace rimetree::solve
