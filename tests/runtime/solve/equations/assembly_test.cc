// Normal equations are the sums of what items add, whether the matrix is dense or sparse, whatever the order of an
// item's unknowns, and whether a block has many items, which are summed up before they are added, or few.
#include "runtime/solve/equations/assembly.h"

#include <algorithm>
#include <limits>
#include <random>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

using solve::Contribution;
using solve::GroupEquations;
using solve::Item;
using solve::Problem;

constexpr int kAntennas = 6, kTimes = 2, kChannels = 3;

/// Gains, a tile for each time, times bandpasses, a tile for each channel; each pair of antennas is an equation.
Problem gains_times_bandpasses(TestForest& forest) {
  const TestForest::Fields gain{
      {"value", 1.0}, {"solvable", true}, {"time_edges_s", array({kTimes + 1}, {5e9 - 5, 5e9 + 5, 5e9 + 15})}};
  const TestForest::Fields bandpass{
      {"value", 1.0}, {"solvable", true}, {"freq_edges_hz", array({kChannels + 1}, {0.95e9, 1.05e9, 1.15e9, 1.25e9})}};
  forest.constant("d", 2.0).parm("elsewhere", 1);
  for (int p = 0; p < kAntennas; ++p)
    forest.node("g" + std::to_string(p), "Parm", {}, gain).node("b" + std::to_string(p), "Parm", {}, bandpass);
  TestForest::Children condeqs;
  for (int p = 0; p < kAntennas; ++p)
    for (int q = p + 1; q < kAntennas; ++q) {
      const std::string one = std::to_string(p), other = std::to_string(q), model = "m" + one + other;
      forest.node(model, "Multiply", {"g" + one, "b" + one, "g" + other, "b" + other});
      condeqs.push_back(forest.node("c" + one + other, "Condeq", {"d", model}).specs().back().name);
    }
  forest.node("s", "Solver", condeqs).evaluate("elsewhere");
  return {*forest.built, forest.built->find("s"), forest.request, {}};
}

class Assembly : public ::testing::Test {
 protected:
  Assembly() {
    for (std::uint32_t t = 0; t < kTimes; ++t)
      for (std::uint32_t f = 0; f < kChannels; ++f)
        for (std::uint32_t e = 0; e < problem_.equations.size(); ++e)
          if (t > 0 || f > 0 || e < 3) add({e, t, f});  // the first block has few
  }

  std::uint32_t place(const Contribution& one, std::size_t i) const { return problem_.place_in_group(one.unknowns[i]); }
  std::size_t n() const { return problem_.group(0).size(); }
  std::shared_ptr<const fit::Sparsity> sparsity() const {
    fit::SparsityBuilder builder(n());
    for (const Contribution& one : contributions_) {
      std::vector<std::uint32_t> places;
      for (std::size_t i = 0; i < one.unknowns.size(); ++i) places.push_back(place(one, i));
      builder.connect(places);
    }
    return builder.finish();
  }
  GroupEquations assembled(std::shared_ptr<const fit::Sparsity> sparsity, int threads = 1) const {
    std::vector<GroupEquations> groups(1);
    groups[0].equations = fit::NormalEquations(n(), std::move(sparsity));
    ThreadPool pool(threads);
    Cancellation cancellation;
    const auto compute = [this](const Item& item, Contribution& to) {
      const auto same = [&item](const Item& other) {
        return item.equation == other.equation && item.time_segment == other.time_segment &&
               item.frequency_segment == other.frequency_segment;
      };
      to = contributions_[static_cast<std::size_t>(std::find_if(items_.begin(), items_.end(), same) - items_.begin())];
    };
    solve::assemble(problem_, items_, compute, groups, pool, cancellation);
    return groups[0];
  }
  /// Sums of what all items add.
  GroupEquations expected() const {
    GroupEquations sum;
    sum.equations = fit::NormalEquations(n());
    for (const Contribution& one : contributions_) {
      const std::size_t size = one.unknowns.size();
      for (std::size_t i = 0; i < size; ++i) {
        sum.equations.gradient[place(one, i)] += one.equations.gradient[i];
        for (std::size_t j = 0; j <= i; ++j)
          sum.equations.at(place(one, i), place(one, j)) += one.equations.matrix[i * size + j];
      }
      sum.equations.chi_square += one.equations.chi_square;
      sum.equations.equations += one.equations.equations;
      sum.excluded += one.excluded;
    }
    return sum;
  }

