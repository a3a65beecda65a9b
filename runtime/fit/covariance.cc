#include "runtime/fit/covariance.h"

#include <Eigen/Eigenvalues>
#include <limits>

namespace rimetree::fit {

namespace {
// Eigenvalues below this fraction of the largest are what rounding leaves of zero.
constexpr double kRankTolerance = 1e-12;
// A combination with less than this part in the null space has none but for rounding.
constexpr double kNullPart = 1e-5;
}  // namespace

Covariance covariance(const NormalEquations& equations, const std::vector<bool>& held,
                      const std::vector<Combination>& combinations) {
  Covariance result;
  result.sigma.assign(equations.n, std::numeric_limits<double>::quiet_NaN());
  result.determined.assign(equations.n, 0.0);
  result.combination_determined.assign(combinations.size(), false);
  std::vector<std::size_t> free;
  for (std::size_t k = 0; k < equations.n; ++k)
    if (!held[k] && equations.diagonal(k) > 0) free.push_back(k);
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
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(matrix);
  if (eigen.info() != Eigen::Success || !eigen.eigenvalues().allFinite()) return result;
  const Eigen::VectorXd& values = eigen.eigenvalues();  // ascending
  const Eigen::MatrixXd& vectors = eigen.eigenvectors();
  const double largest = values[m - 1], least = kRankTolerance * largest;
  const Eigen::Index nulls = static_cast<Eigen::Index>((values.array() <= least).count());
  result.rank = static_cast<std::size_t>(m - nulls);
  if (result.rank == 0) return result;
  result.condition = largest / values[nulls];
  for (Eigen::Index i = 0; i < m; ++i) {
    const auto row = vectors.row(i).tail(m - nulls).array();
    const std::size_t k = free[static_cast<std::size_t>(i)];
    result.determined[k] = row.square().sum();
    result.sigma[k] = scale[i] * std::sqrt((row.square() / values.tail(m - nulls).transpose().array()).sum());
  }
  std::vector<Eigen::Index> place(equations.n, -1);
  for (Eigen::Index i = 0; i < m; ++i) place[free[static_cast<std::size_t>(i)]] = i;
  for (std::size_t c = 0; c < combinations.size(); ++c) {
    Eigen::VectorXd row = Eigen::VectorXd::Zero(m);
    for (const auto& [k, coefficient] : combinations[c])
      if (place[k] >= 0) row[place[k]] += scale[place[k]] * coefficient;
    result.combination_determined[c] = (vectors.leftCols(nulls).transpose() * row).norm() <= kNullPart * row.norm();
  }
  return result;
}

}  // namespace rimetree::fit
