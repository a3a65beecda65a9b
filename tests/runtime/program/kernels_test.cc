// Each elementary operation against the C library in extended precision, over all magnitudes and what is no ordinary
// number; and that a value depends on its operands only.
#include "runtime/program/kernels.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "runtime/program/pairs.h"

namespace rimetree::program {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity(), kNan = std::numeric_limits<double>::quiet_NaN();

/// Numbers of all magnitudes from 2^low to 2^high, of both signs, and some that are hard.
std::vector<double> arguments(int low, int high) {
  std::vector<double> x{0.0,    -0.0,   1.0,   -1.0,    0.5,     1.5707963267948966, 3.141592653589793, 0x1p-1022,
                        5e-324, 0x1p60, 1e300, 1.7e308, -5e-324, -0x1p-1022,         1048575.9,         1048576.0,
                        5e15,   709.7,  -744., -708.396};
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> mantissa(1, 2), exponent(low, high);
  for (int i = 0; i < 60000; ++i) {
    const double size = std::ldexp(mantissa(random), static_cast<int>(std::floor(exponent(random))));
    x.push_back(random() % 2 == 0 ? size : -size);
  }
  for (int k = 1; k < 2000; ++k)  // where sines vanish
    for (const double at : {k * 1.5707963267948966, std::nextafter(k * 1.5707963267948966, 0.0)}) x.push_back(at);
  while (x.size() % kStep != 0) x.push_back(1);
  return x;
}

std::vector<double> run(Op op, std::vector<double> x, std::vector<double> y = {}) {
  if (y.empty()) y = x;
  std::vector<double> out(x.size()), second(x.size());
  kernel_of(op)({{out.data(), second.data()}, {{x.data(), ~std::size_t{0}}, {y.data(), ~std::size_t{0}}, {}, {}}},
                x.size());
  return out;
}

/// The difference in units in the last place of the wanted number, of which those below the smallest normal one are all
/// alike.
double ulps(double got, long double wanted) {
  if (std::isnan(got) || std::isnan(wanted)) return std::isnan(got) && std::isnan(wanted) ? 0 : kInfinity;
  const double rounded = static_cast<double>(wanted);
  if (got == rounded) return std::signbit(got) == std::signbit(rounded) ? 0 : kInfinity;
  if (std::isinf(got) || std::isinf(rounded)) return kInfinity;
  int exponent = 0;
  std::frexp(rounded, &exponent);
  return static_cast<double>(std::fabs(got - wanted) / std::ldexp(1.0L, std::max(exponent - 53, -1074)));
}

void expect_close(Op op, long double (*exact)(long double), int low, int high, double limit) {
  const std::vector<double> x = arguments(low, high), y = run(op, x);
  double worst = 0, at = 0;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (const double error = ulps(y[i], exact(x[i])); error > worst) worst = error, at = x[i];
  EXPECT_LE(worst, limit) << "of operation " << static_cast<int>(op) << " at " << std::hexfloat << at;
}

// 0.5 is what rounding alone gives. Without vectors of fused multiply-adds these are the C library's functions, which
// are within one unit in the last place, too, but for the hyperbolic ones.
TEST(Kernels, FunctionsAreAccurateEverywhere) {
  // Half an ulp each for the quotient and the rounded sine, and 0.85 for the sine itself.
  expect_close(
      Op::sinc, [](long double x) { return x == 0 ? 1 : std::sin(x) / x; }, -1074, 1023, 2.0);
  expect_close(
      Op::sin, [](long double x) { return std::sin(x); }, -1074, 1023, 0.85);
  expect_close(
      Op::cos, [](long double x) { return std::cos(x); }, -1074, 1023, 0.85);
  expect_close(
      Op::sin, [](long double x) { return std::sin(x); }, -8, 22, 0.85);
  expect_close(
      Op::cos, [](long double x) { return std::cos(x); }, -8, 22, 0.85);
  expect_close(
      Op::exp, [](long double x) { return std::exp(x); }, -1074, 1023, 1);
  expect_close(
      Op::exp, [](long double x) { return std::exp(x); }, -10, 10, 1);
  expect_close(
      Op::log, [](long double x) { return std::log(x); }, -1074, 1023, 1);
  expect_close(
      Op::log, [](long double x) { return std::log(x); }, -2, 2, 1);
  const std::vector<double> some = arguments(-4, 4);
  const bool of_library = std::ranges::equal(run(Op::sinh, some), some, {}, {}, [](double x) { return std::sinh(x); });
  const double hyperbolic = of_library ? 2.5 : 0.75;
  for (const auto& [low, high] : {std::pair(-1074, 1023), {-4, 9}, {-2, 2}}) {
    expect_close(
        Op::sinh, [](long double x) { return std::sinh(x); }, low, high, hyperbolic);
    expect_close(
        Op::cosh, [](long double x) { return std::cosh(x); }, low, high, hyperbolic);
    expect_close(
        Op::tanh, [](long double x) { return std::tanh(x); }, low, high, hyperbolic);
    expect_close(
        Op::log1p, [](long double x) { return std::log1p(x); }, low, high, 0.85);
  }
  expect_close(  // the quotient of a sine and a cosine
      Op::tan, [](long double x) { return std::tan(x); }, -1074, 20, 2.2);
  for (const auto& [low, high] : {std::pair(-1074, 1023), {-4, 4}})
    expect_close(
        Op::atan, [](long double x) { return std::atan(x); }, low, high, 0.7);
  // The other leg of the triangle is off by up to one unit.
  expect_close(
      Op::asin, [](long double x) { return std::asin(x); }, -1074, -0, 1.6);
  expect_close(
      Op::acos, [](long double x) { return std::acos(x); }, -1074, -0, 1.6);
  expect_close(
      Op::sqrt, [](long double x) { return std::sqrt(x); }, -1074, 1023, 0.501);
  expect_close(
      Op::round, [](long double x) { return std::rint(x); }, -4, 60, 0);
}

TEST(Kernels, WhatIsNoOrdinaryNumber) {
  for (const Op op : {Op::sin, Op::cos}) {
    for (const double y : run(op, std::vector<double>(kStep, kInfinity))) EXPECT_TRUE(std::isnan(y));
    for (const double y : run(op, std::vector<double>(kStep, kNan))) EXPECT_TRUE(std::isnan(y));
  }
  EXPECT_EQ(apply(Op::exp, kInfinity), kInfinity);
  EXPECT_EQ(apply(Op::exp, -kInfinity), 0);
  EXPECT_TRUE(std::isnan(apply(Op::exp, kNan)));
  EXPECT_EQ(apply(Op::log, kInfinity), kInfinity);
  EXPECT_EQ(apply(Op::log, -0.0), -kInfinity);
  EXPECT_TRUE(std::isnan(apply(Op::log, -1e-320)));
  EXPECT_TRUE(std::isnan(apply(Op::log, kNan)));
  EXPECT_TRUE(std::isnan(apply(Op::log, -kInfinity)));
  EXPECT_TRUE(std::signbit(apply(Op::sin, -0.0)));
  const auto bits = [](double x) { return std::bit_cast<std::uint64_t>(x); };
  for (const double x :
       {0.0, -0.0, 5e-324, -5e-324, -1.0, 710.4758600739439, 710.5, 711.0, -711.0, 1.79e308, kInfinity, -kInfinity}) {
    EXPECT_EQ(bits(apply(Op::sinh, x)), bits(std::sinh(x))) << x;
    EXPECT_EQ(bits(apply(Op::cosh, x)), bits(std::cosh(x))) << x;
    EXPECT_EQ(bits(apply(Op::tanh, x)), bits(std::tanh(x))) << x;
    if (x >= -1) {
      EXPECT_EQ(bits(apply(Op::log1p, x)), bits(std::log1p(x))) << x;
    }
  }
  for (const Op op : {Op::sinh, Op::cosh, Op::tanh, Op::log1p}) EXPECT_TRUE(std::isnan(apply(op, kNan)));
  for (const double x : {-1.0000000000000002, -2.0, -kInfinity}) EXPECT_TRUE(std::isnan(apply(Op::log1p, x)));
  EXPECT_EQ(apply(Op::hypot, kInfinity, kNan), kInfinity);
  EXPECT_EQ(apply(Op::hypot, kNan, -kInfinity), kInfinity);
  EXPECT_TRUE(std::isnan(apply(Op::hypot, 1, kNan)));
  EXPECT_TRUE(std::isnan(apply(Op::hypot, kNan, 0)));
  EXPECT_EQ(apply(Op::hypot, 0, -0.0), 0);
  EXPECT_EQ(apply(Op::weigh, 0, kInfinity), 0);
  EXPECT_EQ(apply(Op::select, 0, kNan, 3), 3);
  EXPECT_EQ(apply(Op::select, 1, 2, kNan), 2);
  EXPECT_EQ(apply(Op::less, kNan, 1), 0);
}

// The double that comes closest to an odd multiple of pi/2 (Muller et al. 2010, Handbook of Floating-Point Arithmetic,
// section 11.3.2), and its cosine from 400 digits. So far out the C library reduces the argument, which here costs
// glibc 2.36 eight units in the last place.
TEST(Kernels, HardestReduction) {
  EXPECT_NEAR(apply(Op::cos, 6381956970095103.0 * 0x1p797), -4.687165924254627611e-19, 2e-15 * 4.7e-19);
}

TEST(Kernels, HypotenusesAreAccurateEverywhere) {
  for (const auto& [low, high] : {std::pair(-1074, 1022), {-3, 3}}) {
    std::vector<double> x = arguments(low, high), y = x;
    std::shuffle(y.begin(), y.end(), std::mt19937_64(6));
    if (low == -3)
      for (std::size_t i = 0; i < y.size(); ++i) y[i] = x[i] * (1 + double(i % 7));
    const std::vector<double> h = run(Op::hypot, x, y);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst = std::max(worst, ulps(h[i], std::hypot(static_cast<long double>(x[i]), static_cast<long double>(y[i]))));
    EXPECT_LE(worst, 1.0);
  }
}

TEST(Kernels, AnglesAreAccurateEverywhere) {
  for (const auto& [low, high] : {std::pair(-1074, 1022), {-3, 3}}) {
    std::vector<double> y = arguments(low, high), x = y;
    std::shuffle(x.begin(), x.end(), std::mt19937_64(6));
    const std::vector<double> angle = run(Op::atan2, y, x);
    double worst = 0;
    for (std::size_t i = 0; i < x.size(); ++i)
      worst =
          std::max(worst, ulps(angle[i], std::atan2(static_cast<long double>(y[i]), static_cast<long double>(x[i]))));
    EXPECT_LE(worst, 0.7);
  }
  const double special[] = {0.0, -0.0, 1.0, -1.0, 5e-324, -5e-324, 1.7e308, -1.7e308, kInfinity, -kInfinity};
  for (const double y : special)
    for (const double x : special)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(apply(Op::atan2, y, x)), std::bit_cast<std::uint64_t>(std::atan2(y, x)))
          << y << ", " << x;
  EXPECT_TRUE(std::isnan(apply(Op::atan2, kNan, 1)) && std::isnan(apply(Op::atan2, 1, kNan)));
}

