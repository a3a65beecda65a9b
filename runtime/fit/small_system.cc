#include "runtime/fit/small_system.h"

#include <Eigen/Cholesky>
#include <Eigen/Core>

namespace rimetree::fit {

bool solve_small(std::span<const double> a, std::span<const double> b, std::span<double> x) {
  using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, 0, kMostOfSmall, kMostOfSmall>;
  using Vector = Eigen::Matrix<double, Eigen::Dynamic, 1, 0, kMostOfSmall, 1>;
  const auto n = static_cast<Eigen::Index>(b.size());
  const Eigen::Map<const Matrix> matrix(a.data(), n, n);
  if (!matrix.allFinite()) return false;  // Eigen takes a pivot of NaN for one of zero
  const Vector found = matrix.ldlt().solve(Eigen::Map<const Vector>(b.data(), n));
  if (!found.allFinite()) return false;
  Eigen::Map<Vector>(x.data(), n) = found;
  return true;
}

}  // namespace rimetree::fit
