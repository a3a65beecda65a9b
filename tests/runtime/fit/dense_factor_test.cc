// Products and factors that use the machine's vectors, against plain sums in longer numbers.
#include "runtime/fit/dense_factor.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rimetree::fit {
namespace {

using Eigen::Index;
using Eigen::MatrixXd;

MatrixXd random_matrix(Index rows, Index columns, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  return MatrixXd::NullaryExpr(rows, columns, [&] { return normal(random); });
}

/// Of positive eigenvalues, with a condition of some thousands at most.
MatrixXd positive_matrix(Index n) {
  const MatrixXd root = random_matrix(n, 2 * n, 11);
  return root * root.transpose();
}

// Sizes about those of tiles (3 vectors by 4 or 8 numbers), of what is copied (256 deep) and of halves.
const Index kSizes[] = {1, 2, 5, 23, 24, 25, 47, 61, 97, 150, 301};

struct Shape {
  Index m, n, k;
};

void expect_product(const Shape& shape, bool transposed, bool subtract, Triangle triangle) {
  const auto [m, n, k] = shape;
  const MatrixXd a = random_matrix(m, k, 1), b = random_matrix(transposed ? n : k, transposed ? k : n, 2);
  const MatrixXd before = random_matrix(m + 3, n, 3);
  MatrixXd c = before;
  add_product(c.topRows(m), view(a), transposed ? view(b).transposed() : view(b), k, subtract, triangle);
  EXPECT_EQ(c.bottomRows(3), before.bottomRows(3));  // of the next columns' begin, nothing is written
  for (Index j = 0; j < n; ++j)
    for (Index i = 0; i < m; ++i) {
      if (triangle == Triangle::lower && i < j) {
        EXPECT_EQ(c(i, j), before(i, j));
        continue;
      }
      long double sum = 0, size = std::abs(before(i, j));
      for (Index l = 0; l < k; ++l) {
        const long double one = static_cast<long double>(a(i, l)) * (transposed ? b(j, l) : b(l, j));
        sum += one, size += std::abs(one);
      }
      const long double expected = before(i, j) + (subtract ? -sum : sum);
      // k + 1 additions, each rounded by half an epsilon of at most `size`.
      ASSERT_NEAR(c(i, j), static_cast<double>(expected), static_cast<double>((k + 2) * 1.2e-16L * size))
          << m << " x " << n << " x " << k << " at " << i << ", " << j;
    }
}

TEST(DenseProduct, IsTheSumOfProductsOfAnySize) {
  for (const Shape& shape : {Shape{1, 1, 1},
                             {3, 5, 2},
                             {24, 8, 7},
                             {25, 9, 257},
                             {13, 67, 300},
                             {101, 33, 512},
                             {290, 30, 20},
                             {11, 1050, 3}})
    for (const bool transposed : {false, true})
      for (const bool subtract : {false, true}) expect_product(shape, transposed, subtract, Triangle::all);
}

TEST(DenseProduct, LeavesWhatIsAboveTheDiagonal) {
  for (const Index n : {Index{1}, Index{7}, Index{12}, Index{24}, Index{59}, Index{300}, Index{1100}})
    expect_product({n, n, 5}, true, true, Triangle::lower);
}

TEST(DenseProduct, OfNothingChangesNothing) {
  MatrixXd c = random_matrix(4, 4, 1);
  const MatrixXd before = c, nothing(4, 0);
  add_product(c, view(nothing), view(nothing).transposed(), 0);
  EXPECT_EQ(c, before);
}

TEST(DenseFactor, IsThatOfTheLowerTriangle) {
  for (const Index n : kSizes) {
    const MatrixXd matrix = positive_matrix(n);
    MatrixXd factor = matrix;
    factor.triangularView<Eigen::StrictlyUpper>().setConstant(NAN);  // does not count
    ASSERT_TRUE(factorise_lower(factor)) << n;
    EXPECT_TRUE(n == 1 || std::isnan(factor(0, n - 1)));
    const MatrixXd lower = factor.triangularView<Eigen::Lower>();
    EXPECT_LT((lower * lower.transpose() - matrix).norm(), 1e-14 * static_cast<double>(n) * matrix.norm()) << n;
  }
}

TEST(DenseFactor, SolvesWithEitherSide) {
  for (const Index n : kSizes) {
    MatrixXd factor = positive_matrix(n);
    ASSERT_TRUE(factorise_lower(factor));
    const MatrixXd lower = factor.triangularView<Eigen::Lower>(), x = random_matrix(n, 9, 4);
    MatrixXd forward = x, back = x, inverse = MatrixXd::Zero(n, n);
    solve_lower(factor, forward);
    EXPECT_LT((lower * forward - x).norm(), 1e-12 * x.norm()) << n;
    solve_lower_transposed(factor, back);
    EXPECT_LT((lower.transpose() * back - x).norm(), 1e-12 * x.norm()) << n;
    invert_lower(factor, inverse);
    EXPECT_LT((lower * inverse - MatrixXd::Identity(n, n)).norm(), 1e-12 * static_cast<double>(n)) << n;
    EXPECT_EQ(inverse.triangularView<Eigen::StrictlyUpper>().toDenseMatrix().norm(), 0) << n;
  }
}

TEST(DenseFactor, SaysWhereAMatrixIsNotPositive) {
  for (const Index n : kSizes)
    for (const Index k : {Index{0}, n / 2, n - 1}) {
      MatrixXd matrix = positive_matrix(n);
      matrix(k, k) = -1;
      EXPECT_FALSE(factorise_lower(matrix)) << n << " at " << k;
    }
}

}  // namespace
}  // namespace rimetree::fit
