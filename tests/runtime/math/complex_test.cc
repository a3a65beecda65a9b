// Complex numbers against std::complex in extended precision, on random and on awkward arguments.
#include "runtime/math/complex.h"

#include <gtest/gtest.h>

#include <complex>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace rimetree {
namespace {

using Oracle = std::complex<long double>;
constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

static_assert(sizeof(Complex<double>) == sizeof(std::complex<double>));
static_assert(std::is_trivially_copyable_v<Complex<double>> && std::is_standard_layout_v<Complex<float>>);

Oracle wide(Complex<double> z) { return {z.re, z.im}; }

/// Distance to the oracle in units of epsilon times its modulus.
double error(Complex<double> got, Oracle expected) {
  const long double scale = std::abs(expected);
  const long double distance = std::abs(wide(got) - expected);
  return static_cast<double>(scale == 0 ? distance / std::numeric_limits<double>::min()
                                        : distance / (scale * static_cast<long double>(kEpsilon)));
}

/// Numbers of all quadrants and of sizes from 1e-3 to 1e3, and on the axes.
std::vector<Complex<double>> numbers() {
  std::mt19937_64 random(20);
  std::uniform_real_distribution<double> exponent(-3, 3), phase(-3.14159, 3.14159);
  std::vector<Complex<double>> list{{1, 0}, {-1, 0}, {0, 1}, {0, -1}, {1e-8, 2}, {-2, 1e-8}, {2, -1e-300}};
  for (int i = 0; i < 500; ++i) {
    const double modulus = std::pow(10.0, exponent(random)), angle = phase(random);
    list.emplace_back(modulus * std::cos(angle), modulus * std::sin(angle));
  }
  return list;
}

TEST(Complex, LayoutIsThatOfStdComplex) {
  const std::complex<double> z(1.5, -2.5);
  Complex<double> mine;
  std::memcpy(static_cast<void*>(&mine), &z, sizeof z);
  EXPECT_EQ(mine, Complex<double>(1.5, -2.5));
}

TEST(Complex, Arithmetic) {
  const auto list = numbers();
  for (std::size_t i = 1; i < list.size(); ++i) {
    const Complex<double> a = list[i - 1], b = list[i];
    EXPECT_LT(error(a + b, wide(a) + wide(b)), 1.5 * std::abs(wide(a)) / std::abs(wide(a) + wide(b)) + 1.5);
    EXPECT_LT(error(a - b, wide(a) - wide(b)), 1.5 * std::abs(wide(a)) / std::abs(wide(a) - wide(b)) + 1.5);
    EXPECT_LT(error(a * b, wide(a) * wide(b)), 3);  // sqrt(5)/2 epsilon (Brent, Percival & Zimmermann 2007)
    EXPECT_LT(error(a / b, wide(a) / wide(b)), 6);  // Smith's division: a few roundings
    EXPECT_LT(error(3.0 * a, 3.0L * wide(a)), 1);
    EXPECT_EQ(a * 3.0, 3.0 * a);
    EXPECT_EQ(-a + a, Complex<double>(0));
    Complex<double> c = a;
    c += b;
    EXPECT_EQ(c, a + b);
    c = a;
    c -= b;
    EXPECT_EQ(c, a - b);
    c = a;
    c *= b;
    EXPECT_EQ(c, a * b);
    EXPECT_EQ(conj(a), Complex<double>(a.re, -a.im));
    EXPECT_DOUBLE_EQ(squared_modulus(a), a.re * a.re + a.im * a.im);
  }
}

TEST(Complex, DivisionNeitherOverflowsNorUnderflowsEarly) {
  const Complex<double> big(1e300, 1e300), small(1e-300, -1e-300);
  EXPECT_LT(error(Complex<double>(1) / big, Oracle(1) / wide(big)), 6);
  EXPECT_LT(error(Complex<double>(1) / small, Oracle(1) / wide(small)), 6);
  EXPECT_LT(error(big / big, 1), 6);
  EXPECT_FALSE(std::isfinite((Complex<double>(1) / Complex<double>(0)).re)) << "no silent finite value";
}

TEST(Complex, Functions) {
  for (const Complex<double> z : numbers()) {
    SCOPED_TRACE(testing::Message() << z.re << " " << z.im);
    const Oracle w = wide(z);
    EXPECT_NEAR(abs(z), static_cast<double>(std::abs(w)), 2 * kEpsilon * abs(z));
    EXPECT_NEAR(arg(z), static_cast<double>(std::arg(w)), 2 * kEpsilon * std::abs(arg(z)));
    EXPECT_LT(error(sqrt(z), std::sqrt(w)), 4);
    EXPECT_LT(error(polar(abs(z), arg(z)), w), 8);
    // log(|z|) cancels near |z| = 1: the error is that of |z|, so absolute.
    EXPECT_LT(std::abs(wide(log(z)) - std::log(w)), 4 * kEpsilon * (1 + std::abs(std::log(w))));
    if (abs(z) > 300) continue;  // exp and sinh would overflow
    EXPECT_LT(error(exp(z), std::exp(w)), 4);
    EXPECT_LT(error(sin(z), std::sin(w)), 8);
    EXPECT_LT(error(cos(z), std::cos(w)), 8);
    EXPECT_LT(error(tan(z), std::tan(w)), 20);
  }
}

TEST(Complex, SquareRootIsThePrincipalOne) {
  EXPECT_EQ(sqrt(Complex<double>(-4, 0)), Complex<double>(0, 2));
  EXPECT_EQ(sqrt(Complex<double>(4, 0)), Complex<double>(2, 0));
  EXPECT_EQ(sqrt(Complex<double>(0, 0)), Complex<double>(0, 0));
  EXPECT_LT(sqrt(Complex<double>(-4, -1e-20)).im, 0) << "below the cut";
  EXPECT_EQ(sqrt(Complex<double>(-4, -0.0)), Complex<double>(0, -2)) << "the root of a conjugate is a conjugate";
  for (const Complex<double> z : numbers()) EXPECT_GE(sqrt(z).re, 0);
}

TEST(Complex, PowersOfNumbersAndOfZero) {
  for (const Complex<double> z : numbers()) {
    const Oracle w = wide(z);
    const double size = 1 + std::abs(std::log(abs(z)));
    EXPECT_LT(error(pow(z, Complex<double>(2)), w * w), 40 * size) << "the error of the logarithm grows with it";
    EXPECT_LT(error(pow(z, Complex<double>(-1)), Oracle(1) / w), 40 * size);
    EXPECT_LT(error(pow(z, Complex<double>(0.5, 0.25)), std::pow(w, Oracle(0.5L, 0.25L))), 40 * size);
  }
  const Complex<double> zero(0);
  EXPECT_EQ(pow(zero, zero), Complex<double>(1));
  EXPECT_EQ(pow(zero, Complex<double>(2)), zero);
  EXPECT_EQ(pow(zero, Complex<double>(0.5, 3)), zero);
  EXPECT_FALSE(std::isfinite(pow(zero, Complex<double>(-1)).re)) << "1/0 is not 0";
  EXPECT_FALSE(std::isfinite(pow(zero, Complex<double>(0, 1)).re)) << "0^i has no value";
}

TEST(Complex, SinglePrecisionStaysSingle) {
  const Complex<float> a(1.25f, -2.5f), b(0.5f, 3.0f);
  static_assert(std::is_same_v<decltype(a * b), Complex<float>>);
  static_assert(std::is_same_v<decltype(exp(a)), Complex<float>>);
  const std::complex<double> expected = std::exp(std::complex<double>(1.25, -2.5));
  EXPECT_NEAR(exp(a).re, expected.real(), 4 * std::numeric_limits<float>::epsilon() * std::abs(expected));
  EXPECT_NEAR(exp(a).im, expected.imag(), 4 * std::numeric_limits<float>::epsilon() * std::abs(expected));
}

}  // namespace
}  // namespace rimetree
