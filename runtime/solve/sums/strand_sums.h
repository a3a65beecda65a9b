// Sums over the cells of a chunk in kStrands strands, by vectors. Their order is that of cell_sums.h, cell by cell.
#pragma once

#include <cstddef>

#include "runtime/solve/sums/cell_sums.h"

namespace rimetree::solve {

/// Sum of w a* b.
Complex<double> sum_of_products(std::size_t n, const double* w, const double* a_re, const double* a_im,
                                const double* b_re, const double* b_im);
/// Sum of w |a|^2.
double sum_of_powers(std::size_t n, const double* w, const double* re, const double* im);
/// Sums of `misfit_of` the residuals of cells; weights are multiplied with their factors. A cell whose weight is 0 adds
/// nothing.
struct MisfitSums {
  double objective = 0, chi_square = 0;
};
MisfitSums sum_of_misfits(const ErrorModel& errors, int dimensions, std::size_t n, const double* re, const double* im,
                          double* w);
/// Whether all weights are positive and finite, and all numbers of the arrays are finite.
bool all_count(std::size_t n, const double* w, const double* const* arrays, std::size_t n_array);

}  // namespace rimetree::solve
