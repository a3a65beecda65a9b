#include <Eigen/QR>
#include <Eigen/SparseCholesky>
#include <vector>

#include "runtime/fit/spectrum.h"

namespace rimetree::fit {

namespace {

using Sparse = Eigen::SparseMatrix<double>;
using Factor = Eigen::SimplicialLDLT<Sparse, Eigen::Lower>;

// The diagonal of the inverse: of Z = (L D L^T)^-1 the elements where L has some follow from those in later columns
// (Takahashi, Fagan & Chen 1973; Erisman & Tinney 1975, Comm. ACM 18, 177), in as many operations as the factors took.
Eigen::VectorXd diagonal_of_inverse(const Factor& factor) {
  const Sparse& lower = factor.matrixL().nestedExpression();
  const Eigen::VectorXd pivots = factor.vectorD();
  const int n = static_cast<int>(lower.rows());
  const int* begin = lower.outerIndexPtr();
  const int* row = lower.innerIndexPtr();
  const double* value = lower.valuePtr();
  std::vector<double> inverse(static_cast<std::size_t>(begin[n]), 0.0), sum;  // Z, where L has elements
  Eigen::VectorXd diagonal(n);
  std::vector<int> place(static_cast<std::size_t>(n), -1);  // in the column at hand, by row
  for (int j = n - 1; j >= 0; --j) {
    int first = begin[j];
    while (first < begin[j + 1] && row[first] <= j) ++first;
    const int rows = begin[j + 1] - first;
    sum.assign(static_cast<std::size_t>(rows), 0.0);
    for (int r = 0; r < rows; ++r) place[static_cast<std::size_t>(row[first + r])] = r;
    for (int c = 0; c < rows; ++c) {
      const int k = row[first + c];
      const double of_k = value[first + c];
      double across = diagonal[k] * of_k;
      for (int e = begin[k]; e < begin[k + 1]; ++e) {
        const int r = place[static_cast<std::size_t>(row[e])];
        if (r <= c) continue;  // not in this column, or seen from the other side
        across += inverse[static_cast<std::size_t>(e)] * value[first + r];
        sum[static_cast<std::size_t>(r)] += inverse[static_cast<std::size_t>(e)] * of_k;
      }
      sum[static_cast<std::size_t>(c)] += across;
    }
    double of_j = 1 / pivots[j];
    for (int r = 0; r < rows; ++r) {
      inverse[static_cast<std::size_t>(first + r)] = -sum[static_cast<std::size_t>(r)];
      of_j += sum[static_cast<std::size_t>(r)] * value[first + r];
      place[static_cast<std::size_t>(row[first + r])] = -1;
    }
    diagonal[j] = of_j;
  }
  return factor.permutationPinv() * diagonal;
}

}  // namespace

// With unknowns held that the null space moves, as many as it has dimensions, the matrix has an inverse G, and the
// pseudo-inverse is P G P with the projector P onto what is determined.
Spectrum spectrum_of_sparse(const Sparse& matrix) {
  Spectrum result;
  const Eigen::Index n = matrix.rows();
  const Multiply multiply = [&](const Eigen::MatrixXd& x) -> Eigen::MatrixXd {
    return matrix.selfadjointView<Eigen::Lower>() * x;
  };
  result.largest = largest_eigenvalue(n, multiply);
  Factor factor;
  factor.analyzePattern(matrix);
  factor.setShift(10 * kRankTolerance * result.largest);
  factor.factorize(matrix);
  const Multiply solve = [&](const Eigen::MatrixXd& x) -> Eigen::MatrixXd { return factor.solve(x); };
  if (factor.info() != Eigen::Success || !find_null_space(n, multiply, solve, result)) return result;
  Sparse filled = matrix;
  const Eigen::Index nulls = result.null.cols();
  if (nulls > 0) {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> pivoted(result.null.transpose());
    for (Eigen::Index k = 0; k < nulls; ++k) {
      const Eigen::Index held = pivoted.colsPermutation().indices()[k];
      filled.coeffRef(held, held) += 1;
    }
  }
  factor.setShift(0);
  factor.factorize(filled);
  if (factor.info() != Eigen::Success || !(factor.vectorD().array() > 0).all()) return result;
  result.inverse = diagonal_of_inverse(factor);
  if (nulls > 0) {
    const Eigen::MatrixXd images = factor.solve(result.null), middle = result.null.transpose() * images;
    result.inverse += ((result.null * middle - 2 * images).cwiseProduct(result.null)).rowwise().sum();
  }
  result.inverse = result.inverse.cwiseMax(0.0);
  result.good = result.inverse.allFinite();
  return result;
}

}  // namespace rimetree::fit
