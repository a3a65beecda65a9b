// Covariance: hand-made normal matrices whose inverses, ranks and null spaces are known.
#include "runtime/fit/covariance.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>

namespace rimetree::fit {
namespace {

NormalEquations equations(std::size_t n, const std::vector<double>& matrix) {
  NormalEquations result(n);
  result.matrix = matrix;
  return result;
}

TEST(Covariance, IsTheInverse) {
  const auto of = equations(2, {4, 0, 2, 9});  // [[4, 2], [2, 9]], inverse [[9, -2], [-2, 4]]/32
  const Covariance covariance = fit::covariance(of, {false, false});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.sigma[0], std::sqrt(9.0 / 32), 1e-15);
  EXPECT_NEAR(covariance.sigma[1], std::sqrt(4.0 / 32), 1e-15);
  EXPECT_NEAR(covariance.condition, (1 + 1.0 / 3) / (1 - 1.0 / 3), 1e-12);  // scaled: [[1, 1/3], [1/3, 1]]
  EXPECT_NEAR(covariance.determined[0], 1, 1e-15);
}

TEST(Covariance, ScalesDoNotMatter) {
  const auto of = equations(2, {4e-30, 0, 2, 9e30});
  const Covariance covariance = fit::covariance(of, {false, false});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.sigma[0] * 1e-15, std::sqrt(9.0 / 32), 1e-14);
}

TEST(Covariance, ACommonOffsetIsNotDetermined) {
  // Differences of three unknowns: 3 I - 1 1^T. Each is determined but for a third; the pseudo-inverse is (I -
  // 11^T/3)/3.
  const auto of = equations(3, {2, 0, 0, -1, 2, 0, -1, -1, 2});
  const Combination sum{{0, 1.0}, {1, 1.0}, {2, 1.0}}, difference{{0, 1.0}, {2, -1.0}};
  const Covariance covariance = fit::covariance(of, {false, false, false}, {{sum, difference}, {}, {}});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.condition, 1, 1e-12);
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(covariance.determined[k], 2.0 / 3, 1e-12);
    EXPECT_NEAR(covariance.sigma[k], std::sqrt(2.0 / 9), 1e-12);
  }
  EXPECT_FALSE(covariance.combination_determined[0]);
  EXPECT_TRUE(covariance.combination_determined[1]);
}

TEST(Covariance, AConditionDeterminesWhatTheDataLeaveOpen) {
  // As above, with the first of the three unknowns known: the others follow from [[2, -1], [-1, 2]]. With their sum
  // known the errors are those of the pseudo-inverse, and a difference that is known besides is what data tell anyway.
  const auto of = equations(3, {2, 0, 0, -1, 2, 0, -1, -1, 2});
  const Combination first{{0, 5.0}}, sum{{0, 1.0}, {1, 1.0}, {2, 1.0}}, difference{{0, 1.0}, {2, -1.0}};
  const Covariance covariance = fit::covariance(of, {false, false, false}, {{sum}, {first}, {{1, 2}}});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_TRUE(covariance.combination_determined[0]);
  EXPECT_NEAR(covariance.sigma[0], 0, 1e-7);
  EXPECT_NEAR(covariance.sigma[1], std::sqrt(2.0 / 3), 1e-12);
  EXPECT_NEAR(covariance.sigma[2], std::sqrt(2.0 / 3), 1e-12);
  EXPECT_NEAR(covariance.determined[1], 1, 1e-12);
  EXPECT_NEAR(covariance.of_pairs[0], 1.0 / 3, 1e-12);
  const Covariance of_sum = fit::covariance(of, {false, false, false}, {{}, {sum, difference}, {{0, 1}}});
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(of_sum.sigma[k], std::sqrt(2.0 / 9), 1e-12);
  EXPECT_NEAR(of_sum.of_pairs[0], -1.0 / 9, 1e-12);
}

