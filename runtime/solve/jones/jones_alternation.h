// Where a fit of gains begins: numbers, or rows of matrices, found in turns.
#pragma once

#include "runtime/solve/jones/jones_sums.h"

namespace rimetree::solve {

/// What EquationSource::approach promises, from sums that are made: where each model is one diagonal term.
std::vector<double> alternate(const Problem& problem, const JonesProducts& products, const JonesSums& sums,
                              std::vector<double>& values, Cancellation& cancellation);

/// As alternate(), where each model is one full matrix on either side.
std::vector<double> alternate_matrices(const Problem& problem, const JonesProducts& products, const JonesSums& sums,
                                       std::vector<double>& values, Cancellation& cancellation);

}  // namespace rimetree::solve
