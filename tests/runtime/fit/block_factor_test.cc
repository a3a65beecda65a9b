// Elimination block by block against dense matrices.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "runtime/fit/covariance.h"
#include "runtime/fit/normal_solver.h"

namespace rimetree::fit {
namespace {

struct Case {
  NormalEquations sparse, dense;
};

/// What an observation sees of the unknowns of a block and of the border: either by itself (nothing is left open), the
/// sum of one and one (a constant is), differences of two and of two (a constant of each block and of the border is).
enum class Sees : std::uint8_t { each, sums, differences };

/// Equations of unknowns of one of so many blocks and some that all share, in mixed order.
Case random_case(std::size_t n_block, std::size_t of_block, std::size_t border, Sees sees) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  const std::size_t n = n_block * of_block + border;
  std::vector<std::uint32_t> order(n);
  for (std::uint32_t k = 0; k < n; ++k) order[k] = k;
  std::shuffle(order.begin(), order.end(), random);
  std::vector<std::vector<std::pair<std::uint32_t, double>>> rows;
  for (std::size_t b = 0; b < n_block; ++b)
    for (std::size_t k = 0; k < of_block; ++k)
      for (std::size_t s = 0; s < border; ++s) {
        const double a = normal(random), c = normal(random), d = normal(random);
        rows.push_back({{order[b * of_block + k], a}, {order[n_block * of_block + s], sees == Sees::sums ? a : c}});
        if (sees == Sees::sums) continue;
        rows.back().emplace_back(order[b * of_block + (k + 1) % of_block], sees == Sees::each ? d : -a);
        if (sees == Sees::differences) rows.back().emplace_back(order[n_block * of_block + (s + 1) % border], -c);
      }
  SparsityBuilder builder(n);
  std::vector<std::uint32_t> places;
  for (const auto& row : rows) {
    places.clear();
    for (const auto& [u, value] : row) places.push_back(u);
    builder.connect(places);
  }
  Case made{NormalEquations(n, builder.finish()), NormalEquations(n)};
  for (NormalEquations* to : {&made.sparse, &made.dense}) {
    std::mt19937 again(5);
    for (const auto& row : rows) {
      const double datum = std::normal_distribution<double>()(again);
      for (std::size_t i = 0; i < row.size(); ++i) {
        to->gradient[row[i].first] += row[i].second * datum;
        for (std::size_t j = 0; j <= i; ++j) to->at(row[i].first, row[j].first) += row[i].second * row[j].second;
      }
      to->equations += 1;
    }
  }
  return made;
}

TEST(BlockFactor, OrderFindsBlocksAndWhatTheyShare) {
  const Case one = random_case(7, 5, 4, Sees::each);
  const BlockOrder* order = one.sparse.sparsity->order();
  ASSERT_NE(order, nullptr);
  EXPECT_EQ(order->border.size(), 4u);
  ASSERT_EQ(order->blocks.size(), 7u);
  for (const auto& block : order->blocks) {
    EXPECT_EQ(block.unknowns.size(), 5u);
    EXPECT_EQ(block.border.size(), 4u);
  }
}

TEST(BlockFactor, NoOrderWhereAllShareData) {
  SparsityBuilder builder(20);
  std::vector<std::uint32_t> all(20);
  for (std::uint32_t k = 0; k < 20; ++k) all[k] = k;
  builder.connect(all);
  EXPECT_EQ(builder.finish()->order(), nullptr);
}

TEST(BlockFactor, StepsAreThoseOfDenseMatrices) {
  const Case one = random_case(6, 4, 3, Sees::each);
  for (const double damping : {0.0, 0.1}) {
    std::vector<bool> free(one.dense.n, true);
    free[2] = false;
    NormalSolver sparse, dense;
    sparse.set(one.sparse, free, {});
    dense.set(one.dense, free, {});
    const auto found = sparse.step(damping, one.sparse.gradient), expected = dense.step(damping, one.dense.gradient);
    ASSERT_EQ(found.size(), expected.size());
    for (std::size_t k = 0; k < found.size(); ++k) EXPECT_NEAR(found[k], expected[k], 1e-12);
  }
}

TEST(BlockFactor, ErrorsAreThoseOfDenseMatrices) {
  struct Kind {
    Sees sees;
    std::size_t n_block, of_block, border, open;
  };
  // Null spaces of blocks are found by all eigenvalues, or, of more than 32 unknowns, by iteration.
  for (const Kind& kind : {Kind{Sees::each, 9, 3, 2, 0}, Kind{Sees::sums, 9, 3, 2, 1},
                           Kind{Sees::differences, 9, 3, 3, 10}, Kind{Sees::differences, 4, 40, 5, 5}}) {
    const Case one = random_case(kind.n_block, kind.of_block, kind.border, kind.sees);
    ASSERT_NE(one.sparse.sparsity->order(), nullptr);
    CovarianceRequest request;
    request.conditions.push_back({});
    for (std::size_t k = 0; k < one.dense.n; ++k) request.conditions[0].emplace_back(k, 1.0);
    // Of one block, of the border, and of a block with the border.
    const BlockOrder& order = *one.sparse.sparsity->order();
    const auto &first = order.blocks[0].unknowns, &other = order.blocks.back().unknowns;
    request.pairs = {
        {first.front(), first.back()}, {order.border[0], order.border[1]}, {order.border[1], other.back()}};
    const std::vector<bool> held(one.dense.n, false);
    const Covariance found = covariance(one.sparse, held, request), expected = covariance(one.dense, held, request);
    EXPECT_EQ(found.rank, expected.rank);
    EXPECT_EQ(found.rank, one.dense.n - kind.open);
    for (std::size_t k = 0; k < one.dense.n; ++k) {
      EXPECT_NEAR(found.sigma[k], expected.sigma[k], 1e-9 * expected.sigma[k]);
      EXPECT_NEAR(found.determined[k], expected.determined[k], 1e-9);
    }
    for (std::size_t k = 0; k < request.pairs.size(); ++k)
      EXPECT_NEAR(found.of_pairs[k], expected.of_pairs[k], 1e-9 * std::abs(expected.of_pairs[k]));
  }
}

TEST(BlockFactor, WhateverIsKnownOfTheNullSpaceItIsTheSame) {
  const Case one = random_case(5, 4, 3, Sees::differences);
  const std::vector<bool> held(one.dense.n, false);
  const BlockOrder& order = *one.sparse.sparsity->order();
  const auto constant = [&](std::vector<int> parts) {  // -1: the border
    std::vector<double> step(one.dense.n, 0.0);
    for (std::size_t k = 0; k < step.size(); ++k)
      if (std::find(parts.begin(), parts.end(), order.block_of[k]) != parts.end()) step[k] = 1;
    return step;
  };
  const Covariance expected = covariance(one.dense, held);
  EXPECT_EQ(expected.rank, one.dense.n - 6);
  // A constant of a block, of the border, of several of them, of all; one more than once, in other words.
  const std::vector<std::vector<std::vector<int>>> known = {
      {{2}}, {{-1}}, {{0, 3}}, {{-1, 0, 1, 2, 3, 4}}, {{-1, 2}, {2}, {-1}}, {{1}, {1, 4}, {-1}, {0, 1, 2, 3, 4}}};
  for (const auto& steps : known) {
    CovarianceRequest request;
    for (const auto& parts : steps) request.open.push_back(constant(parts));
    const Covariance found = covariance(one.sparse, held, request);
    EXPECT_EQ(found.rank, expected.rank);
    for (std::size_t k = 0; k < one.dense.n; ++k) {
      EXPECT_NEAR(found.sigma[k], expected.sigma[k], 1e-9 * expected.sigma[k]);
      EXPECT_NEAR(found.determined[k], expected.determined[k], 1e-9);
    }
    const auto open = null_space(one.sparse, held, request.open);
    ASSERT_EQ(open.size(), 6u);
    for (const std::vector<double>& step : open)
      for (const double change : one.dense.times(step)) EXPECT_NEAR(change, 0, 1e-9);
  }
}

TEST(BlockFactor, KnownStepsThatAreOneButForRoundingCountOnce) {
  const Case one = random_case(5, 4, 3, Sees::differences);
  const std::vector<bool> held(one.dense.n, false);
  const std::vector<double> all(one.dense.n, 1.0);
  std::vector<double> rounded(one.dense.n);
  for (std::size_t k = 0; k < rounded.size(); ++k) rounded[k] = 1 + 1e-14 * static_cast<double>(k % 3);
  for (const NormalEquations* equations : {&one.dense, &one.sparse}) {
    EXPECT_EQ(null_space(*equations, held, {all, rounded}).size(), 6u);
    CovarianceRequest request;
    request.open = {all, rounded};
    EXPECT_EQ(covariance(*equations, held, request).rank, one.dense.n - 6);
  }
}

}  // namespace
}  // namespace rimetree::fit
