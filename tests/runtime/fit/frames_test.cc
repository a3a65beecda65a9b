// Frames: steps that turn all Jones matrices together leave visibilities as they are, which straight ones do not.
#include "runtime/fit/frames.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace rimetree::fit {
namespace {

using Number = std::complex<double>;
using Vector = std::vector<double>;

const std::vector<ComplexMatrix> kMatrices{{2, {0, 1, 2, 3, 4, 5, 6, 7}}, {2, {8, 9, 10, 11, 12, 13, 14, 15}}};

Vector random_vector(std::size_t n, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal;
  Vector x(n);
  for (double& value : x) value = normal(random);
  return x;
}

/// G_0 G_1^H of two matrices.
std::array<Number, 4> product(const Vector& x) {
  const auto element = [&](std::size_t p, std::size_t e) { return Number(x[8 * p + 2 * e], x[8 * p + 2 * e + 1]); };
  std::array<Number, 4> result;
  for (std::size_t i = 0; i < 2; ++i)
    for (std::size_t j = 0; j < 2; ++j)
      result[2 * i + j] =
          element(0, 2 * i) * std::conj(element(1, 2 * j)) + element(0, 2 * i + 1) * std::conj(element(1, 2 * j + 1));
  return result;
}

TEST(Frames, ACommonTurnOfMatricesChangesNoProduct) {
  const Vector x = random_vector(16, 1);
  // G -> G A for the anti-Hermitian A = i [[0.7, 0.4 - 0.3i], [0.4 + 0.3i, -0.5]].
  const Number a[4] = {{0, 0.7}, {0.3, 0.4}, {-0.3, 0.4}, {0, -0.5}};
  Vector step(16);
  for (std::size_t p = 0; p < 2; ++p)
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t j = 0; j < 2; ++j) {
        Number sum = 0;
        for (std::size_t k = 0; k < 2; ++k)
          sum += Number(x[8 * p + 4 * i + 2 * k], x[8 * p + 4 * i + 2 * k + 1]) * a[2 * k + j];
        step[8 * p + 4 * i + 2 * j] = sum.real(), step[8 * p + 4 * i + 2 * j + 1] = sum.imag();
      }
  const auto before = product(x), turned = product(Frames(kMatrices, x).move(x, step)),
             straight = product(Frames().move(x, step));
  for (std::size_t e = 0; e < 4; ++e) EXPECT_LT(std::abs(turned[e] - before[e]), 1e-14);
  EXPECT_GT(std::abs(straight[0] - before[0]), 0.1);
}

TEST(Frames, ANumberTurnsByAnAngleAndGrowsByALength) {
  const ComplexMatrix number{1, {0, 1}};
  const Vector x{0, 2}, step{-0.6, 0.5};  // 2i: turned by 0.3 rad, longer by 0.5
  const Vector moved = Frames({number}, x).move(x, step);
  const Number expected = std::polar(2.5, std::acos(-1.0) / 2 + 0.3);
  EXPECT_NEAR(moved[0], expected.real(), 1e-15);
  EXPECT_NEAR(moved[1], expected.imag(), 1e-15);
}

TEST(Frames, AShortStepIsTheStep) {
  const Vector x = random_vector(16, 2);
  Vector step = random_vector(16, 3);
  for (double& s : step) s *= 1e-6;
  const Vector moved = Frames(kMatrices, x).move(x, step);
  for (std::size_t k = 0; k < 16; ++k) EXPECT_NEAR(moved[k] - x[k], step[k], 3e-11);
}

TEST(Frames, LocalCoordinatesGoBackAndKeepProductsWithGradients) {
  const Vector x = random_vector(16, 4), step = random_vector(16, 5), gradient = random_vector(16, 6);
  const Frames frames(kMatrices, x);
  const Vector local = frames.step_to_local(step), local_gradient = frames.gradient_to_local(gradient);
  const Vector back = frames.step_from_local(local), gradient_back = frames.gradient_from_local(local_gradient);
  double product = 0, local_product = 0;
  for (std::size_t k = 0; k < 16; ++k) {
    EXPECT_NEAR(back[k], step[k], 1e-13);
    EXPECT_NEAR(gradient_back[k], gradient[k], 1e-13);
    product += step[k] * gradient[k];
    local_product += local[k] * local_gradient[k];
  }
  EXPECT_NEAR(local_product, product, 1e-12);
}