TEST(Covariance, AConditionThatSeesLittle) {
  // Two differences are known, and two sums open. The second condition sees the second sum by a millionth of what it
  // is, beside the difference of the first two, which has the error 1.
  const auto of = equations(4, {1, 0, 0, 0, -1, 1, 0, 0, 0, 0, 1, 0, 0, 0, -1, 1});
  const Combination sum{{0, 1.0}, {1, 1.0}}, little{{0, 1.0}, {1, -1.0}, {2, 1e-6}};
  const Covariance covariance = fit::covariance(of, {false, false, false, false}, {{}, {sum, little}, {}});
  for (int k = 0; k < 4; ++k) EXPECT_NEAR(covariance.determined[k], 1, 1e-9);
  EXPECT_NEAR(covariance.sigma[0], 0.5, 1e-6);
  EXPECT_NEAR(covariance.sigma[2], 1e6, 1e3);
}

TEST(Covariance, AKnownStepIsToldApartFromWhatIsHardlyDetermined) {
  // u u^T + least v v^T of orthogonal unit vectors, and nothing along the third one, w; with rounding errors that mix v
  // and w: of the unknown that has no part in v those of u u^T are all.
  constexpr double kLeast = 1e-11, kRounding = 1e-15;
  const std::vector<double> u(3, std::sqrt(1.0 / 3)), v = {std::sqrt(0.5), -std::sqrt(0.5), 0},
                                                      w = {std::sqrt(1.0 / 6), std::sqrt(1.0 / 6), -std::sqrt(4.0 / 6)};
  std::vector<double> matrix;
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      matrix.push_back(u[i] * u[j] + kLeast * v[i] * v[j] + kRounding * (v[i] * w[j] + w[i] * v[j]));
  const Covariance covariance = fit::covariance(equations(3, matrix), {false, false, false}, {{}, {}, {{0, 2}}, {w}});
  EXPECT_EQ(covariance.rank, 2u);
  EXPECT_NEAR(covariance.sigma[2], std::sqrt(1.0 / 3), 1e-3);
  EXPECT_NEAR(covariance.of_pairs[0], 1.0 / 3, 0.1);  // 4e3 without
  EXPECT_NEAR(covariance.sigma[0], std::sqrt(0.5 / kLeast), 1e3);
}

TEST(Covariance, StepsThatNoEquationSees) {
  const auto of = equations(3, {2, 0, 0, -1, 2, 0, -1, -1, 2});
  const auto steps = null_space(of, {false, false, false});
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(steps[0][0], steps[0][1], 1e-12);
  EXPECT_NEAR(steps[0][0], steps[0][2], 1e-12);
  EXPECT_TRUE(null_space(of, {true, false, false}).empty());
}

TEST(Covariance, StepsHaveNothingOfUnknownsThatTheyLeaveAlone) {
  // Two factors that can exchange what they are, 1.1 and 0.9 of three data, and one more beside them on a fourth.
  std::vector<double> matrix(16, 0.0);
  const double data[4][4] = {{1.1, 0.9, 0, 0}, {0.7, 0, 1.3, 0}, {1.1, 0.9, 0, 0.6}, {0.7, 0, 1.3, 0.8}};
  for (const auto& row : data)
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t j = 0; j < 4; ++j) matrix[4 * i + j] += row[i] * row[j];
  const auto steps = null_space(equations(4, matrix), std::vector<bool>(4, false));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(steps[0][1] / steps[0][0], -1.1 / 0.9, 1e-10);
  EXPECT_EQ(steps[0][3], 0.0);  // rounding had left 1e-16, relative to which others were nothing
}

TEST(Covariance, StepsHaveNothingOfUnknownsThatAreNearlyAsOthers) {
  // Two phases that can exchange what they are, and a third that differs from them by a slope of 1e-3 in all.
  constexpr int kChannels = 8;
  std::vector<double> matrix(9, 0.0);
  for (int channel = 0; channel < kChannels; ++channel) {
    const double row[3] = {0.9, 1.3, 1.1 + 1.25e-4 * channel};
    for (std::size_t i = 0; i < 3; ++i)
      for (std::size_t j = 0; j < 3; ++j) matrix[3 * i + j] += row[i] * row[j];
  }
  const auto steps = null_space(equations(3, matrix), std::vector<bool>(3, false));
  ASSERT_EQ(steps.size(), 1u);
  EXPECT_NEAR(steps[0][1] / steps[0][0], -0.9 / 1.3, 1e-7);
  EXPECT_EQ(steps[0][2], 0.0);  // 1e-9 with rounding, more than of equations that tell all unknowns apart
}

