// Error-free sums and products and the exact phase, against quadruple precision.
#include "runtime/math/double_double.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <random>

namespace rimetree {
namespace {

#ifdef __SIZEOF_FLOAT128__
using Quad = __float128;  // 113 bits: holds any product of two doubles exactly
#else
using Quad = long double;  // quadruple precision where there is no other
#endif

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

double rounded(Quad x) { return static_cast<double>(x); }
Quad absolute(Quad x) { return x < 0 ? -x : x; }
Quad value(DoubleDouble<double> x) { return static_cast<Quad>(x.hi) + static_cast<Quad>(x.lo); }
/// x less the nearest integer.
double fraction(Quad x) {
  const Quad whole = static_cast<Quad>(std::llrint(rounded(x)));
  return rounded(x - whole);
}

class Exact : public ::testing::Test {
 protected:
  double draw(double low, double high) {
    const double size = std::exp(std::uniform_real_distribution<double>(std::log(low), std::log(high))(random));
    return random() % 2 ? size : -size;
  }
  std::mt19937_64 random{5};
};

TEST_F(Exact, SumsLoseNothing) {
  for (int i = 0; i < 2000; ++i) {
    const double a = draw(1e-6, 1e6), b = draw(1e-6, 1e6);
    const auto s = exact::sum(a, b);
    EXPECT_EQ(s.hi, a + b);
    EXPECT_TRUE(value(s) == static_cast<Quad>(a) + static_cast<Quad>(b)) << a << " " << b;
  }
}

TEST_F(Exact, ProductsLoseNothing) {
  for (int i = 0; i < 2000; ++i) {
    const double a = draw(1e-100, 1e100), b = draw(1e-100, 1e100);
    const auto p = exact::product(a, b);
    EXPECT_EQ(p.hi, a * b);
    EXPECT_TRUE(value(p) == static_cast<Quad>(a) * static_cast<Quad>(b)) << a << " " << b;
  }
}

TEST_F(Exact, ProductsOfFloats) {
  for (int i = 0; i < 2000; ++i) {
    const auto a = static_cast<float>(draw(1e-6, 1e6)), b = static_cast<float>(draw(1e-6, 1e6));
    const auto p = exact::product(a, b);
    EXPECT_EQ(static_cast<double>(p.hi) + static_cast<double>(p.lo), static_cast<double>(a) * static_cast<double>(b));
  }
}

TEST_F(Exact, Quotients) {
  for (int i = 0; i < 2000; ++i) {
    const double a = draw(1e-3, 1e9), b = draw(1e-3, 1e9);
    const auto q =
        exact::quotient(DoubleDouble<double>{a, a * kEpsilon / 3}, DoubleDouble<double>{b, -b * kEpsilon / 5});
    const Quad expected = value({a, a * kEpsilon / 3}) / value({b, -b * kEpsilon / 5});
    EXPECT_LT(rounded(absolute(value(q) / expected - 1)), std::ldexp(1.0, -102));
  }
}

TEST_F(Exact, OffsetOfNNearAndFarFromThePhaseCentre) {
  for (int i = 0; i < 500; ++i) {
    const double l = draw(1e-9, 0.6), m = draw(1e-9, 0.6);
    const double n = std::sqrt(1 - l * l - m * m) * (i % 5 == 0 ? -1 : 1);
    const auto offset = n_offset_exact(l, m, n, 1);
    const Quad square = static_cast<Quad>(l) * l + static_cast<Quad>(m) * m;
    const Quad expected = n < 0 ? static_cast<Quad>(n) - 1 : -square / (static_cast<Quad>(n) + 1);
    EXPECT_LT(rounded(absolute(value(offset) - expected)), rounded(absolute(expected)) * std::ldexp(1.0, -98));
    EXPECT_EQ(n_offset_exact(l, m, n, 0).hi, n);
    EXPECT_EQ(n_offset_exact(l, m, n, 0).lo, 0);
  }
}

TEST_F(Exact, PhasesOfAMillionRadiansAreGoodToTheLastBit) {
  double worst = 0;
  for (int i = 0; i < 2000; ++i) {
    const double u = draw(1, 1e6), v = draw(1, 1e6), w = draw(1, 1e6), l = draw(1e-6, 0.5), m = draw(1e-6, 0.5);
    const double n = std::sqrt(1 - l * l - m * m), frequency = std::abs(draw(5e7, 5e10));
    const auto offset = n_offset_exact(l, m, n, 1);
    const auto path = path_difference_exact(u, v, w, l, m, offset);
    const Complex<double> got = fringe_exact(path, turns_per_metre(frequency));
    const Quad square = static_cast<Quad>(l) * l + static_cast<Quad>(m) * m;
    const Quad exact_path = static_cast<Quad>(u) * l + static_cast<Quad>(v) * m -
                            static_cast<Quad>(w) * (square / (static_cast<Quad>(n) + 1));
    const double turns = fraction(exact_path * frequency / 299792458);
    const long double phase = 6.28318530717958647692528676655900577L * turns;  // |turns| <= 1/2: rounding 3e-17
    worst = std::max({worst, std::abs(got.re - static_cast<double>(std::cos(phase))),
                      std::abs(got.im - static_cast<double>(std::sin(phase)))});
  }
  EXPECT_LT(worst, 4 * kEpsilon) << "2 pi times the turn's rounding, and that of sin and cos";
}

TEST_F(Exact, TheFringeHasTheSignOfTheConvention) {
  // A quarter of a turn ahead: exp(+i pi/2) = +i.
  const Complex<double> ahead = fringe_exact(DoubleDouble<double>{0.25, 0}, turns_per_metre(299792458.0));
  EXPECT_NEAR(ahead.re, 0, kEpsilon);
  EXPECT_NEAR(ahead.im, 1, kEpsilon);
}

TEST_F(Exact, DerivativesRideAlong) {
  using D = Dual<double>;
  const double u = 1234.5, v = -321, w = 77, l = 0.01, m = -0.02, n = std::sqrt(1 - l * l - m * m), frequency = 1.4e9;
  const double k = frequency / 299792458;
  // Along l, with n following: d(path)/dl = u - w l/n.
  const auto offset = n_offset_exact(D(l, 1), D(m), D(n, -l / n), 1);
  const auto path = path_difference_exact(D(u), D(v), D(w), D(l, 1), D(m), offset);
  const double slope = u - w * l / n;
  EXPECT_NEAR(path.hi.d, slope, 1e-12 * std::abs(slope));
  const Complex<D> fringe = fringe_exact(path, turns_per_metre(frequency));
  const double rate = 2 * kPi * k * slope;  // d(phase)/dl; d(exp(i phase)) = i exp(i phase) d(phase)
  EXPECT_NEAR(fringe.re.d, -fringe.im.v * rate, 1e-11 * rate);
  EXPECT_NEAR(fringe.im.d, fringe.re.v * rate, 1e-11 * rate);
}

}  // namespace
}  // namespace rimetree
