// Normal equations of a least-squares problem: what is left of all observations for one step of a fit.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>
#include <vector>

#include "runtime/fit/sparsity.h"

namespace rimetree::fit {

/// With residuals r, weights w and J = dr/dx: matrix = J^T w J, gradient = -J^T w r, so that matrix * step = gradient
/// is the Gauss-Newton step.
struct NormalEquations {
  std::size_t n = 0;
  std::vector<double> matrix;    ///< [n, n], row-major, only the lower triangle (column <= row) used; or as `sparsity`
  std::vector<double> gradient;  ///< [n] = -1/2 d(objective)/dx
  double objective = 0;          ///< what is minimised: sum of w r^2, or of a robust function of it, and priors
  double chi_square = 0;         ///< sum of w r^2 with the weights of the matrix, without priors
  double prior_chi_square = 0;   ///< the same of priors
  double data_power = 0;         ///< sum of w d^2 of the data d: what rounding errors of the sums are relative to
  std::size_t equations = 0;     ///< real equations, priors included
  std::size_t priors = 0;        ///< those that are priors
  double information = 0;        ///< their Fisher information relative to the matrix: less than one each if robust
  std::shared_ptr<const Sparsity> sparsity;  ///< which elements the matrix has; none: all of them

  NormalEquations() = default;
  explicit NormalEquations(std::size_t unknowns) : n(unknowns), matrix(n * n, 0.0), gradient(n, 0.0) {}
  NormalEquations(std::size_t unknowns, std::shared_ptr<const Sparsity> elements)
      : n(unknowns), matrix(elements ? elements->n_element() : n * n, 0.0), gradient(n, 0.0), sparsity(elements) {}
  /// Where an element is in `matrix`.
  std::size_t place(std::size_t row, std::size_t column) const {
    if (row < column) std::swap(row, column);
    return sparsity ? sparsity->find(row, column) : row * n + column;
  }
  double& at(std::size_t row, std::size_t column) { return matrix[place(row, column)]; }
  double diagonal(std::size_t k) const { return matrix[sparsity ? sparsity->begin(k) : k * n + k]; }
  /// matrix * x
  std::vector<double> times(const std::vector<double>& x) const;
};

inline std::vector<double> NormalEquations::times(const std::vector<double>& x) const {
  std::vector<double> y(n, 0.0);
  const auto add = [&](std::size_t row, std::size_t column, double value) {
    y[row] += value * x[column];
    if (row != column) y[column] += value * x[row];
  };
  for (std::size_t i = 0; i < n; ++i) {
    if (sparsity)
      for (std::size_t e = sparsity->begin(i); e < sparsity->begin(i + 1); ++e) add(sparsity->row(e), i, matrix[e]);
    else
      for (std::size_t j = 0; j <= i; ++j) add(i, j, matrix[i * n + j]);
  }
  return y;
}

/// Adds normal priors at x: sigma 0 means none.
inline void add_priors(NormalEquations& equations, const std::vector<double>& x, const std::vector<double>& mean,
                       const std::vector<double>& sigma) {
  for (std::size_t k = 0; k < equations.n; ++k) {
    if (!(sigma[k] > 0)) continue;
    const double weight = 1 / (sigma[k] * sigma[k]), difference = mean[k] - x[k];
    equations.at(k, k) += weight;
    equations.gradient[k] += weight * difference;
    equations.objective += weight * difference * difference;
    equations.prior_chi_square += weight * difference * difference;
    equations.data_power += weight * mean[k] * mean[k];
    ++equations.equations;
    ++equations.priors;
    ++equations.information;
  }
}

}  // namespace rimetree::fit
