// Dual numbers: derivatives against closed forms and central differences in extended precision.
#include "runtime/math/dual.h"

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <random>

#include "runtime/math/complex.h"
#include "runtime/math/jones.h"

namespace rimetree {
namespace {

using D = Dual<double>;
using Z = Complex<D>;

/// Derivative of a real function by Richardson-extrapolated central differences in extended precision: errors of
/// h^4 f'''''/30 and 1e-19/h, together some 1e-14 at h = 1e-4.
double slope(const std::function<long double(long double)>& f, double x) {
  const long double h = 1e-4L;
  const long double wide = (f(x + 2 * h) - f(x - 2 * h)) / (4 * h), narrow = (f(x + h) - f(x - h)) / (2 * h);
  return static_cast<double>((4 * narrow - wide) / 3);
}

#define RT_CHECK_FUNCTION(name, ...)                                                                 \
  TEST(Dual, Derivative_##name) {                                                                    \
    for (const double x : {__VA_ARGS__}) {                                                           \
      const D y = name(D(x, 2.0));                                                                   \
      EXPECT_EQ(y.v, std::name(x)) << "the value is that of the plain function";                     \
      const double expected = 2 * slope([](long double t) { return std::name(t); }, x);              \
      EXPECT_NEAR(y.d, expected, 1e-11 * std::max(1.0, std::abs(expected))) << #name << " at " << x; \
    }                                                                                                \
  }
RT_CHECK_FUNCTION(exp, -3.0, 0.0, 0.5, 4.0)
RT_CHECK_FUNCTION(log, 0.1, 1.0, 7.5)
RT_CHECK_FUNCTION(log1p, -0.5, 0.0, 3.0)
RT_CHECK_FUNCTION(sqrt, 0.1, 1.0, 9.0)
RT_CHECK_FUNCTION(sin, -2.0, 0.0, 1.0, 10.0)
RT_CHECK_FUNCTION(cos, -2.0, 0.0, 1.0, 10.0)
RT_CHECK_FUNCTION(tan, -1.0, 0.0, 0.7)
RT_CHECK_FUNCTION(asin, -0.9, 0.0, 0.5)
RT_CHECK_FUNCTION(acos, -0.9, 0.0, 0.5)
RT_CHECK_FUNCTION(atan, -5.0, 0.0, 0.5)
RT_CHECK_FUNCTION(sinh, -2.0, 0.0, 1.0)
RT_CHECK_FUNCTION(cosh, -2.0, 0.0, 1.0)
RT_CHECK_FUNCTION(tanh, -2.0, 0.0, 1.0)
RT_CHECK_FUNCTION(abs, -2.0, 3.0)
#undef RT_CHECK_FUNCTION

TEST(Dual, SlopesAreZeroAtTheTipsOfCones) {
  EXPECT_EQ(sqrt(D(0, 2)).d, 0) << "as of hypot(0, 0) and of complex roots";
  EXPECT_EQ(pow(D(0, 2), D(0.5)).d, 0);
  EXPECT_EQ(pow(D(0, 2), D(0)).d, 0);
  EXPECT_EQ(pow(D(0, 2), D(1)).d, 2);
  EXPECT_EQ(pow(D(0, 2), D(1.5)).d, 0);
  EXPECT_EQ(acos(D(1, 2)).d, 0);
  EXPECT_EQ(asin(D(-1, 2)).d, 0);
  EXPECT_EQ(atan2(D(0, 2), D(0, 1)).d, 0);
  EXPECT_EQ(sqrt(D(0, 0) * D(0, 1)).d, 0);
  EXPECT_EQ(sqrt(D(4, 2)).d, 0.5);
}

TEST(Dual, RulesOfArithmetic) {
  const D a(3, 0.5), b(-2, 4);
  EXPECT_EQ((a + b).v, 1);
  EXPECT_EQ((a + b).d, 4.5);
  EXPECT_EQ((a - b).d, -3.5);
  EXPECT_EQ((-a).d, -0.5);
  EXPECT_EQ((a * b).v, -6);
  EXPECT_EQ((a * b).d, 0.5 * -2 + 3 * 4);
  EXPECT_EQ((a / b).v, -1.5);
  EXPECT_DOUBLE_EQ((a / b).d, (0.5 * -2 - 3 * 4) / 4.0);
  EXPECT_EQ((2 * a).d, 1.0) << "constants have no derivative";
  EXPECT_EQ((a + 1).d, 0.5);
  D c = a;
  c += b;
  c *= b;
  c -= a;
  EXPECT_EQ(c.v, (a.v + b.v) * b.v - a.v);
  EXPECT_EQ(c.d, 4.5 * -2 + 1 * 4 - 0.5);
}

TEST(Dual, OrderIsThatOfTheValues) {
  EXPECT_TRUE(D(1, 5) < D(2, -5));
  EXPECT_TRUE(D(2, 0) > D(1, 9));
  EXPECT_TRUE(D(1, 5) <= D(1, 0) && D(1, 0) >= D(1, 5));
  EXPECT_TRUE(D(1, 5) == D(1, 0));
  EXPECT_EQ(value_of(D(3, 1)), 3);
  EXPECT_EQ(value_of(3.0), 3);
  static_assert(std::is_same_v<Plain<D>, double> && std::is_same_v<Plain<float>, float>);
}

TEST(Dual, TwoArguments) {
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(0.2, 3);
  for (int i = 0; i < 50; ++i) {
    const double x = uniform(random), y = uniform(random), dx = uniform(random), dy = -uniform(random);
    const auto along = [&](auto f) { return slope([&](long double t) { return f(x + dx * t, y + dy * t); }, 0); };
    EXPECT_NEAR(atan2(D(x, dx), D(-y, -dy)).d, along([](long double a, long double b) { return std::atan2(a, -b); }),
                1e-11);
    EXPECT_NEAR(hypot(D(x, dx), D(y, dy)).d, along([](long double a, long double b) { return std::hypot(a, b); }),
                1e-11);
    const double power = along([](long double a, long double b) { return std::pow(a, b); });
    EXPECT_NEAR(pow(D(x, dx), D(y, dy)).d, power, 1e-11 * std::max(1.0, std::abs(power)));
  }
}

TEST(Dual, PowersAtAndBelowZero) {
  EXPECT_EQ(pow(D(-2, 1), D(3)).d, 12) << "a negative base with a constant exponent";
  EXPECT_EQ(pow(D(0, 1), D(2)).d, 0);
  EXPECT_EQ(pow(D(0, 1), D(1)).d, 1);
  EXPECT_EQ(pow(D(0, 1), D(0)).d, 0) << "x^0 is 1 everywhere";
  EXPECT_EQ(pow(D(0, 1), D(0)).v, 1);
  EXPECT_EQ(pow(D(0), D(2, 1)).d, 0) << "0^b is 0 for every b > 0";
  EXPECT_EQ(pow(D(3, 1), D(0)).d, 0);
}

TEST(Dual, HypotAtTheOriginHasNoInfinity) { EXPECT_EQ(hypot(D(0, 1), D(0, 1)).d, 0); }

/// Squares had overflowed, so that slopes were 0 or no number where the values are in order.
TEST(Dual, SlopesOfVeryLargeAndSmallNumbers) {
  for (const double scale : {1e-200, 1.0, 1e200}) {
    EXPECT_NEAR(hypot(D(3 * scale, 1), D(4 * scale, 2)).d, 2.2, 1e-15);
    EXPECT_NEAR(atan2(D(3 * scale, 1), D(4 * scale, 2)).d * scale, -2.0 / 25, 1e-16);
  }
}

/// It had been 0, beside a value that is infinite.
TEST(Dual, SlopesOfNegativePowersOfZero) {
  EXPECT_EQ(pow(D(0, 1), D(-1)).v, std::numeric_limits<double>::infinity());
  EXPECT_EQ(pow(D(0, 1), D(-1)).d, -std::numeric_limits<double>::infinity());
  EXPECT_EQ(pow(D(0, 0), D(-1)).d, 0);
}

/// Derivative of a complex function of one real parameter.
template <class F>
void check_complex(const char* name, const F& f, Complex<double> z, Complex<double> dz) {
  using L = Complex<long double>;
  const auto at = [&](long double t) { return f(L(z.re + t * dz.re, z.im + t * dz.im)); };
  const Z got = f(Z(D(z.re, dz.re), D(z.im, dz.im)));
  const double re = slope([&](long double t) { return at(t).re; }, 0);
  const double im = slope([&](long double t) { return at(t).im; }, 0);
  const double scale = std::max(1.0, std::hypot(re, im));
  EXPECT_NEAR(got.re.d, re, 1e-11 * scale) << name << " at " << z.re << " " << z.im;
  EXPECT_NEAR(got.im.d, im, 1e-11 * scale) << name << " at " << z.re << " " << z.im;
}

TEST(Dual, CarriedThroughComplexFunctions) {
  std::mt19937 random(7);
  std::uniform_real_distribution<double> uniform(-2, 2);
  for (int i = 0; i < 50; ++i) {
    const Complex<double> z(uniform(random), uniform(random) + (i % 2 ? 2.5 : -2.5)), dz(uniform(random), 1);
    check_complex(
        "exp", [](auto x) { return exp(x); }, z, dz);
    check_complex(
        "log", [](auto x) { return log(x); }, z, dz);
    check_complex(
        "sqrt", [](auto x) { return sqrt(x); }, z, dz);
    check_complex(
        "sin", [](auto x) { return sin(x); }, z, dz);
    check_complex(
        "cos", [](auto x) { return cos(x); }, z, dz);
    check_complex(
        "tan", [](auto x) { return tan(x); }, z, dz);
    check_complex(
        "x/(1+x)", [](auto x) { return x / (decltype(x)(1) + x); }, z, dz);
    check_complex(
        "1/x^2", [](auto x) { return decltype(x)(1) / (x * x); }, z, dz);
    check_complex(
        "pow", [](auto x) { return pow(x, decltype(x)(3)); }, z, dz);
    check_complex(
        "abs", [](auto x) { return decltype(x)(abs(x)); }, z, dz);
    check_complex(
        "arg", [](auto x) { return decltype(x)(arg(x)); }, z, dz);
    check_complex(
        "inverse",
        [](auto x) {
          using C = decltype(x);
          return inverse(Jones<decltype(x.re)>{x, C(1), C(2), x * x}).xy;
        },
        z, dz);
  }
}

TEST(Dual, FirstPowerAtZeroHasASlope) {
  const Z x(D(0, 1), D(0, 2));
  EXPECT_EQ(pow(x, Z(1)).re.d, 1);
  EXPECT_EQ(pow(x, Z(1)).im.d, 2);
  EXPECT_EQ(pow(x, Z(2)).re.d, 0);
}

TEST(Dual, NestsForSecondDerivatives) {
  using DD = Dual<Dual<double>>;
  static_assert(sizeof(DD) == 4 * sizeof(double));
  const DD x(D(3, 1), D(1, 0));
  EXPECT_EQ((x * x * x).d.d, 18) << "(x^3)'' = 6x";
}

}  // namespace
}  // namespace rimetree