  TestForest forest_;  // 2 times, 3 frequencies
  Problem problem_ = gains_times_bandpasses(forest_);
  std::vector<Item> items_;
  std::vector<Contribution> contributions_;

 private:
  /// With some of its elements 0, as those of two feeds are; its unknowns are in some order.
  void add(const Item& item) {
    Contribution& one = contributions_.emplace_back();
    items_.push_back(item);
    for (const auto& [parm, mixed] : problem_.equations[item.equation].parms)
      one.unknowns.push_back(static_cast<std::uint32_t>(problem_.unknown({problem_.parms[parm].node, 0}, item)));
    if (items_.size() % 3 != 0) std::shuffle(one.unknowns.begin(), one.unknowns.end(), random_);
    const std::vector<std::uint32_t> unknowns = one.unknowns;
    one.reset(unknowns.size());
    one.unknowns = unknowns;
    for (std::size_t i = 0; i < unknowns.size(); ++i) {
      one.equations.gradient[i] = number_(random_);
      for (std::size_t j = 0; j <= i; ++j)
        one.equations.matrix[i * unknowns.size() + j] = i == j || random_() % 3 > 0 ? number_(random_) : 0.0;
    }
    one.equations.chi_square = number_(random_);
    one.equations.equations = items_.size();
    one.excluded.flagged = items_.size() % 2;
  }

  std::mt19937 random_{1};
  std::uniform_real_distribution<double> number_{1, 2};
};

TEST_F(Assembly, DenseAndSparseMatricesAreTheSumsOfWhatItemsAdd) {
  ASSERT_EQ(problem_.n_group(), 1u);
  const GroupEquations sum = expected();
  ASSERT_LT(sparsity()->density(), 0.9);
  for (const auto& elements : {std::shared_ptr<const fit::Sparsity>(), sparsity()}) {
    const GroupEquations found = assembled(elements);
    const fit::NormalEquations& own = found.equations;
    ASSERT_EQ(own.sparsity, elements);
    // Sums of at most 78 numbers below 2, in another order.
    constexpr double kRounding = 78 * 78 * 2 * std::numeric_limits<double>::epsilon();
    std::size_t there = 0;
    for (std::size_t i = 0; i < n(); ++i) {
      EXPECT_NEAR(own.gradient[i], sum.equations.gradient[i], kRounding) << i;
      for (std::size_t j = 0; j <= i; ++j) {
        const double wanted = sum.equations.matrix[i * n() + j];
        if (wanted == 0 && elements) continue;  // it need not have that element
        EXPECT_NEAR(own.matrix[own.place(i, j)], wanted, kRounding) << i << " " << j << (elements ? " sparse" : "");
        there += wanted != 0;
      }
    }
    EXPECT_GT(there, n());
    EXPECT_NEAR(own.chi_square, sum.equations.chi_square, kRounding);
    EXPECT_EQ(own.equations, sum.equations.equations);
    EXPECT_EQ(found.excluded.flagged, sum.excluded.flagged);
  }
}

TEST_F(Assembly, SumsAreTheSameForAnyNumberOfThreads) {
  for (const auto& elements : {std::shared_ptr<const fit::Sparsity>(), sparsity()}) {
    const GroupEquations one = assembled(elements);
    for (const int threads : {2, 3}) {
      const GroupEquations other = assembled(elements, threads);
      EXPECT_EQ(other.equations.matrix, one.equations.matrix) << threads;
      EXPECT_EQ(other.equations.gradient, one.equations.gradient) << threads;
    }
  }
}

TEST_F(Assembly, GroupsThatHaveEndedAreLeftAlone) {
  std::vector<GroupEquations> groups(1);
  groups[0].equations = fit::NormalEquations(n(), sparsity());
  groups[0].wanted = false;
  ThreadPool pool(1);
  Cancellation cancellation;
  const auto never = [](const Item&, Contribution&) { FAIL() << "asked for an item of a group that has ended"; };
  solve::assemble(problem_, items_, never, groups, pool, cancellation);
  EXPECT_EQ(groups[0].equations.equations, 0u);
}

}  // namespace
}  // namespace rimetree::test
