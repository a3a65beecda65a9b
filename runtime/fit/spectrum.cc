#include "runtime/fit/spectrum.h"

#include <Eigen/Eigenvalues>
#include <Eigen/QR>
#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/fit/dense_factor.h"

namespace rimetree::fit {

namespace {

/// The same numbers everywhere.
Eigen::MatrixXd any(Eigen::Index n, Eigen::Index columns) {
  std::mt19937 random(1);
  return Eigen::MatrixXd::NullaryExpr(n, columns, [&] { return static_cast<double>(random()) / 4294967296.0 - 0.5; });
}

/// How many steps of inverse iteration take out of the null space what belongs to the smallest other eigenvalue
/// (relative to the largest), which data hardly determine: each leaves the part shift / (eigenvalue + shift) of it.
int iterations_until_apart(double eigenvalue) {
  constexpr double kApart = 1e-9, kShift = 10 * kRankTolerance;
  constexpr int kMost = 200;
  return static_cast<int>(std::min<double>(kMost, std::ceil(std::log(kApart) / -std::log1p(eigenvalue / kShift))));
}

}  // namespace

Eigen::MatrixXd side_by_side(const Eigen::MatrixXd& a, const Eigen::MatrixXd& b) {
  if (a.cols() == 0) return b;
  Eigen::MatrixXd both(a.rows(), a.cols() + b.cols());
  both << a, b;
  return both;
}

Eigen::VectorXd squared_rows(const Eigen::SparseMatrix<double>& columns) {
  return columns.cwiseAbs2() * Eigen::VectorXd::Ones(columns.cols());
}

Spectrum spectrum_by_eigenvalues(const Eigen::MatrixXd& matrix, const Wanted& wanted) {
  Spectrum result;
  Eigen::MatrixXd rest = matrix;
  if (wanted.known.cols() > 0) {  // what is known comes last
    rest.triangularView<Eigen::StrictlyUpper>() = rest.transpose();
    const double last = 2 * rest.trace();  // more than any eigenvalue
    rest = without(wanted.known, without(wanted.known, rest).transpose());
    rest += last * wanted.known * wanted.known.transpose();
  }
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> eigen(rest);
  if (eigen.info() != Eigen::Success || !eigen.eigenvalues().allFinite()) return result;
  const Eigen::Index n = matrix.rows() - wanted.known.cols();
  result.good = true;
  const Eigen::VectorXd values = eigen.eigenvalues().head(n);  // ascending
  result.largest = n > 0 ? values[n - 1] : 0;
  const auto nulls = static_cast<Eigen::Index>((values.array() <= kRankTolerance * result.largest).count());
  result.null = side_by_side(wanted.known, eigen.eigenvectors().leftCols(nulls)).sparseView();
  result.smallest = nulls < n ? values[nulls] : 0;
  const auto others = eigen.eigenvectors().middleCols(nulls, n - nulls);
  const Eigen::VectorXd inverses = values.tail(n - nulls).cwiseInverse();
  result.inverse = others.array().square().matrix() * inverses;
  if (wanted.columns.cols() > 0) result.images = others * inverses.asDiagonal() * (others.transpose() * wanted.columns);
  result.elements.resize(static_cast<Eigen::Index>(wanted.pairs.size()));
  for (std::size_t k = 0; k < wanted.pairs.size(); ++k) {
    const auto [i, j] = wanted.pairs[k];
    result.elements[static_cast<Eigen::Index>(k)] = others.row(i).cwiseProduct(others.row(j)).dot(inverses);
  }
  return result;
}

double largest_eigenvalue(Eigen::Index n, const Multiply& matrix) {
  Eigen::MatrixXd power = any(n, 1);
  for (int i = 0; i < 30; ++i) power = matrix(power.normalized());
  return power.norm();
}

NullSpace find_null_space(Eigen::Index n, const Eigen::MatrixXd& known, const Multiply& matrix, const Multiply& solve,
                          double largest) {
  constexpr Eigen::Index kFirst = 8;  // vectors
  constexpr int kLook = 2, kSteps = 6;
  const Eigen::Index unknown = n - known.cols();
  if (unknown <= 0) return {true, known, 0};
  for (Eigen::Index columns = std::min(kFirst, unknown);; columns = std::min(2 * columns, unknown)) {
    Eigen::MatrixXd x = any(n, columns);
    Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> ritz;
    Eigen::Index nulls = 0;
    for (int done = 0, wanted = kLook; done < wanted;) {
      for (; done < wanted; ++done)
        x = Eigen::HouseholderQR<Eigen::MatrixXd>(without(known, solve(without(known, x)))).householderQ() *
            Eigen::MatrixXd::Identity(n, columns);
      ritz.compute(x.transpose() * matrix(x));
      if (!ritz.eigenvalues().allFinite()) return {};
      nulls = (ritz.eigenvalues().array() <= kRankTolerance * largest).count();
      if (nulls == columns && columns < unknown) break;  // there may be more
      wanted = kSteps;
      if (nulls > 0 && nulls < columns)
        wanted = std::max(wanted, iterations_until_apart(ritz.eigenvalues()[nulls] / largest));
    }
    const Eigen::VectorXd& values = ritz.eigenvalues();
    if (nulls == columns && columns < unknown) continue;
    return {true, side_by_side(known, x * ritz.eigenvectors().leftCols(nulls)), nulls < columns ? values[nulls] : 0};
  }
}

Spectrum spectrum_by_null_space(const Eigen::MatrixXd& matrix, const Wanted& wanted) {
  Spectrum result;
  const Eigen::Index n = matrix.rows();
  const Multiply multiply = [&](const Eigen::MatrixXd& x) -> Eigen::MatrixXd {
    if (x.cols() == 1) return matrix.selfadjointView<Eigen::Lower>() * x.col(0);  // several would be packed first
    return matrix.selfadjointView<Eigen::Lower>() * x;
  };
  result.largest = largest_eigenvalue(n, multiply);
  Eigen::MatrixXd shifted = matrix;
  shifted.diagonal().array() += 10 * kRankTolerance * result.largest;
  if (!factorise_lower(shifted)) return result;
  const Multiply solve = [&](const Eigen::MatrixXd& x) {
    Eigen::MatrixXd y = x;
    solve_lower(shifted, y);
    solve_lower_transposed(shifted, y);
    return y;
  };
  const NullSpace found = find_null_space(n, wanted.known, multiply, solve, result.largest);
  if (!found.good) return result;
  result.null = found.vectors.sparseView();
  result.smallest = found.smallest;
  if (!wanted.inverse) {
    result.inverse = Eigen::VectorXd::Zero(n);
    result.good = true;
    return result;
  }
  shifted = matrix;
  const DenseView null = view(found.vectors);
  add_product(shifted, null, null.transposed(), found.vectors.cols(), false, Triangle::lower);
  if (!factorise_lower(shifted)) return result;
  Eigen::MatrixXd root = Eigen::MatrixXd::Zero(n, n);
  invert_lower(shifted, root);     // the inverse is root^T root
  if (found.vectors.cols() > 0) {  // of it what is not in the null space
    Eigen::MatrixXd of_null = Eigen::MatrixXd::Zero(n, found.vectors.cols());
    add_product(of_null, view(root), null, n);
    add_product(root, view(of_null), null.transposed(), found.vectors.cols(), true);
  }
  result.inverse = root.colwise().squaredNorm().transpose();
  if (wanted.columns.cols() > 0) result.images = without(found.vectors, solve(wanted.columns));
  result.elements.resize(static_cast<Eigen::Index>(wanted.pairs.size()));
  for (std::size_t k = 0; k < wanted.pairs.size(); ++k) {
    const auto [i, j] = wanted.pairs[k];
    result.elements[static_cast<Eigen::Index>(k)] = root.col(i).dot(root.col(j));
  }
  result.good = result.inverse.allFinite();
  return result;
}

}  // namespace rimetree::fit