TEST(Covariance, WhatHasNoDataOrIsHeldHasNoError) {
  const auto of = equations(3, {4, 0, 0, 0, 0, 0, 2, 0, 9});
  const Covariance covariance = fit::covariance(of, {true, false, false});
  EXPECT_EQ(covariance.rank, 1u);
  EXPECT_TRUE(std::isnan(covariance.sigma[0]));
  EXPECT_TRUE(std::isnan(covariance.sigma[1]));
  EXPECT_NEAR(covariance.sigma[2], 1.0 / 3, 1e-15);  // the held one has no error that it could share
  EXPECT_EQ(covariance.determined[1], 0);
}

// Gains on all baselines of n antennas at amplitude and phase, one row of unknowns after the other: amplitudes have the
// matrix (n - 2) I + 11^T, phases n I - 11^T with a common offset that is free. Both inverses are known.
void expect_amplitudes_and_phases(std::size_t n) {
  NormalEquations of(2 * n);
  const auto count = static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t j = 0; j <= i; ++j) {
      of.at(i, j) = (i == j ? count - 2 : 0) + 1;
      of.at(n + i, n + j) = (i == j ? count : 0) - 1;
    }
  Combination phases, amplitudes;
  for (std::size_t i = 0; i < n; ++i) {
    amplitudes.emplace_back(i, 1.0);
    phases.emplace_back(n + i, 1.0);
  }
  const Covariance covariance = fit::covariance(of, std::vector<bool>(2 * n, false), {{amplitudes, phases}, {}, {}});
  EXPECT_EQ(covariance.rank, 2 * n - 1);
  EXPECT_TRUE(covariance.combination_determined[0]);
  EXPECT_FALSE(covariance.combination_determined[1]);
  const double amplitude = (1 - 1 / (2 * count - 2)) / (count - 2), phase = (1 - 1 / count) / count;
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(covariance.sigma[i], std::sqrt(amplitude), 1e-11);
    EXPECT_NEAR(covariance.sigma[n + i], std::sqrt(phase), 1e-11);
    EXPECT_NEAR(covariance.determined[n + i], 1 - 1 / count, 1e-10);
  }
  // Scaled to unit diagonal: amplitudes have eigenvalues 2 and (n - 2)/(n - 1), phases n/(n - 1).
  EXPECT_NEAR(covariance.condition, 2 * (count - 1) / (count - 2), 1e-2);
}

TEST(Covariance, OfAFewUnknownsAndOfManyIsFoundByDifferentWays) {
  expect_amplitudes_and_phases(20);
  expect_amplitudes_and_phases(250);
}

TEST(Covariance, OfManyMayLeaveManyUndetermined) {
  NormalEquations of(500);  // pairs of which only the sum is determined
  for (std::size_t i = 0; i < 500; ++i) of.at(i, i) = 1;
  for (std::size_t i = 0; i < 500; i += 2) of.at(i + 1, i) = 1;
  const Covariance covariance = fit::covariance(of, std::vector<bool>(500, false));
  EXPECT_EQ(covariance.rank, 250u);
  for (const double determined : covariance.determined) EXPECT_NEAR(determined, 0.5, 1e-10);
  for (const double sigma : covariance.sigma) EXPECT_NEAR(sigma, 0.5, 1e-10);
}

