#include "runtime/fit/covariance.h"

#include <limits>

#include "runtime/fit/scaled_matrix.h"
#include "runtime/fit/spectrum.h"

namespace rimetree::fit {

namespace {

// A combination with less than this part in the null space has none but for rounding.
constexpr double kNullPart = 1e-5;
// Above this order all eigenvalues take too long; only the null space is found.
constexpr Eigen::Index kLarge = 100;
// And above this one a sparse matrix is not made dense, whatever happens.
constexpr std::size_t kMostDense = 10000;

/// Of the rows and columns of scale > 0.
Spectrum of_dense(const NormalEquations& equations, const Eigen::VectorXd& scale) {
  std::vector<Eigen::Index> moving;
  for (Eigen::Index i = 0; i < scale.size(); ++i)
    if (scale[i] > 0) moving.push_back(i);
  const auto m = static_cast<Eigen::Index>(moving.size());
  Eigen::MatrixXd matrix = scaled_dense(equations, scale);
  if (m < scale.size()) matrix = matrix(moving, moving).eval();
  Spectrum part;
  if (m > kLarge) part = spectrum_by_null_space(matrix);
  if (!part.good) part = spectrum_by_eigenvalues(matrix);
  if (!part.good || m == scale.size()) return part;
  Spectrum all = part;
  all.null = Eigen::MatrixXd::Zero(scale.size(), part.null.cols());
  all.inverse = Eigen::VectorXd::Zero(scale.size());
  for (Eigen::Index i = 0; i < m; ++i) {
    all.null.row(moving[static_cast<std::size_t>(i)]) = part.null.row(i);
    all.inverse[moving[static_cast<std::size_t>(i)]] = part.inverse[i];
  }
  return all;
}

}  // namespace

Covariance covariance(const NormalEquations& equations, const std::vector<bool>& held,
                      const std::vector<Combination>& combinations) {
  Covariance result;
  result.sigma.assign(equations.n, std::numeric_limits<double>::quiet_NaN());
  result.determined.assign(equations.n, 0.0);
  result.combination_determined.assign(combinations.size(), false);
  std::vector<bool> free(equations.n);
  for (std::size_t k = 0; k < equations.n; ++k) free[k] = !held[k];
  const Eigen::VectorXd scale = scale_of(equations, free);
  const auto moving = static_cast<std::size_t>((scale.array() > 0).count());
  if (moving == 0) return result;
  Spectrum spectrum;
  if (equations.sparsity) spectrum = spectrum_of_sparse(scaled_sparse(equations, scale));
  if (!spectrum.good && (!equations.sparsity || equations.n <= kMostDense)) spectrum = of_dense(equations, scale);
  if (!spectrum.good) return result;
  result.rank = moving - static_cast<std::size_t>(spectrum.null.cols());
  if (result.rank == 0) return result;
  result.condition = spectrum.largest / spectrum.smallest;
  for (std::size_t k = 0; k < equations.n; ++k) {
    const auto i = static_cast<Eigen::Index>(k);
    if (!(scale[i] > 0)) continue;
    result.determined[k] = 1 - spectrum.null.row(i).squaredNorm();
    result.sigma[k] = scale[i] * std::sqrt(spectrum.inverse[i]);
  }
  for (std::size_t c = 0; c < combinations.size(); ++c) {
    Eigen::VectorXd row = Eigen::VectorXd::Zero(scale.size());
    for (const auto& [k, coefficient] : combinations[c])
      row[static_cast<Eigen::Index>(k)] += scale[static_cast<Eigen::Index>(k)] * coefficient;
    result.combination_determined[c] = (spectrum.null.transpose() * row).norm() <= kNullPart * row.norm();
  }
  return result;
}

}  // namespace rimetree::fit