TEST(Kernels, PowersAreAccurateEverywhere) {
  std::mt19937_64 random(21);
  std::uniform_real_distribution<double> exponent(-1074, 1023), outcome(-1080, 1030), near(-1, 1);
  std::vector<double> a, b;
  for (int i = 0; i < 40000; ++i) {
    a.push_back(i % 2 == 0 ? std::exp2(exponent(random)) : std::exp(near(random)));
    b.push_back(i % 3 == 0 ? near(random) : outcome(random) / std::log2(a.back()));
    if (i % 5 == 0) a.back() = -a.back(), b.back() = std::rint(b.back());
  }
  const std::vector<double> p = run(Op::pow, a, b);
  double worst = 0, at = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double error = ulps(p[i], std::pow(static_cast<long double>(a[i]), static_cast<long double>(b[i])));
    if (error > worst) worst = error, at = a[i];
  }
  EXPECT_LE(worst, 1.0) << "of a power of " << std::hexfloat << at;
  const double special[] = {0.0,
                            -0.0,
                            1.0,
                            -1.0,
                            2.0,
                            -2.0,
                            0.5,
                            -0.5,
                            3e15,
                            1.7e308,
                            kInfinity,
                            -kInfinity,
                            kNan,
                            5e-324,
                            -3,
                            0x1p53,
                            -0x1p53,
                            1e17,
                            0x1.fffffffffffffp52};
  for (const double x : special)
    for (const double y : special) {
      const double got = apply(Op::pow, x, y), expected = std::pow(x, y);
      if (std::isnan(expected))
        EXPECT_TRUE(std::isnan(got)) << x << "^" << y;
      else
        EXPECT_LE(ulps(got, expected), 1) << x << "^" << y;
    }
}

