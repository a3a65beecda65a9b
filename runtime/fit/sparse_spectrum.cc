#include <Eigen/QR>
#include <Eigen/SparseCholesky>
#include <algorithm>
#include <vector>

#include "runtime/fit/block_factor.h"
#include "runtime/fit/scaled_matrix.h"
#include "runtime/fit/spectrum.h"

namespace rimetree::fit {

namespace {

using Sparse = Eigen::SparseMatrix<double>;
using Factor = Eigen::SimplicialLDLT<Sparse, Eigen::Lower>;

/// Of the inverse, elements of the lower triangle where the factor has some, and the diagonal; permuted as the factor
/// is.
struct SparseInverse {
  std::vector<double> elements;
  Eigen::VectorXd diagonal;
};

// Of Z = (L D L^T)^-1 the elements where L has some follow from those in later columns
// (Takahashi, Fagan & Chen 1973; Erisman & Tinney 1975, Comm. ACM 18, 177), in as many operations as the factors took.
SparseInverse inverse_of(const Factor& factor) {
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
  return {std::move(inverse), std::move(diagonal)};
}

/// An element of the inverse of the matrix that was factorised; 0 where the factor has none.
double element_of(const Factor& factor, const SparseInverse& inverse, Eigen::Index i, Eigen::Index j) {
  const Sparse& lower = factor.matrixL().nestedExpression();
  int row = factor.permutationP().indices()[i], column = factor.permutationP().indices()[j];
  if (row < column) std::swap(row, column);
  const int* begin = lower.innerIndexPtr() + lower.outerIndexPtr()[column];
  const int* end = lower.innerIndexPtr() + lower.outerIndexPtr()[column + 1];
  const int* found = std::lower_bound(begin, end, row);
  return found != end && *found == row ? inverse.elements[static_cast<std::size_t>(found - lower.innerIndexPtr())] : 0;
}

/// What is asked of the factors of a matrix, in some order of elimination.
class Inverter {
 public:
  virtual ~Inverter() = default;
  virtual Eigen::MatrixXd times(const Eigen::MatrixXd& x) const = 0;
  /// Finds vectors of the null space that have few elements, and makes their eigenvalues 1. `known`: as in Wanted.
  virtual Sparse fill_null_space(const Eigen::MatrixXd& known) = 0;
  virtual void add_to_diagonal(Eigen::Index k, double value) = 0;
  virtual bool factorise(double shift) = 0;
  virtual Eigen::MatrixXd solve(const Eigen::MatrixXd& x) const = 0;
  /// Of the inverse: the diagonal, and the wanted pairs.
  virtual void invert(const Wanted& wanted, Eigen::VectorXd& diagonal, Eigen::VectorXd& elements) const = 0;
};

class SparseInverter final : public Inverter {
 public:
  explicit SparseInverter(Sparse matrix) : matrix_(std::move(matrix)) { factor_.analyzePattern(matrix_); }
  Eigen::MatrixXd times(const Eigen::MatrixXd& x) const override { return matrix_.selfadjointView<Eigen::Lower>() * x; }
  Sparse fill_null_space(const Eigen::MatrixXd& /*known*/) override { return Sparse(matrix_.rows(), 0); }
  void add_to_diagonal(Eigen::Index k, double value) override { matrix_.coeffRef(k, k) += value; }
  bool factorise(double shift) override {
    factor_.setShift(shift);
    factor_.factorize(matrix_);
    return factor_.info() == Eigen::Success && (factor_.vectorD().array() > 0).all();
  }
  Eigen::MatrixXd solve(const Eigen::MatrixXd& x) const override { return factor_.solve(x); }
  void invert(const Wanted& wanted, Eigen::VectorXd& diagonal, Eigen::VectorXd& elements) const override {
    const SparseInverse inverse = inverse_of(factor_);
    diagonal = factor_.permutationPinv() * inverse.diagonal;
    elements.resize(static_cast<Eigen::Index>(wanted.pairs.size()));
    for (std::size_t k = 0; k < wanted.pairs.size(); ++k)
      elements[static_cast<Eigen::Index>(k)] =
          element_of(factor_, inverse, wanted.pairs[k].first, wanted.pairs[k].second);
  }

