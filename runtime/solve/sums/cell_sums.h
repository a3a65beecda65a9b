// What is summed over the cells of a block, one cell at a time, and in which order: sums of w a* b of quantities a and
// b, and of what the residual gives. For host and device: both give the same bits, but for what a GPU's compiler
// contracts.
#pragma once

#include <cstddef>
#include <cstdint>

#include "runtime/math/complex.h"
#include "runtime/math/error_model.h"

namespace rimetree::solve {

/// The cells of a block, row by row, go into chunks of so many, and in each chunk in turn to one of kStrands sums, so
/// that additions need not wait for each other. Chunks are added in their order.
inline constexpr std::size_t kChunkCells = 512, kStrands = 4;
RT_HD inline double sum_of_strands(const double* strand) { return (strand[0] + strand[1]) + (strand[2] + strand[3]); }

RT_HD inline bool is_finite(double x) { return x - x == 0; }
RT_HD inline bool is_finite(Complex<double> x) { return is_finite(x.re) && is_finite(x.im); }
/// A weight that counts: positive and finite. Zero means no data; NaN and negative ones are no weights.
RT_HD inline bool is_good_weight(double weight) { return weight > 0 && is_finite(weight); }

RT_HD inline double weighted_product_re(double w, Complex<double> a, Complex<double> b) {
  return w * (a.re * b.re + a.im * b.im);
}
RT_HD inline double weighted_product_im(double w, Complex<double> a, Complex<double> b) {
  return w * (a.re * b.im - a.im * b.re);
}
RT_HD inline double weighted_power(double w, double re, double im) { return w * (re * re + im * im); }
RT_HD inline double weighted_power(double w, Complex<double> a) { return weighted_power(w, a.re, a.im); }

/// Whether a cell counts, or why not.
enum class CellUse : std::uint8_t { counted, flagged, bad_weight, not_finite };
RT_HD inline CellUse use_of(bool flagged, double weight, bool finite) {
  if (flagged) return CellUse::flagged;
  if (!is_good_weight(weight)) return CellUse::bad_weight;
  return finite ? CellUse::counted : CellUse::not_finite;
}

/// What a cell that counts adds to objective and chi-square, and the factor of its weight.
struct CellMisfit {
  double objective, chi_square, factor;
};
RT_HD inline CellMisfit misfit_of(const ErrorModel& errors, double w, Complex<double> residual, int dimensions) {
  const double square = weighted_power(w, residual), factor = errors.weight_factor(square, dimensions);
  return {errors.objective(square, dimensions), square * factor, factor};
}

/// Sums over one element of one block besides products. As the device writes them: eight numbers of eight bytes.
struct ScalarSums {
  double power = 0, data_power = 0;  ///< of what is compared with the model's unknown terms, and of the data
  double objective = 0, chi_square = 0;
  double equations = 0, flagged = 0, bad_weight = 0, not_finite = 0;  ///< counts

  ScalarSums& operator+=(const ScalarSums& other) {
    power += other.power, data_power += other.data_power;
    objective += other.objective, chi_square += other.chi_square;
    equations += other.equations, flagged += other.flagged;
    bad_weight += other.bad_weight, not_finite += other.not_finite;
    return *this;
  }
};

}  // namespace rimetree::solve
