// Derivatives of random formulae as programs: forward against differences of extended reach, reverse against forward,
// and what happens where partial derivatives are infinite.
#include "runtime/program/derive.h"

#include <gtest/gtest.h>

#include <cmath>

#include "runtime/program/program.h"
#include "runtime/program/recorded.h"
#include "tests/runtime/program/random_formula.h"

namespace rimetree::program {
namespace {

using test::Formula;

std::vector<std::int32_t> loads(Recording& recording, std::size_t count, std::int32_t input) {
  std::vector<std::int32_t> names;
  for (std::size_t i = 0; i < count; ++i)
    names.push_back(recording.load({input, static_cast<std::int32_t>(i), 0, false}));
  return names;
}

/// Runs a recording on one cell: the numbers of each input, and those of names.
std::vector<double> run(const Recording& recording, const std::vector<std::int32_t>& names,
                        std::vector<std::vector<double>> inputs) {
  std::vector<Output> outputs;
  for (const std::int32_t name : names)
    outputs.push_back({.element = static_cast<std::int32_t>(outputs.size()), .re = name});
  std::vector<Array> in;
  for (auto& numbers : inputs) in.push_back({numbers.data(), false, 1, {}});
  std::vector<double> result(names.size());
  const Array out{result.data(), false, 1, {}};
  const std::vector<Axes> axes(inputs.size(), 0);
  Program(recording, outputs, axes, 0, 0).run({.inputs = in, .outputs = {&out, 1}});
  return result;
}

TEST(Derive, TangentsOfRandomFormulaeAreDifferences) {
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  int compared = 0;
  for (int trial = 0; trial < 300; ++trial) {
    constexpr std::size_t kGiven = 4;
    const Formula formula(kGiven, 1 + random() % 25, random, true);
    Recording recording;
    const Recording::Scope scope(recording);
    const auto given = loads(recording, kGiven, 0);
    const std::int32_t last = formula.record(recording, given).back();
    const std::int32_t names[] = {last};
    const auto found = tangents(recording, names, [&](const Load& load) {
      return recording.load({1, load.element, 0, false});
    });
    std::vector<double> at(kGiven), along(kGiven);
    for (std::size_t i = 0; i < kGiven; ++i) at[i] = uniform(random), along[i] = uniform(random) - 1;
    const double tangent = found[0] == kZero ? 0 : run(recording, {found[0]}, {at, along})[0];
    const auto value = [&](double step) {
      std::vector<double> moved = at;
      for (std::size_t i = 0; i < kGiven; ++i) moved[i] += step * along[i];
      return formula.evaluate(moved).back();
    };
    const double h = 1e-3, d1 = value(h) - value(-h), d2 = value(2 * h) - value(-2 * h),
                 d3 = value(3 * h) - value(-3 * h);
    const double difference = (45 * d1 - 9 * d2 + d3) / (60 * h);
    if (!std::isfinite(difference) || !std::isfinite(tangent)) continue;
    // Where the formula has a pole nearby, differences say nothing.
    const double coarse = (8 * d1 - d2) / (12 * h);
    const double scale = std::abs(difference) + std::abs(value(0)) + 1;
    if (std::abs(coarse - difference) > 1e-9 * scale) continue;
    ++compared;
    EXPECT_NEAR(tangent, difference, 1e-7 * scale) << "trial " << trial;
  }
  EXPECT_GT(compared, 200);
}

TEST(Derive, AdjointsAreTransposedTangents) {
  std::mt19937_64 random(6);
  std::uniform_real_distribution<double> uniform(0.5, 1.5);
  int compared = 0;
  for (int trial = 0; trial < 300; ++trial) {
    constexpr std::size_t kGiven = 5;
    const Formula formula(kGiven, 1 + random() % 30, random, trial % 3 != 0);
    Recording recording;
    const Recording::Scope scope(recording);
    const auto given = loads(recording, kGiven, 0);
    const auto all = formula.record(recording, given);
    const std::int32_t names[] = {all.back(), all[random() % all.size()]};
    const auto forward = tangents(recording, names, [&](const Load& load) {
      return recording.load({1, load.element, 0, false});
    });
    const Adjoint outcomes[] = {{names[0], recording.load({2, 0, 0, false})},
                                {names[1], recording.load({2, 1, 0, false})}};
    const auto back = adjoints(recording, outcomes, [](const Load& load) { return load.input == 0; });
    std::vector<double> at(kGiven), along(kGiven), seed{uniform(random), uniform(random) - 1};
    for (std::size_t i = 0; i < kGiven; ++i) at[i] = uniform(random), along[i] = uniform(random) - 1;
    std::vector<std::int32_t> wanted;
    for (const std::int32_t name : forward) wanted.push_back(name == kZero ? recording.constant(0) : name);
    for (const Adjoint& adjoint : back) wanted.push_back(adjoint.adjoint);
    const auto got = run(recording, wanted, {at, along, seed});
    const double from_forward = seed[0] * got[0] + seed[1] * got[1];
    double from_reverse = 0, scale = 0;
    for (std::size_t i = 0; i < back.size(); ++i) {
      const double term = got[2 + i] * along[static_cast<std::size_t>(recording[back[i].name].from().element)];
      from_reverse += term;
      scale += std::abs(term);
    }
    if (!std::isfinite(from_forward) || !std::isfinite(from_reverse)) continue;
    ++compared;
    EXPECT_NEAR(from_reverse, from_forward, 1e-11 * (scale + std::abs(from_forward))) << "trial " << trial;
  }
  EXPECT_GT(compared, 200);
}

// sqrt(x) y + z / x at x = 0, where partial derivatives are infinite: what has no adjoint adds nothing.
TEST(Derive, WhatDoesNotMatterDoesNotSpoil) {
  Recording recording;
  const Recording::Scope scope(recording);
  const auto given = loads(recording, 3, 0);
  const Recorded x = Recorded::named(given[0]), y = Recorded::named(given[1]), z = Recorded::named(given[2]);
  const Adjoint outcome{(sqrt(x) * y + z / x).name(), recording.load({1, 0, 0, false})};
  std::vector<std::int32_t> names;
  for (const Adjoint& adjoint : adjoints(recording, {&outcome, 1}, [](const Load& load) { return load.input == 0; }))
    names.push_back(adjoint.adjoint);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(run(recording, names, {{0, 1, 1}, {0}}), (std::vector<double>{0, 0, 0}));
  EXPECT_FALSE(std::isfinite(run(recording, names, {{0, 1, 1}, {1}})[0]));
}

TEST(Derive, WhatIsNotWantedIsNotMade) {
  Recording recording;
  const Recording::Scope scope(recording);
  const auto given = loads(recording, 2, 0);
  const Adjoint outcome{recording.make(Op::multiply, given[0], given[1]), recording.load({1, 0, 0, false})};
  const std::size_t before = recording.operations().size();
  const auto found = adjoints(recording, {&outcome, 1}, [](const Load& load) { return load.element == 1; });
  ASSERT_EQ(found.size(), 1u);
  EXPECT_EQ(found[0].name, given[1]);
  EXPECT_EQ(recording.operations().size(), before + 1);
  const std::int32_t names[] = {recording.make(Op::detach, given[0]), recording.make(Op::round, given[0]), -1};
  for (const std::int32_t tangent : tangents(recording, names, [](const Load&) { return 0; }))
    EXPECT_EQ(tangent, kZero);
}

}  // namespace
}  // namespace rimetree::program