 private:
  Sparse matrix_;
  Factor factor_;
};

class BlockInverter final : public Inverter {
 public:
  BlockInverter(const NormalEquations& equations, const Eigen::VectorXd& scale) { factor_.set(equations, scale); }
  Eigen::MatrixXd times(const Eigen::MatrixXd& x) const override { return factor_.times(x); }
  Sparse fill_null_space(const Eigen::MatrixXd& known) override;
  void add_to_diagonal(Eigen::Index k, double value) override {
    factor_.add_to_diagonal(static_cast<std::size_t>(k), value);
  }
  bool factorise(double shift) override { return factor_.factorise(shift); }
  Eigen::MatrixXd solve(const Eigen::MatrixXd& x) const override { return factor_.solve(x); }
  void invert(const Wanted& wanted, Eigen::VectorXd& diagonal, Eigen::VectorXd& elements) const override {
    factor_.invert(wanted.pairs, diagonal, elements);
  }

 private:
  BlockFactor factor_;
};

/// By block: known vectors that are 0 outside of it.
std::vector<std::vector<Eigen::Index>> known_by_block(const BlockOrder& order, const Eigen::MatrixXd& known) {
  constexpr double kOutside = 1e-20;  // the square of rounding errors, with some room
  std::vector<std::vector<Eigen::Index>> found(order.blocks.size());
  for (Eigen::Index c = 0; c < known.cols(); ++c) {
    Eigen::Index peak = 0;
    known.col(c).cwiseAbs().maxCoeff(&peak);
    const std::int32_t b = order.block_of[static_cast<std::size_t>(peak)];
    if (b < 0) continue;
    double outside = 0;
    for (Eigen::Index k = 0; k < known.rows(); ++k)
      if (order.block_of[static_cast<std::size_t>(k)] != b) outside += known(k, c) * known(k, c);
    if (outside < kOutside) found[static_cast<std::size_t>(b)].push_back(c);
  }
  return found;
}

// What the equations of a block do not see, no equation sees, as the matrix is not negative. So each block, such as the
// gains of one time, has vectors of its own, the phase that all its antennas have in common.
Sparse BlockInverter::fill_null_space(const Eigen::MatrixXd& known) {
  constexpr Eigen::Index kFew = 32;  // unknowns, of which all eigenvalues are found sooner
  const BlockOrder& order = factor_.order();
  const std::vector<std::vector<Eigen::Index>> known_of = known_by_block(order, known);
  std::vector<Eigen::Triplet<double>> elements;
  int columns = 0;
  for (std::size_t b = 0; b < order.blocks.size(); ++b) {
    const std::vector<Eigen::Index> rows(order.blocks[b].unknowns.begin(), order.blocks[b].unknowns.end());
    const Eigen::MatrixXd& own = factor_.own(b);
    const Wanted wanted{Eigen::MatrixXd(own.rows(), 0), {}, known(rows, known_of[b]), false};
    Spectrum spectrum;
    if (own.rows() > kFew) spectrum = spectrum_by_null_space(own, wanted);
    if (!spectrum.good) spectrum = spectrum_by_eigenvalues(own, wanted);
    if (!spectrum.good || spectrum.null.cols() == 0) continue;
    for (int c = 0; c < spectrum.null.cols(); ++c, ++columns)
      for (Sparse::InnerIterator e(spectrum.null, c); e; ++e)
        elements.emplace_back(static_cast<int>(rows[static_cast<std::size_t>(e.row())]), columns, e.value());
    factor_.add_to_block(b, Eigen::MatrixXd(spectrum.null * spectrum.null.transpose()));
  }
  Sparse null(known.rows(), columns);
  null.setFromTriplets(elements.begin(), elements.end());
  return null;
}

/// Orthonormal columns for what is left of `known` outside of `null`.
Eigen::MatrixXd known_outside(const Sparse& null, const Eigen::MatrixXd& known) {
  constexpr double kNone = 1e-3;  // of a vector
  if (known.cols() == 0 || null.cols() == 0) return known;
  Eigen::ColPivHouseholderQR<Eigen::MatrixXd> factors(without(null, known));
  factors.setThreshold(kNone / std::max(factors.maxPivot(), kNone));
  return factors.householderQ() * Eigen::MatrixXd::Identity(known.rows(), factors.rank());
}

Sparse side_by_side(const Sparse& a, const Eigen::MatrixXd& b) {
  Sparse both(a.rows(), a.cols() + b.cols());
  both.leftCols(a.cols()) = a;
  both.rightCols(b.cols()) = b.sparseView();
  return both;
}

// With unknowns held that the null space moves, as many as it has dimensions, the matrix has an inverse G, and the
// pseudo-inverse is P G P with the projector P onto what is determined. Of a part N of the null space that was filled
// with ones the inverse has N N^T more.
Spectrum spectrum_by_inverse(Eigen::Index n, Inverter& matrix, const Wanted& wanted) {
  Spectrum result;
  const Multiply multiply = [&](const Eigen::MatrixXd& x) { return matrix.times(x); };
  const Multiply solve = [&](const Eigen::MatrixXd& x) { return matrix.solve(x); };
  result.largest = largest_eigenvalue(n, multiply);
  const Sparse filled = matrix.fill_null_space(wanted.known);
  if (!matrix.factorise(10 * kRankTolerance * result.largest)) return result;
  const NullSpace others = find_null_space(n, known_outside(filled, wanted.known), multiply, solve, result.largest);
  if (!others.good) return result;
  result.null = side_by_side(filled, others.vectors);
  result.smallest = others.smallest;
  if (!wanted.inverse) {
    result.good = true;
    return result;
  }
  const Eigen::Index nulls = others.vectors.cols();
  if (nulls > 0) {
    const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> pivoted(others.vectors.transpose());
    for (Eigen::Index k = 0; k < nulls; ++k) matrix.add_to_diagonal(pivoted.colsPermutation().indices()[k], 1);
  }
  if (!matrix.factorise(0)) return result;
  matrix.invert(wanted, result.inverse, result.elements);
  if (nulls > 0) {
    const Eigen::MatrixXd images = matrix.solve(others.vectors), middle = others.vectors.transpose() * images;
    result.inverse += ((others.vectors * middle - 2 * images).cwiseProduct(others.vectors)).rowwise().sum();
    for (std::size_t k = 0; k < wanted.pairs.size(); ++k) {
      const auto [i, j] = wanted.pairs[k];
      result.elements[static_cast<Eigen::Index>(k)] += (others.vectors.row(i) * middle).dot(others.vectors.row(j)) -
                                                       images.row(i).dot(others.vectors.row(j)) -
                                                       images.row(j).dot(others.vectors.row(i));
    }
  }
  if (filled.cols() > 0) {
    result.inverse -= squared_rows(filled);
    const Eigen::SparseMatrix<double, Eigen::RowMajor> by_row = filled;
    for (std::size_t k = 0; k < wanted.pairs.size(); ++k)
      result.elements[static_cast<Eigen::Index>(k)] -=
          by_row.row(wanted.pairs[k].first).dot(by_row.row(wanted.pairs[k].second));
  }
  result.inverse = result.inverse.cwiseMax(0.0);
  if (wanted.columns.cols() > 0)
    result.images = without(result.null, matrix.solve(without(result.null, wanted.columns)));
  result.good = result.inverse.allFinite();
  return result;
}

}  // namespace

Spectrum spectrum_of_sparse(const NormalEquations& equations, const Eigen::VectorXd& scale, const Wanted& wanted) {
  if (equations.sparsity->order() != nullptr) {
    BlockInverter matrix(equations, scale);
    return spectrum_by_inverse(scale.size(), matrix, wanted);
  }
  SparseInverter matrix(scaled_sparse(equations, scale));
  return spectrum_by_inverse(scale.size(), matrix, wanted);
}

}  // namespace rimetree::fit
