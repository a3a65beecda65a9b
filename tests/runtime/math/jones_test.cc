// 2x2 matrices against plain loops over std::complex<long double>.
#include "runtime/math/jones.h"

#include <gtest/gtest.h>

#include <complex>
#include <limits>
#include <random>

namespace rimetree {
namespace {

using Oracle = std::complex<long double>;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

struct Matrix {
  Oracle e[2][2];
};

Matrix wide(const Jones<double>& j) {
  const auto w = [](Complex<double> z) { return Oracle(z.re, z.im); };
  return {{{w(j.xx), w(j.xy)}, {w(j.yx), w(j.yy)}}};
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c{};
  for (int i = 0; i < 2; ++i)
    for (int k = 0; k < 2; ++k)
      for (int j = 0; j < 2; ++j) c.e[i][k] += a.e[i][j] * b.e[j][k];
  return c;
}

void expect_equal(const Jones<double>& got, const Matrix& expected, double tolerance) {
  const Matrix g = wide(got);
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j)
      EXPECT_LE(static_cast<double>(std::abs(g.e[i][j] - expected.e[i][j])), tolerance) << i << j;
}

class RandomJones : public ::testing::Test {
 protected:
  Jones<double> draw() {
    const auto z = [&] { return Complex<double>(uniform(random), uniform(random)); };
    return {z(), z(), z(), z()};
  }
  std::mt19937 random{11};
  std::uniform_real_distribution<double> uniform{-1, 1};
};

TEST_F(RandomJones, ProductsAndSums) {
  for (int i = 0; i < 100; ++i) {
    const Jones<double> a = draw(), b = draw();
    expect_equal(a * b, product(wide(a), wide(b)), 16 * kEpsilon);  // elements up to 4, a few roundings each
    Matrix sum = wide(a);
    for (int k = 0; k < 4; ++k) sum.e[k / 2][k % 2] += wide(b).e[k / 2][k % 2];
    expect_equal(a + b, sum, 4 * kEpsilon);
    const Complex<double> s(0.5, -2);
    expect_equal(s * a, product({{{Oracle(0.5L, -2), 0}, {0, Oracle(0.5L, -2)}}}, wide(a)), 8 * kEpsilon);
  }
}

TEST(Jones, ProductsDoNotCommute) {
  const Jones<double> a{{1, 0}, {2, 0}, {0, 0}, {1, 0}}, b{{1, 0}, {0, 0}, {0, 3}, {1, 0}};
  const Jones<double> ab = a * b;
  EXPECT_EQ(ab.xx, Complex<double>(1, 6));
  EXPECT_EQ(ab.xy, Complex<double>(2));
  EXPECT_EQ(ab.yx, Complex<double>(0, 3));
  EXPECT_EQ(ab.yy, Complex<double>(1));
}

TEST(Jones, HermitianTransposesAndConjugates) {
  const Jones<double> h = hermitian(Jones<double>{{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  EXPECT_EQ(h.xx, Complex<double>(1, -2));
  EXPECT_EQ(h.xy, Complex<double>(5, -6));
  EXPECT_EQ(h.yx, Complex<double>(3, -4));
  EXPECT_EQ(h.yy, Complex<double>(7, -8));
}

TEST_F(RandomJones, HermitianReversesProducts) {
  const Jones<double> a = draw(), b = draw();
  expect_equal(hermitian(a * b), wide(hermitian(b) * hermitian(a)), 16 * kEpsilon);
}

TEST_F(RandomJones, DeterminantAndInverse) {
  const Matrix one{{{1, 0}, {0, 1}}};
  for (int i = 0; i < 100; ++i) {
    const Jones<double> a = draw();
    const Matrix w = wide(a);
    const Oracle d = w.e[0][0] * w.e[1][1] - w.e[0][1] * w.e[1][0];
    EXPECT_LE(std::abs(Oracle(determinant(a).re, determinant(a).im) - d), 8 * kEpsilon);
    // The error of an inverse is the condition number (at most 8/|d| here) times a few roundings, relative to |1/d|.
    const double size = 1 / static_cast<double>(std::abs(d));
    expect_equal(inverse(a), {{{w.e[1][1] / d, -w.e[0][1] / d}, {-w.e[1][0] / d, w.e[0][0] / d}}},
                 64 * kEpsilon * size * std::max(1.0, size));
    expect_equal(a * inverse(a), one, 64 * kEpsilon * size * std::max(1.0, size));
  }
}

TEST(Jones, TheInverseOfASingularMatrixIsNotFinite) {
  const Jones<double> singular{{1, 0}, {2, 0}, {2, 0}, {4, 0}};
  EXPECT_FALSE(std::isfinite(inverse(singular).xx.re));
}

}  // namespace
}  // namespace rimetree