TEST(Kernels, SmallPowersAreRoundedOnce) {  // and once more below the smallest normal number
  std::vector<double> a = arguments(-400, 400);
  // Where they become infinite.
  const double large[] = {0x1p341, 0x1.428a2f98d728ap341, 0x1.428a2f98d728bp341, 0x1p349, -0x1p350, 0x1p255, 0x1p513};
  std::copy(std::begin(large), std::end(large), a.end() - std::size(large));
  std::vector<double> out(a.size());
  for (const double power : {3.0, 4.0}) {
    std::vector<double> exponents(a.size(), power);
    for (const std::size_t varies : {std::size_t{0}, ~std::size_t{0}}) {
      kernel_of(Op::pow)({{out.data(), nullptr}, {{a.data(), ~std::size_t{0}}, {exponents.data(), varies}}}, a.size());
      double worst = 0, at = 0;
      for (std::size_t i = 0; i < a.size(); ++i) {
        const double error = ulps(out[i], std::pow(static_cast<long double>(a[i]), static_cast<long double>(power)));
        if (error > worst) worst = error, at = a[i];
      }
      EXPECT_LE(worst, 0.8) << power << " of " << std::hexfloat << at;
    }
  }
}

TEST(Kernels, PowersAreThoseOfTheLibrary) {
  std::mt19937_64 random(12);
  std::normal_distribution<double> normal;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<double> bases{0.0, -0.0, kInfinity, -kInfinity, 1e200, 1e-200, -1e200, 1.0, -1.0, 3.0, -3.0};
  while (bases.size() % kStep != 0) bases.push_back(normal(random));
  const auto expect_near = [](double got, double a, double b) {
    const double expected = std::pow(a, b);
    if (std::isnan(expected))
      EXPECT_TRUE(std::isnan(got)) << a << "^" << b;
    else if (std::isinf(expected) || expected == 0)
      EXPECT_EQ(std::bit_cast<std::uint64_t>(got), std::bit_cast<std::uint64_t>(expected)) << a << "^" << b;
    else
      EXPECT_NEAR(got, expected, std::numeric_limits<double>::epsilon() * std::abs(expected)) << a << "^" << b;
  };
  std::vector<double> out(bases.size());
  for (const double exponent : {2.0, -1.0, 1.0, 0.0, 3.0, 4.0, 0.5, -0.5, -2.0, 2.5}) {
    std::vector<double> exponents(bases.size(), exponent);
    for (const std::size_t varies : {std::size_t{0}, ~std::size_t{0}}) {
      kernel_of(Op::pow)({{out.data(), nullptr}, {{bases.data(), ~std::size_t{0}}, {exponents.data(), varies}}},
                         out.size());
      for (std::size_t i = 0; i < out.size(); ++i) expect_near(out[i], bases[i], exponent);
    }
  }
}

