// Normalisation: products that are the same before and after, and numbers that are as the convention says.
#include "runtime/fit/normalisation.h"

#include <gtest/gtest.h>

#include <Eigen/Dense>
#include <algorithm>
#include <cmath>
#include <complex>

namespace rimetree::fit {
namespace {

using Complex = std::complex<double>;

/// Unknowns of three complex numbers b0, b1, b2 and of one g, that come in products b_k g.
struct Chain {
  std::vector<double> x;
  std::vector<Number> numbers;
  std::vector<std::vector<double>> open;

  explicit Chain(const std::vector<Complex>& values) {
    for (std::uint32_t k = 0; k < values.size(); ++k) {
      x.push_back(values[k].real());
      x.push_back(values[k].imag());
      const bool last = k + 1 == values.size();
      numbers.push_back(
          {.re = 2 * k, .im = 2 * k + 1, .factor = true, .rank = last ? 1 : 2, .series = last, .column = k});
    }
    // All b times a number near 1, g by its inverse; any mixture of stretch and turn.
    for (const Complex c : {Complex(1, 2), Complex(-3, 1)}) {
      std::vector<double> step;
      for (std::size_t k = 0; k < values.size(); ++k) {
        const Complex change = values[k] * (k + 1 == values.size() ? -c : c);
        step.push_back(change.real());
        step.push_back(change.imag());
      }
      open.push_back(std::move(step));
    }
  }
};

Complex number(const std::vector<double>& x, std::size_t k) { return {x[2 * k], x[2 * k + 1]}; }

TEST(Normalisation, OfAProduct) {
  const std::vector<Complex> values = {{3, 0}, std::polar(1.0, 1.0), std::polar(2.0, -0.5), {0, 1e-3}};
  const Chain chain(values);
  const Normalised found = normalise(chain.x, chain.numbers, chain.open);
  double amplitude = 0, phase = 0;
  for (std::size_t k = 0; k < 3; ++k) {
    const Complex before = values[k] * values[3], after = number(found.x, k) * number(found.x, 3);
    EXPECT_NEAR(std::abs(after - before), 0, 1e-15);
    amplitude += std::abs(number(found.x, k)) / 3;
    phase += std::abs(number(found.x, k)) * std::arg(number(found.x, k));
  }
  EXPECT_NEAR(amplitude, 1, 1e-12);
  EXPECT_NEAR(phase, 0, 1e-12);
  EXPECT_EQ(found.conditions.size(), 2u);
  EXPECT_EQ(found.normalised.size(), 6u);
}

TEST(Normalisation, PhasesAreUnwrapped) {
  std::vector<Complex> values;
  for (int k = 0; k < 12; ++k) values.push_back(std::polar(1.0, 1.7 * k));
  values.push_back(1);
  const Chain chain(values);
  const Normalised found = normalise(chain.x, chain.numbers, chain.open);
  // The mean of 0, 1.7, ... 18.7 is 9.35.
  for (int k = 0; k < 12; ++k)
    EXPECT_NEAR(std::abs(number(found.x, static_cast<std::size_t>(k)) - std::polar(1.0, 1.7 * k - 9.35)), 0, 1e-12);
}

// Two products that share nothing, as of two directions, in steps that move both: once the first is normalised the
// ranks of its other numbers see nothing but rounding errors of what is left.
TEST(Normalisation, OfProductsThatShareNothing) {
  const std::vector<Complex> values = {{3, 0}, std::polar(1.0, 1.0), std::polar(2.0, -0.5), {0, 1e-3}};
  const Chain one(values), other(values);
  std::vector<double> x = one.x;
  x.insert(x.end(), other.x.begin(), other.x.end());
  std::vector<Number> numbers = one.numbers;
  for (Number& number : numbers) number.rank += 2;
  for (Number number : other.numbers) {
    number.re += 8, number.im += 8, number.series += 2;
    numbers.push_back(number);
  }
  std::vector<std::vector<double>> open;
  for (int k = 0; k < 4; ++k) {
    const double parts[] = {std::cos(1.0 + k), std::sin(2.0 + k * k), 0.3 * k - 0.5, std::cos(0.4 * k * k)};
    std::vector<double> step(x.size());
    for (std::size_t u = 0; u < 8; ++u) {
      step[u] = parts[0] * one.open[0][u] + parts[1] * one.open[1][u];
      step[u + 8] = parts[2] * other.open[0][u] + parts[3] * other.open[1][u];
    }
    open.push_back(std::move(step));
  }
  const Normalised found = normalise(x, numbers, open);
  EXPECT_EQ(found.conditions.size(), 4u);
  for (std::size_t chain : {0u, 4u}) {
    double amplitude = 0, phase = 0;
    for (std::size_t k = chain; k < chain + 3; ++k) {
      EXPECT_NEAR(std::abs(number(found.x, k) * number(found.x, chain + 3) - values[k - chain] * values[3]), 0, 1e-13);
      amplitude += std::abs(number(found.x, k)) / 3;
      phase += std::abs(number(found.x, k)) * std::arg(number(found.x, k));
    }
    EXPECT_NEAR(amplitude, 1, 1e-12);
    EXPECT_NEAR(phase, 0, 1e-12);
  }
}

// A dead antenna beside one whose gains are large: what is small is not 0 for that.
TEST(Normalisation, OfSmallNumbersBesideLargeOnes) {
  const std::vector<Complex> large = {{3, 0}, {1, 0.5}, {2, -1}, {50, 0}};
  const std::vector<Complex> small = {{3e-8, 0}, {1e-8, 1e-9}, {2e-9, -1e-9}, {1, 0}};
  const Chain one(large), other(small);
  std::vector<double> x = one.x;
  x.insert(x.end(), other.x.begin(), other.x.end());
  std::vector<Number> numbers = one.numbers;
  for (Number number : other.numbers) {
    number.re += 8, number.im += 8, number.series += 2;
    numbers.push_back(number);
  }
  std::vector<std::vector<double>> open;
  for (std::size_t chain : {0u, 1u})
    for (const std::vector<double>& own : (chain == 0 ? one : other).open) {
      std::vector<double> step(x.size());
      std::copy(own.begin(), own.end(), step.begin() + static_cast<std::ptrdiff_t>(8 * chain));
      open.push_back(std::move(step));
    }
  const Normalised found = normalise(x, numbers, open);
  EXPECT_EQ(found.conditions.size(), 4u);
  for (std::size_t chain : {0u, 4u})
    EXPECT_NEAR((std::abs(number(found.x, chain)) + std::abs(number(found.x, chain + 1)) +
                 std::abs(number(found.x, chain + 2))) /
                    3,
                1, 1e-9);
}

// Elements of a matrix that are 0 but for rounding, in steps that turn it: relative changes without measure.
TEST(Normalisation, RoundingErrorsOfZeroStay) {
  Chain chain({{3, 0}, {1e-17, -2e-18}, {1, 0}, {2, 0}});
  for (std::vector<double>& step : chain.open) step[2] = 0.4, step[3] = -0.3;
  const Normalised found = normalise(chain.x, chain.numbers, chain.open);
  EXPECT_EQ(number(found.x, 1), Complex(1e-17, -2e-18));
  for (const double x : found.x) EXPECT_TRUE(std::isfinite(x));
  EXPECT_NEAR(std::abs(number(found.x, 0)), 1.5, 1e-12);
  EXPECT_EQ(found.conditions.size(), 2u);
}

// Delays k, bandpasses b and gains g of three antennas, at frequencies that differ by little: a delay is a turn of all,
// which g takes but for a slope, which b takes. Where one antenna is weak the slopes of others are none the less b's.
TEST(Normalisation, OfASlopeBesideAWeakAntenna) {
  constexpr double kSlope = 1e-4;
  std::vector<double> x;
  std::vector<Number> numbers;
  std::vector<std::vector<double>> each;
  for (std::uint32_t a = 0; a < 3; ++a) {
    const auto first = static_cast<std::uint32_t>(x.size());
    const double size = a == 1 ? 1e-2 : 1;
    for (std::uint32_t c = 0; c < 4; ++c) {
      const Complex value = c < 3 ? std::polar(size, kSlope * (a + 1) * (c - 1.0)) : Complex(1, 0);
      x.push_back(value.real()), x.push_back(value.imag());
      numbers.push_back({.re = first + 2 * c,
                         .im = first + 2 * c + 1,
                         .factor = true,
                         .rank = c < 3 ? 3 : 1,
                         .series = 3 * a + (c < 3 ? 0 : 1),
                         .column = c});
    }
    x.push_back(0);
    numbers.push_back({.re = first + 8, .rank = 2, .series = 3 * a + 2});
  }
  for (std::uint32_t a = 0; a < 3; ++a)
    for (const int kind : {0, 1, 2}) {
      std::vector<double> step(x.size());
      for (std::uint32_t c = 0; c < 4; ++c) {
        const Complex relative = kind == 0   ? Complex(c < 3 ? 1 : -1, 0)
                                 : kind == 1 ? Complex(0, c < 3 ? 1 : -1)
                                             : Complex(0, c < 3 ? -kSlope * (c - 1.0) : -1);
        const std::uint32_t at = 9 * a + 2 * c;
        const Complex change = Complex(x[at], x[at + 1]) * relative;
        step[at] = change.real(), step[at + 1] = change.imag();
      }
      step[9 * a + 8] = kind == 2 ? 1 : 0;
      // As steps of a null space are: of unknowns in units of their errors, which are large for a weak antenna.
      for (double& of : step) of *= a == 1 ? 1e4 : 1;
      each.push_back(std::move(step));
    }
  std::vector<std::vector<double>> open(9, std::vector<double>(x.size()));  // each a mixture of all
  for (std::size_t i = 0; i < 9; ++i)
    for (std::size_t j = 0; j < 9; ++j)
      for (std::size_t u = 0; u < x.size(); ++u)
        open[i][u] += ((i == j ? 5 : 0) + std::cos(1.0 + 3.0 * i * j + i)) * each[j][u];
  const Normalised found = normalise(x, numbers, open);
  EXPECT_EQ(found.conditions.size(), 9u);
  for (const std::uint32_t unknown : found.normalised) EXPECT_LT(unknown % 9, 6u) << "of other numbers than b";
  for (std::uint32_t a = 0; a < 3; ++a) {
    EXPECT_NEAR(found.x[9 * a + 8], a + 1, 1e-6);  // the slopes that were in b
    for (std::uint32_t c = 0; c < 3; ++c)
      EXPECT_NEAR(std::arg(Complex(found.x[9 * a + 2 * c], found.x[9 * a + 2 * c + 1])), 0, 1e-9);
  }
}

// Bandpasses b and gains g of four antennas, the gain of one of which is all but nothing: what is held of the others is
// not that of this one again.
TEST(Normalisation, ConditionsBesideADeadAntennaAreDifferent) {
  constexpr std::size_t kAntennas = 4, kOwn = 8;
  std::vector<double> x;
  std::vector<Number> numbers;
  std::vector<std::vector<double>> each;
  for (std::uint32_t a = 0; a < kAntennas; ++a) {
    const Chain chain({std::polar(1.1, 0.2 * a), {0.9, -0.1}, {1, 0.1}, {a == 1 ? 1e-6 : 0.5, 0}});
    for (Number number : chain.numbers) {
      number.re += kOwn * a, number.im += kOwn * a, number.series += 2 * a;
      numbers.push_back(number);
    }
    x.insert(x.end(), chain.x.begin(), chain.x.end());
    for (const std::vector<double>& own : chain.open) {
      std::vector<double> step(kOwn * kAntennas);
      // As steps of a null space are: of unknowns in units of their errors, which are large beside a small gain.
      for (std::size_t u = 0; u < kOwn; ++u) step[kOwn * a + u] = own[u] * (a == 1 ? 1e6 : 1);
      each.push_back(std::move(step));
    }
  }
  const std::size_t n = each.size();
  std::vector<std::vector<double>> open(n, std::vector<double>(x.size()));  // each a mixture of all
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j < n; ++j)
      for (std::size_t u = 0; u < x.size(); ++u)
        open[i][u] += ((i == j ? 5 : 0) + std::cos(1.0 + 3.0 * i * j + i)) * each[j][u];
  const Normalised found = normalise(x, numbers, open);
  ASSERT_EQ(found.conditions.size(), n);
  Eigen::MatrixXd seen(n, n);
  for (std::size_t c = 0; c < n; ++c)
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;
      for (const auto& [unknown, coefficient] : found.conditions[c]) sum += coefficient * each[j][unknown];
      seen(static_cast<Eigen::Index>(c), static_cast<Eigen::Index>(j)) = sum;
    }
  seen.rowwise().normalize();
  EXPECT_GT(Eigen::JacobiSVD<Eigen::MatrixXd>(seen).singularValues().minCoeff(), 1e-2);
}

TEST(Normalisation, NumbersOfZeroStay) {
  Chain chain({{3, 0}, {0, 0}, {1, 0}, {2, 0}});
  const Normalised found = normalise(chain.x, chain.numbers, chain.open);
  EXPECT_EQ(number(found.x, 1), Complex(0, 0));
  EXPECT_NEAR(std::abs(number(found.x, 0)), 1.5, 1e-12);
  EXPECT_NEAR(std::abs(number(found.x, 3)), 4, 1e-12);
}

TEST(Normalisation, WithoutRanksNothingMoves) {
  Chain chain({{3, 0}, {1, 0}, {2, 0}});
  for (Number& one : chain.numbers) one.rank = 0;
  const Normalised found = normalise(chain.x, chain.numbers, chain.open);
  EXPECT_EQ(found.x, chain.x);
  EXPECT_TRUE(found.conditions.empty());
}

}  // namespace
}  // namespace rimetree::fit
