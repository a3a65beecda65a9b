#include "runtime/math/traced.h"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/math/complex.h"

namespace rimetree {
namespace {

using T = Traced<double>;

/// Derivatives of f with respect to two numbers, by one sweep.
template <class F>
std::pair<double, double> gradient(double x, double y, const F& f) {
  Tape<double> tape;
  double dx = 0, dy = 0;
  const T a(x, tape.input(&dx), &tape), b(y, tape.input(&dy), &tape);
  tape.seed(f(a, b).number, 1);
  tape.flush();
  EXPECT_EQ(tape.size(), 0u);
  return {dx, dy};
}

/// The same by dual numbers, one at a time.
template <class F>
std::pair<double, double> expected(double x, double y, const F& f) {
  return {f(Dual<double>(x, 1), Dual<double>(y)).d, f(Dual<double>(x), Dual<double>(y, 1)).d};
}

template <class F>
void expect_same(double x, double y, const F& f) {
  const auto got = gradient(x, y, f), wanted = expected(x, y, f);
  const double scale = 1 + std::abs(wanted.first) + std::abs(wanted.second);
  EXPECT_NEAR(got.first, wanted.first, 8e-16 * scale);
  EXPECT_NEAR(got.second, wanted.second, 8e-16 * scale);
}

TEST(Traced, KnownDerivatives) {
  const auto [dx, dy] = gradient(3, 5, [](auto x, auto y) { return x * x * y - x / y; });
  EXPECT_NEAR(dx, 2 * 3 * 5 - 1.0 / 5, 1e-14);
  EXPECT_NEAR(dy, 9 + 3.0 / 25, 1e-14);
}

TEST(Traced, AgreesWithDualNumbersInEveryFunction) {
  expect_same(0.7, 1.3, [](auto x, auto y) { return x + y - x * y / (x - y); });
  expect_same(0.7, 1.3, [](auto x, auto y) { return exp(x) * log(y) + log1p(x) - sqrt(y); });
  expect_same(0.7, 1.3, [](auto x, auto y) { return sin(x) * cos(y) + tan(x * y); });
  expect_same(0.3, 0.4, [](auto x, auto y) { return asin(x) * acos(y) + atan(x - y); });
  expect_same(0.3, 0.4, [](auto x, auto y) { return sinh(x) * cosh(y) - tanh(x + y); });
  expect_same(0.7, -1.3, [](auto x, auto y) { return atan2(x, y) + hypot(x, y) * abs(y); });
  expect_same(0.7, 1.3, [](auto x, auto y) { return pow(x, y) + pow(y, decltype(x)(2.0)); });
}

TEST(Traced, ComplexNumbers) {
  expect_same(0.7, 1.3, [](auto x, auto y) {
    using Number = decltype(x);
    const Complex<Number> z(x, y), w(y, x * y);
    const Complex<Number> r = sqrt(z) / w + exp(z * w) * conj(z) + log(w) + pow(z, w);
    return r.re - Number(2.0) * r.im + arg(z) * abs(w);
  });
}

TEST(Traced, ConstantsLeaveNoTrace) {
  Tape<double> tape;
  double dx = 0;
  const T x(2, tape.input(&dx), &tape);
  const std::size_t before = tape.size();
  const T constant = exp(T(1.0)) * T(3.0) + T(4);
  EXPECT_EQ(constant.number, Tape<double>::kPassive);
  EXPECT_EQ(tape.size(), before);
  tape.seed(constant.number, 1);  // of no effect
  tape.seed((constant * x).number, 1);
  tape.flush();
  EXPECT_NEAR(dx, constant.v, 1e-15);
}

TEST(Traced, WhatDoesNotMatterDoesNotSpoil) {
  Tape<double> tape;
  double dx = 0;
  const T x(0, tape.input(&dx), &tape);
  const T root = sqrt(x);  // infinite slope
  tape.seed((root * T(0.0) + x).number, 1);
  tape.flush();
  EXPECT_EQ(dx, 1);
}

TEST(Traced, SweepsToAMarkAndCollects) {
  Tape<double> tape;
  double dx = 0;
  const T x(3, tape.input(&dx), &tape);
  const std::size_t mark = tape.size();
  for (int i = 1; i <= 4; ++i) {
    tape.seed((x * T(double(i))).number, 1);
    tape.sweep(mark);
    EXPECT_EQ(tape.size(), mark);
  }
  EXPECT_EQ(dx, 0);  // not yet
  tape.flush();
  EXPECT_EQ(dx, 10);
}

}  // namespace
}  // namespace rimetree
