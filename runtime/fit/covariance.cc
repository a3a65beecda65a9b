#include "runtime/fit/covariance.h"

#include <Eigen/Cholesky>
#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <limits>
#include <random>

namespace rimetree::fit {

namespace {

// Eigenvalues below this fraction of the largest are what rounding leaves of zero.
constexpr double kRankTolerance = 1e-12;
// A combination with less than this part in the null space has none but for rounding.
constexpr double kNullPart = 1e-5;
// Above this order all eigenvalues take too long (9 n^3 operations, and few at a time); only the null space is found.
constexpr Eigen::Index kLarge = 100;

/// What is asked of a symmetric matrix that is not negative.
struct Spectrum {
  bool good = false;
  Eigen::MatrixXd null;              ///< [n, number of null vectors], orthonormal
  Eigen::VectorXd inverse;           ///< diagonal of the pseudo-inverse
  double largest = 0, smallest = 0;  ///< eigenvalues outside the null space
};

/// By all eigenvalues. Only lower triangles are looked at.
Spectrum by_eigenvalues(const Eigen::MatrixXd& matrix) {
  Spectrum result;
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(matrix);
  if (eigen.info() != Eigen::Success || !eigen.eigenvalues().allFinite()) return result;
  const Eigen::VectorXd& values = eigen.eigenvalues();  // ascending
  const Eigen::Index n = values.size();
  const auto nulls = static_cast<Eigen::Index>((values.array() <= kRankTolerance * values[n - 1]).count());
  result.good = true;
  result.null = eigen.eigenvectors().leftCols(nulls);
  result.largest = values[n - 1];
  result.smallest = nulls < n ? values[nulls] : 0;
  result.inverse =
      eigen.eigenvectors().rightCols(n - nulls).array().square().matrix() * values.tail(n - nulls).cwiseInverse();
  return result;
}

/// By inverse iteration on more vectors than the null space has, and the inverse of the matrix with its null space
/// filled (Golub & Van Loan, "Matrix Computations", 4th ed., section 8.2.4).
Spectrum by_null_space(const Eigen::MatrixXd& matrix) {
  Spectrum result;
  const Eigen::Index n = matrix.rows();
  const auto full = matrix.selfadjointView<Eigen::Lower>();
  std::mt19937 random(1);  // numbers that are the same everywhere
  const auto any = [&](Eigen::Index columns) {
    return Eigen::MatrixXd::NullaryExpr(n, columns, [&] { return static_cast<double>(random()) / 4294967296.0 - 0.5; });
  };
  Eigen::VectorXd power = any(1);
  for (int i = 0; i < 30; ++i) power = (full * power.normalized()).eval();
  result.largest = power.norm();
  Eigen::MatrixXd shifted = matrix;
  shifted.diagonal().array() += 10 * kRankTolerance * result.largest;
  const Eigen::LLT<Eigen::MatrixXd> factor(shifted);
  if (factor.info() != Eigen::Success) return result;
  for (Eigen::Index columns = 8;; columns = std::min(2 * columns, n)) {
    Eigen::MatrixXd x = any(columns);
    for (int i = 0; i < 6; ++i)
      x = Eigen::HouseholderQR<Eigen::MatrixXd>(factor.solve(x)).householderQ() * Eigen::MatrixXd::Identity(n, columns);
    const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> ritz(x.transpose() * (full * x));
    const Eigen::VectorXd& values = ritz.eigenvalues();
    if (!values.allFinite()) return result;
    const auto nulls = static_cast<Eigen::Index>((values.array() <= kRankTolerance * result.largest).count());
    if (nulls == columns && columns < n) continue;  // there may be more
    result.null = x * ritz.eigenvectors().leftCols(nulls);
    result.smallest = nulls < columns ? values[nulls] : 0;
    break;
  }
  shifted = matrix;
  // Eigen divides by the number of columns.
  if (result.null.cols() > 0) shifted.selfadjointView<Eigen::Lower>().rankUpdate(result.null);
  const Eigen::LLT<Eigen::MatrixXd> filled(shifted);
  if (filled.info() != Eigen::Success) return result;
  Eigen::MatrixXd root = Eigen::MatrixXd::Identity(n, n);
  filled.matrixL().solveInPlace(root);  // the inverse is root^T root
  result.inverse = root.colwise().squaredNorm().transpose() - result.null.rowwise().squaredNorm();
  result.inverse = result.inverse.cwiseMax(0.0);
  result.good = result.inverse.allFinite();
  return result;
}

}  // namespace

Covariance covariance(const NormalEquations& equations, const std::vector<bool>& held,
                      const std::vector<Combination>& combinations) {
  Covariance result;
  result.sigma.assign(equations.n, std::numeric_limits<double>::quiet_NaN());
  result.determined.assign(equations.n, 0.0);
  result.combination_determined.assign(combinations.size(), false);
  std::vector<std::size_t> free;
  std::vector<Eigen::Index> place(equations.n, -1);
  for (std::size_t k = 0; k < equations.n; ++k) {
    if (held[k] || !(equations.diagonal(k) > 0)) continue;
    place[k] = static_cast<Eigen::Index>(free.size());
    free.push_back(k);
  }
  if (free.empty()) return result;
  const auto m = static_cast<Eigen::Index>(free.size());
  Eigen::VectorXd scale(m);
  for (Eigen::Index i = 0; i < m; ++i) scale[i] = 1 / std::sqrt(equations.diagonal(free[static_cast<std::size_t>(i)]));
  Eigen::MatrixXd matrix(m, m);
  for (Eigen::Index j = 0; j < m; ++j)
    for (Eigen::Index i = j; i < m; ++i)
      matrix(i, j) =
          scale[i] * scale[j] *
          equations.matrix[free[static_cast<std::size_t>(i)] * equations.n + free[static_cast<std::size_t>(j)]];
  Spectrum spectrum;
  if (m > kLarge) spectrum = by_null_space(matrix);
  if (!spectrum.good) spectrum = by_eigenvalues(matrix);
  if (!spectrum.good) return result;
  result.rank = static_cast<std::size_t>(m - spectrum.null.cols());
  if (result.rank == 0) return result;
  result.condition = spectrum.largest / spectrum.smallest;
  for (Eigen::Index i = 0; i < m; ++i) {
    const std::size_t k = free[static_cast<std::size_t>(i)];
    result.determined[k] = 1 - spectrum.null.row(i).squaredNorm();
    result.sigma[k] = scale[i] * std::sqrt(spectrum.inverse[i]);
  }
  for (std::size_t c = 0; c < combinations.size(); ++c) {
    Eigen::VectorXd row = Eigen::VectorXd::Zero(m);
    for (const auto& [k, coefficient] : combinations[c])
      if (place[k] >= 0) row[place[k]] += scale[place[k]] * coefficient;
    result.combination_determined[c] = (spectrum.null.transpose() * row).norm() <= kNullPart * row.norm();
  }
  return result;
}

}  // namespace rimetree::fit