TEST(Covariance, OfManyMayLeaveNothingUndetermined) {
  constexpr std::size_t kPairs = 65, n = 2 * kPairs;
  NormalEquations of(n);
  for (std::size_t k = 0; k < n; k += 2) {
    of.matrix[k * n + k] = 4, of.matrix[(k + 1) * n + k + 1] = 9;
    of.matrix[(k + 1) * n + k] = 2;
  }
  const Covariance covariance = fit::covariance(of, std::vector<bool>(n, false));
  EXPECT_EQ(covariance.rank, n);
  for (std::size_t k = 0; k < n; ++k) {
    EXPECT_NEAR(covariance.sigma[k], std::sqrt((k % 2 == 0 ? 9.0 : 4.0) / 32), 1e-12);
    EXPECT_NEAR(covariance.determined[k], 1, 1e-12);
  }
}

// Phases of tiles with a common offset each, and an unknown that all tiles share. As the dense matrix has it.
NormalEquations tiles_of_phases(std::size_t tiles, std::size_t each, bool sparse) {
  const std::size_t n = 1 + tiles * each;
  SparsityBuilder builder(n);
  for (std::uint32_t t = 0; t < tiles; ++t) {
    std::vector<std::uint32_t> unknowns{0};
    for (std::uint32_t i = 0; i < each; ++i) unknowns.push_back(1 + t * static_cast<std::uint32_t>(each) + i);
    builder.connect(unknowns);
  }
  NormalEquations of(n, sparse ? builder.finish() : nullptr);
  // Observations x_i - x_j + c_ij x_0 of one weight.
  for (std::size_t t = 0; t < tiles; ++t)
    for (std::size_t i = 0; i < each; ++i)
      for (std::size_t j = 0; j < i; ++j) {
        const std::size_t a = 1 + t * each + i, b = 1 + t * each + j;
        const double c = std::sin(static_cast<double>(7 * i + 3 * j + t));
        of.at(a, a) += 1, of.at(b, b) += 1, of.at(a, b) -= 1;
        of.at(0, 0) += c * c, of.at(a, 0) += c, of.at(b, 0) -= c;
      }
  return of;
}

// Phases of a bandpass and of gains: observations (b_ac + g_at) - (b_bc + g_bt) of one weight. `apart`: without what
// couples both.
constexpr std::size_t kAntennas = 5, kChannels = 12, kTimes = 8, kOfAntenna = kChannels + kTimes;

NormalEquations bandpass_and_gains(bool apart) {
  const std::size_t n = kAntennas * kOfAntenna;
  SparsityBuilder builder(n);
  std::vector<std::uint32_t> part;
  for (std::uint32_t a = 0; a < n; ++a) {
    part.push_back(a % kOfAntenna < kChannels ? 0 : 1);
    for (std::uint32_t b = 0; b < a; ++b)
      if (a % kOfAntenna == b % kOfAntenna) builder.connect(a, b);
  }
  NormalEquations of(n, apart ? builder.finish(part) : nullptr);
  for (std::size_t a = 0; a < kAntennas; ++a)
    for (std::size_t b = 0; b < a; ++b)
      for (std::size_t c = 0; c < kChannels; ++c)
        for (std::size_t t = 0; t < kTimes; ++t) {
          const std::array<std::size_t, 4> unknowns{a * kOfAntenna + c, a * kOfAntenna + kChannels + t,
                                                    b * kOfAntenna + c, b * kOfAntenna + kChannels + t};
          for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j <= i; ++j) {
              const double slopes = (i < 2 ? 1 : -1) * (j < 2 ? 1 : -1);
              if (!apart || of.sparsity->couples(unknowns[i], unknowns[j])) of.at(unknowns[i], unknowns[j]) += slopes;
            }
        }
  return of;
}

