// Formulae of runtime/math recorded, against the same formulae on plain numbers.
#include "runtime/program/recorded.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "runtime/math/jones.h"
#include "runtime/program/program.h"

namespace rimetree {
namespace {

using program::Recording;

/// The same formula for recorded and plain numbers, of six numbers.
template <class Formula>
void expect_same(const Formula& formula, double ulps = 2) {
  Recording recording;
  const Recording::Scope scope(recording);
  Recorded in[6];
  for (int i = 0; i < 6; ++i) in[i] = Recorded::named(recording.load({0, i, 0, false}));
  const auto names = record_paths([&] {
    const Complex<Recorded> z = formula(in);
    return std::vector<std::int32_t>{z.re.name(), z.im.name()};
  });
  const program::Output output{.re = names[0], .im = names[1]};
  const program::Axes axes[] = {program::bit_of(Axis::time)};
  const program::Program ready(recording, {&output, 1}, axes, 0, axes[0]);

  // All signs and sizes, and zeros.
  const double values[] = {0.3, -0.4, 1.7, 0, -2.5, 0.01, 12, -0.9, 0.6, 1, -1};
  constexpr std::size_t n = 700;
  std::vector<double> numbers(6 * n), got(2 * n);
  for (std::size_t i = 0; i < 6 * n; ++i)
    numbers[i] = values[(i * 7 + i / 11 + i / n) % 11] * (i % 5 == 0 ? 1 : 1 + 0.01 * double(i % 13));
  const program::Array input{numbers.data(), false, n, {1, 0, 0, 0}}, target{got.data(), true, n, {1, 0, 0, 0}};
  ready.run({.inputs = {&input, 1}, .outputs = {&target, 1}, .cells = {{static_cast<std::int32_t>(n), 1, 1, 1}}});
  for (std::size_t i = 0; i < n; ++i) {
    double plain[6];
    for (std::size_t k = 0; k < 6; ++k) plain[k] = numbers[k * n + i];
    const Complex<double> wanted = formula(plain);
    const auto close = [&](double a, double b) {
      const double scale = std::max(std::abs(wanted.re), std::abs(wanted.im));
      return (std::isnan(a) && std::isnan(b)) || a == b || std::abs(a - b) <= ulps * 2.3e-16 * scale;
    };
    ASSERT_TRUE(close(got[2 * i], wanted.re)) << i << ": " << got[2 * i] << " " << wanted.re;
    ASSERT_TRUE(close(got[2 * i + 1], wanted.im)) << i << ": " << got[2 * i + 1] << " " << wanted.im;
  }
}

// Elementary functions differ from the C library's by rounding; nothing else does.
TEST(Recorded, ArithmeticIsThatOfPlainNumbers) {
  expect_same([](const auto* x) { return Complex(x[0] * x[1] - x[2], -(x[3] + x[4]) / x[5]); }, 0);
  expect_same([](const auto* x) { return Complex(x[0], x[1]) * Complex(x[2], x[3]) + conj(Complex(x[4], x[5])); }, 0);
  expect_same([](const auto* x) { return Complex(x[0], x[1]) / Complex(x[2], x[3]); }, 0);
  expect_same([](const auto* x) { return Complex(sqrt(abs(x[0])), hypot(x[1], x[2])); });
}

// Nodes take real numbers beside complex ones as complex: nothing may be done for an imaginary part that is not there.
TEST(Recorded, RealFactorsAndDivisorsTakeNoComplexArithmetic) {
  Recording recording;
  const Recording::Scope scope(recording);
  const auto load = [&](int i) { return Recorded::named(recording.load({0, i, 0, false})); };
  const Recorded re = load(0), im = load(1), x = load(2), y = load(3);
  const Complex<Recorded> z(re, im), real(x), other(y);
  const auto expect = [](Complex<Recorded> got, Recorded wanted_re, Recorded wanted_im) {
    EXPECT_EQ(got.re.name(), wanted_re.name());
    EXPECT_EQ(got.im.name(), wanted_im.name());
  };
  expect(z * real, re * x, im * x);
  expect(real * z, re * x, im * x);
  expect(z / real, re / x, im / x);
  expect(real * other, x * y, 0.0);
  expect(real / other, x / y, 0.0);
}

TEST(Recorded, FunctionsOfComplexNumbers) {
  expect_same([](const auto* x) { return sqrt(Complex(x[0], x[1])); }, 4);
  expect_same([](const auto* x) { return exp(Complex(x[0], x[1])); }, 4);
  expect_same([](const auto* x) { return log(Complex(x[0], x[1])); }, 4);
  // Powers carry the error of the exponent, of size |b log a|.
  expect_same([](const auto* x) { return pow(Complex(x[0], x[1]), Complex(x[2], x[3])); }, 200);
}

TEST(Recorded, PhasesAndSmearing) {
  expect_same(
      [](const auto* x) {
        return fringe_exact(path_difference_exact(x[0], x[1], x[2], x[3], x[4], n_offset_exact(x[3], x[4], x[5], 1)),
                            turns_per_metre(x[0] * 1e9));
      },
      8);
  expect_same([](const auto* x) { return Complex(sinc(x[0]), smearing(x[1]) * n_offset(x[2], x[3], x[4], 1)); }, 8);
}

// Two ways for each condition; the same condition is not decided twice.
TEST(Recorded, GoesEveryWay) {
  expect_same(
      [](const auto* x) {
        auto sum = x[0];
        for (int i = 1; i < 4; ++i)
          if (x[i] > 0.5)
            sum += x[i];
          else if (x[i] < -0.5)
            sum -= x[i] * x[0];
        return x[1] > 0.5 ? Complex(sum, x[2]) : Complex(sum, x[3]);
      },
      0);
}

// n decides how n - 1 is formed, and that only: one phasor, not two.
TEST(Recorded, WaysJoinWhereAFormulaEnds) {
  Recording recording;
  const Recording::Scope scope(recording);
  Recorded in[4];
  for (int i = 0; i < 4; ++i) in[i] = Recorded::named(recording.load({0, i, 0, false}));
  fringe_exact(path_difference_exact(in[0], in[0], in[3], in[0], in[1], n_offset_exact(in[0], in[1], in[2], 1)),
               turns_per_metre(in[3]));
  int selections = 0, sines = 0;
  for (const program::Operation& operation : recording.operations()) {
    selections += operation.op == program::Op::select;
    sines += operation.op == program::Op::sin;
  }
  EXPECT_GE(selections, 1);
  EXPECT_EQ(sines, 1);
}

TEST(Recorded, TooManyWaysAreRefused) {
  Recording recording;
  const Recording::Scope scope(recording);
  EXPECT_THROW(record_paths([&] {
                 Recorded sum;
                 for (int i = 0; i < 20; ++i) {
                   const Recorded x = Recorded::named(recording.load({0, i, 0, false}));
                   if (x > 0) sum += x;
                 }
                 return std::vector<std::int32_t>{sum.name()};
               }),
               program::NotRecordable);
}

TEST(Recorded, ConstantsDecideAtOnce) {
  Recording recording;
  const Recording::Scope scope(recording);
  const Recorded two = 2;
  EXPECT_TRUE(two * Recorded(3) == Recorded(6));
  EXPECT_FALSE(sinc(two) > Recorded(1));
}

}  // namespace
}  // namespace rimetree
