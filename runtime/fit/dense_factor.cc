// All of these halve the matrix until little is left of it: what remains are products.
#include "runtime/fit/dense_factor.h"

#include <Eigen/Cholesky>

namespace rimetree::fit {

namespace {

using Eigen::Index;

// Where Eigen takes over; a multiple of the rows of a tile, for halves that are.
constexpr Index kSmall = 24;

Index half(Index n) { return (n / 2 + kSmall - 1) / kSmall * kSmall; }

/// x = x L^-T.
void solve_from_the_right(const DenseConstRef& lower, DenseRef x) {
  const Index n = lower.rows();
  if (n <= kSmall) {
    lower.transpose().triangularView<Eigen::Upper>().solveInPlace<Eigen::OnTheRight>(x);
    return;
  }
  const Index some = half(n), rest = n - some;
  solve_from_the_right(lower.topLeftCorner(some, some), x.leftCols(some));
  add_product(x.rightCols(rest), view(x.leftCols(some)), view(lower.bottomLeftCorner(rest, some)).transposed(), some,
              true);
  solve_from_the_right(lower.bottomRightCorner(rest, rest), x.rightCols(rest));
}

}  // namespace

DenseView view(const DenseConstRef& matrix) { return {matrix.data(), 1, matrix.outerStride()}; }

void add_product(DenseRef c, const DenseView& a, const DenseView& b, Index k, bool subtract, Triangle triangle) {
  const auto size = [](Index n) { return static_cast<std::size_t>(n); };
  add_product({a, b, size(c.rows()), size(c.cols()), size(k), subtract, triangle}, c.data(), size(c.outerStride()));
}

bool factorise_lower(DenseRef matrix) {
  const Index n = matrix.rows();
  if (n <= kSmall) {
    const Eigen::LLT<Eigen::Ref<Eigen::MatrixXd>> factor(matrix);
    return factor.info() == Eigen::Success;
  }
  const Index some = half(n), rest = n - some;
  if (!factorise_lower(matrix.topLeftCorner(some, some))) return false;
  DenseRef below = matrix.bottomLeftCorner(rest, some);
  solve_from_the_right(matrix.topLeftCorner(some, some), below);
  add_product(matrix.bottomRightCorner(rest, rest), view(below), view(below).transposed(), some, true, Triangle::lower);
  return factorise_lower(matrix.bottomRightCorner(rest, rest));
}

void solve_lower(const DenseConstRef& lower, DenseRef x) {
  const Index n = lower.rows();
  if (x.size() == 0) return;  // which Eigen has no address for
  if (n <= kSmall) {
    lower.triangularView<Eigen::Lower>().solveInPlace(x);
    return;
  }
  const Index some = half(n), rest = n - some;
  solve_lower(lower.topLeftCorner(some, some), x.topRows(some));
  add_product(x.bottomRows(rest), view(lower.bottomLeftCorner(rest, some)), view(x.topRows(some)), some, true);
  solve_lower(lower.bottomRightCorner(rest, rest), x.bottomRows(rest));
}

void solve_lower_transposed(const DenseConstRef& lower, DenseRef x) {
  const Index n = lower.rows();
  if (x.size() == 0) return;
  if (n <= kSmall) {
    lower.transpose().triangularView<Eigen::Upper>().solveInPlace(x);
    return;
  }
  const Index some = half(n), rest = n - some;
  solve_lower_transposed(lower.bottomRightCorner(rest, rest), x.bottomRows(rest));
  add_product(x.topRows(some), view(lower.bottomLeftCorner(rest, some)).transposed(), view(x.bottomRows(rest)), rest,
              true);
  solve_lower_transposed(lower.topLeftCorner(some, some), x.topRows(some));
}

void invert_lower(const DenseConstRef& lower, DenseRef x) {
  const Index n = lower.rows();
  if (n <= kSmall) {
    const Eigen::MatrixXd inverse = lower.triangularView<Eigen::Lower>().solve(Eigen::MatrixXd::Identity(n, n));
    x.triangularView<Eigen::Lower>() = inverse;
    return;
  }
  // Of [A 0; B C] it is [A^-1 0; -C^-1 B A^-1 C^-1].
  const Index some = half(n), rest = n - some;
  invert_lower(lower.topLeftCorner(some, some), x.topLeftCorner(some, some));
  invert_lower(lower.bottomRightCorner(rest, rest), x.bottomRightCorner(rest, rest));
  DenseRef below = x.bottomLeftCorner(rest, some);
  below.setZero();
  const Eigen::MatrixXd inverse = x.topLeftCorner(some, some).triangularView<Eigen::Lower>();
  add_product(below, view(lower.bottomLeftCorner(rest, some)), view(inverse), some, true);
  solve_lower(lower.bottomRightCorner(rest, rest), below);
}

}  // namespace rimetree::fit
