// Which unknowns are complex numbers, or 2x2 matrices of them, that multiply others: gains and Jones matrices.
#pragma once

#include <vector>

#include "runtime/fit/frames.h"
#include "runtime/solve/problem.h"

namespace rimetree::solve {

/// By group, with the unknowns' places in it.
std::vector<std::vector<fit::ComplexMatrix>> complex_unknowns(const Forest& forest, const Problem& problem);

}  // namespace rimetree::solve