TEST(Kernels, ErrorsOfProductsAreExact) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> normal;
  for (int i = 0; i < 2000; ++i) {
    const double a = normal(random), b = std::ldexp(normal(random), i % 40);
    EXPECT_EQ(apply(Op::product_error, a, b), std::fma(a, b, -(a * b)));
  }
}

TEST(Kernels, AValueDependsOnItsOperandsOnly) {
  std::mt19937_64 random(9);
  std::normal_distribution<double> normal;
  for (int o = static_cast<int>(Op::negate); o < kOps; ++o) {
    const Op op = static_cast<Op>(o);
    if (is_of_pairs(op) || op == Op::look_up) continue;  // on its neighbour's as well, or on a table
    const std::size_t n = 5 * kStep;
    for (const double scale : {1e-3, 1.0, 1e7}) {
      std::vector<double> in[kMostOperands], out(n), second(n);
      Call call{{out.data(), second.data()}, {}};
      for (int k = 0; k < kMostOperands; ++k) {
        for (std::size_t i = 0; i < n; ++i) in[k].push_back(scale * normal(random));
        for (const std::size_t same : {3u, 7u, 12u, 38u}) in[k][same] = in[k][0];
        call.in[k] = {in[k].data(), ~std::size_t{0}};
      }
      kernel_of(op)(call, n);
      for (const std::size_t same : {3u, 7u, 12u, 38u})
        EXPECT_EQ(std::bit_cast<std::uint64_t>(out[same]), std::bit_cast<std::uint64_t>(out[0])) << o;
      double repeated[kMostOperands][kStep], one[kStep], two[kStep];
      Call single{{one, two}, {}};
      for (int k = 0; k < kMostOperands; ++k) {
        for (double& x : repeated[k]) x = in[k][0];
        single.in[k] = {repeated[k], 0};
      }
      kernel_of(op)(single, kStep);
      EXPECT_EQ(std::bit_cast<std::uint64_t>(one[5]), std::bit_cast<std::uint64_t>(out[0])) << o;
    }
  }
}

}  // namespace
}  // namespace rimetree::program
