// Which unknowns are complex numbers, or 2x2 matrices of them, that multiply others: gains and Jones matrices.
#pragma once

#include <utility>
#include <vector>

#include "runtime/fit/frames.h"
#include "runtime/solve/problem/problem.h"

namespace rimetree::solve {

/// By group, with the unknowns' places in it.
std::vector<std::vector<fit::ComplexMatrix>> complex_unknowns(const Forest& forest, const Problem& problem);

/// By group, complex numbers as (real, imaginary part) where both are unknowns, whatever is held of the matrix that
/// they are in.
std::vector<std::vector<std::pair<std::size_t, std::size_t>>> complex_numbers(const Forest& forest,
                                                                              const Problem& problem);

}  // namespace rimetree::solve