TEST(Covariance, OfPartsThatAreSolvedInTurnsIsThatOfAllTogether) {
  const std::size_t n = kAntennas * kOfAntenna;
  CovarianceRequest request;
  for (std::size_t a = 0; a < kAntennas; ++a) {
    std::vector<double>& step = request.open.emplace_back(n, 0.0);
    for (std::size_t k = 0; k < kOfAntenna; ++k) step[a * kOfAntenna + k] = k < kChannels ? 1 : -1;
    Combination& mean = request.conditions.emplace_back();
    for (std::size_t c = 0; c < kChannels; ++c) mean.emplace_back(a * kOfAntenna + c, 1.0);
  }
  request.pairs = {{0, kOfAntenna}, {kChannels, kOfAntenna + kChannels}};
  request.combinations = {{{0, 1.0}, {kOfAntenna, -1.0}}, {{0, 1.0}, {kOfAntenna, 1.0}}, {{kChannels, 1.0}}};
  const std::vector<bool> held(n, false);
  const Covariance apart = covariance(bandpass_and_gains(true), held, request),
                   together = covariance(bandpass_and_gains(false), held, request);
  EXPECT_EQ(apart.rank, together.rank);
  for (std::size_t k = 0; k < n; ++k) {
    EXPECT_NEAR(apart.sigma[k], together.sigma[k], 1e-6 * together.sigma[k]) << k;
    EXPECT_NEAR(apart.determined[k], together.determined[k], 0.1) << k;
  }
  for (std::size_t k = 0; k < request.pairs.size(); ++k) EXPECT_NEAR(apart.of_pairs[k], together.of_pairs[k], 1e-9);
  EXPECT_EQ(apart.combination_determined, together.combination_determined);
}

TEST(Covariance, OfASparseMatrixIsThatOfTheDenseOne) {
  constexpr std::size_t kTiles = 20, kEach = 12, n = 1 + kTiles * kEach;
  std::vector<bool> held(n, false);
  held[5] = true;
  const std::vector<Combination> combinations{{{1, 1.0}, {2, 1.0}}, {{13, 1.0}, {14, -1.0}}, {{0, 1.0}}};
  const CovarianceRequest request{combinations, {}, {{1, 2}, {5, 0}}};
  const Covariance sparse = covariance(tiles_of_phases(kTiles, kEach, true), held, request),
                   dense = covariance(tiles_of_phases(kTiles, kEach, false), held, request);
  for (int k = 0; k < 2; ++k)
    EXPECT_NEAR(sparse.of_pairs[k], dense.of_pairs[k], 1e-9 * dense.sigma[1] * dense.sigma[1]);
  EXPECT_EQ(dense.rank, n - 1 - (kTiles - 1));  // the held one fixes the offset of its tile
  EXPECT_EQ(sparse.rank, dense.rank);
  EXPECT_EQ(sparse.combination_determined, dense.combination_determined);
  EXPECT_EQ(sparse.combination_determined, (std::vector<bool>{true, true, true}));
  EXPECT_NEAR(sparse.condition, dense.condition, 0.02 * dense.condition);
  for (std::size_t k = 0; k < n; ++k) {
    if (k == 5) {
      EXPECT_TRUE(std::isnan(sparse.sigma[k]));
      continue;
    }
    EXPECT_NEAR(sparse.sigma[k], dense.sigma[k], 1e-11);
    EXPECT_NEAR(sparse.determined[k], dense.determined[k], 1e-9);
  }
  // Without the unknown that is shared: (I - 11^T/n)/n, as above.
  EXPECT_NEAR(dense.sigma[n - 1], std::sqrt((1 - 1.0 / kEach) / kEach), 1e-3);
}

TEST(Covariance, OfNothing) {
  const Covariance covariance = fit::covariance(equations(2, {0, 0, 0, 0}), {false, false}, {{{{0, 1.0}}}, {}, {}});
  EXPECT_EQ(covariance.rank, 0u);
  EXPECT_TRUE(std::isnan(covariance.sigma[0]));
  EXPECT_FALSE(covariance.combination_determined[0]);
}

TEST(Covariance, OfUnknownsThatAreAllHeld) {
  const auto of = equations(2, {1, 0, 0, 0});
  const Covariance covariance = fit::covariance(of, {true, false}, {{{{0, 1.0}}, {{0, 1.0}, {1, 1.0}}}, {}, {}});
  EXPECT_EQ(covariance.rank, 0u);
  EXPECT_TRUE(covariance.combination_determined[0]);
  EXPECT_FALSE(covariance.combination_determined[1]);  // of the second unknown nothing is known
}

}  // namespace
}  // namespace rimetree::fit