TEST(Frames, NoStepTakesANumberToNothing) {
  const std::vector<ComplexMatrix> numbers{{1, {0, 1}}, {1, {2, 3}}};
  const Vector x{0, 2, 1, 0}, step{-0.6, -2, 0.1, 0.2};  // -1 relative to 2i, which it also turns by 0.3 rad
  const Frames frames(numbers, x);
  const Vector limited = frames.without_vanishing(step);
  EXPECT_EQ(limited[2], 0.1);
  EXPECT_EQ(limited[3], 0.2);
  const Vector moved = frames.move(x, limited);
  const Number expected = std::polar(0.5, std::acos(-1.0) / 2 + 0.3);
  EXPECT_NEAR(moved[0], expected.real(), 1e-15);
  EXPECT_NEAR(moved[1], expected.imag(), 1e-15);
}

TEST(Frames, WhatLeavesEnoughOfANumberStaysAsItIs) {
  const Vector step{-0.6, 0.3};
  EXPECT_EQ(Frames({{1, {0, 1}}}, {1, 0}).without_vanishing(step), step);
}

TEST(Frames, MatricesThatCannotBeInvertedGoStraight) {
  const Vector zero(8, 0.0), singular{1, 0, 1, 0, 1, 0, 1, 1e-4}, step = random_vector(8, 9);
  for (const Vector& x : {zero, singular}) {
    const Frames frames({kMatrices[0]}, x);
    EXPECT_EQ(frames.step_to_local(step), step);
    EXPECT_EQ(frames.without_vanishing(step), step);
    const Vector moved = frames.move(x, step);
    for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(moved[k], x[k] + step[k]);
  }
}

TEST(Frames, AMatrixThatDoesNotTurnIsStretched) {
  const Vector unit{1, 0, 0, 0, 0, 0, 1, 0}, step{0.5, 0, 0.25, 0, 0.25, 0, -0.25, 0};
  const Vector moved = Frames({kMatrices[0]}, unit).move(unit, step);
  for (std::size_t k = 0; k < 8; ++k) EXPECT_NEAR(moved[k], unit[k] + step[k], 1e-15);
}

TEST(Frames, NoStepTakesAMatrixToASingularOne) {
  const Vector x = random_vector(8, 8);
  const Frames frames({kMatrices[0]}, x);
  const Vector straight{-1, 0, 0, 0, 0, 0, -0.2, 0};  // takes the first column of the unit matrix away
  double norm = 0;
  for (const double value : x) norm += value * value;
  Vector local(straight);
  for (double& value : local) value *= std::sqrt(norm);
  const Vector moved = frames.move(x, frames.without_vanishing(frames.step_from_local(local)));
  const auto determinant = [](const Vector& m) {
    return Number(m[0], m[1]) * Number(m[6], m[7]) - Number(m[2], m[3]) * Number(m[4], m[5]);
  };
  EXPECT_NEAR(std::abs(determinant(moved) / determinant(x)), 0.25 * (1 - 0.75 * 0.2), 1e-13);
}

TEST(Frames, NumbersTurnByAnyAngle) {
  const Vector moved = Frames({{1, {0, 1}}}, {1, 0}).move({1, 0}, {0.5, 10});
  EXPECT_NEAR(moved[0], 1.5 * std::cos(10), 1e-15);
  EXPECT_NEAR(moved[1], 1.5 * std::sin(10), 1e-15);
}

TEST(Frames, WhatHasNoDirectionMovesStraight) {
  const Vector singular{1, 0, 2, 0, 2, 0, 4, 0}, zero{0, 0}, step = random_vector(8, 7);
  const Vector moved = Frames({kMatrices[0]}, singular).move(singular, step);
  for (std::size_t k = 0; k < 8; ++k) EXPECT_EQ(moved[k], singular[k] + step[k]);
  EXPECT_EQ(Frames({{1, {0, 1}}}, zero).move(zero, {0.5, -1}), (Vector{0.5, -1}));
  const Vector one{1, 0}, far{4, 10};
  EXPECT_EQ(Frames({{1, {0, 1}}}, one).move(one, far), (Vector{5, 10}));
}

}  // namespace
}  // namespace rimetree::fit
