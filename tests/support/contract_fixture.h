// Every class with children as its recipe says: what the tests that walk the registry (tests/nodes/contract_*test.cc)
// share.
#pragma once

#include <random>

#include "tests/support/forest_fixture.h"
#include "tests/support/node_recipes.h"
#include "tests/support/project_plugins.h"

namespace rimetree::test {

inline constexpr int kTimes = 2, kFrequencies = 3;

/// Values of a child on the cells, varying along the axes asked for.
inline StateValue child_values(std::uint64_t seed, const ChildRecipe& recipe, int sources, bool in_time,
                               bool in_frequency) {
  std::mt19937_64 random(seed);
  std::uniform_real_distribution<double> uniform(-1, 1);
  StateArray value;
  value.type = recipe.complex ? NumberType::complex : NumberType::real;
  std::size_t elements = 1;
  for (const std::int64_t extent : recipe.dims) {
    value.shape.push_back(extent < 0 ? sources : extent);
    elements *= static_cast<std::size_t>(value.shape.back());
  }
  value.shape.push_back(in_time ? kTimes : 1);
  value.shape.push_back(in_frequency ? kFrequencies : 1);
  std::vector<double> numbers;
  for (std::size_t e = 0; e < elements; ++e) {
    double table[kTimes][kFrequencies][2];
    for (auto& row : table)
      for (auto& cell : row)
        for (double& x : cell) x = recipe.unit * (recipe.base + recipe.spread * uniform(random));
    for (int t = 0; t < (in_time ? kTimes : 1); ++t)
      for (int f = 0; f < (in_frequency ? kFrequencies : 1); ++f)
        for (int part = 0; part < (recipe.complex ? 2 : 1); ++part) numbers.push_back(table[t][f][part]);
  }
  value.data = numbers;
  return value;
}

/// The same values written out on all cells.
inline StateValue on_all_cells(const StateValue& values) {
  const auto& from = std::get<StateArray>(values);
  StateArray full = from;
  const auto rank = from.shape.size();
  const auto times = from.shape[rank - 2], frequencies = from.shape[rank - 1];
  full.shape[rank - 2] = kTimes;
  full.shape[rank - 1] = kFrequencies;
  std::vector<double> numbers;
  const std::size_t words = from.type == NumberType::complex ? 2 : 1;
  const std::size_t elements = from.size() / static_cast<std::size_t>(times * frequencies);
  for (std::size_t e = 0; e < elements; ++e)
    for (std::int64_t t = 0; t < kTimes; ++t)
      for (std::int64_t f = 0; f < kFrequencies; ++f)
        for (std::size_t w = 0; w < words; ++w)
          numbers.push_back(
              from.data[((e * static_cast<std::size_t>(times) + static_cast<std::size_t>(times > 1 ? t : 0)) *
                             static_cast<std::size_t>(frequencies) +
                         static_cast<std::size_t>(frequencies > 1 ? f : 0)) *
                            words +
                        w]);
  full.data = numbers;
  return full;
}

/// Two antennas' data on the default cells.
inline Tile make_tile(const Cells& cells) {
  Tile tile;
  tile.baselines = {{0, 1}};
  tile.time_s = cells.axis(Axis::time).centre;
  tile.interval_s = cells.axis(Axis::time).width;
  tile.frequency_hz = cells.axis(Axis::frequency).centre;
  tile.channel_width_hz = cells.axis(Axis::frequency).width;
  tile.correlation_type = {9, 10, 11, 12};
  tile.row.assign(tile.n_row(), 0);
  tile.uvw_m.assign(3 * tile.n_row(), 1.0);
  tile.uvw_rate_m_s.assign(3 * tile.n_row(), 0.1);
  tile.exposure_s.assign(tile.n_row(), 10);
  tile.columns["DATA"].assign(tile.n_visibility(), {1, 2});
  tile.columns["MODEL_DATA"].assign(tile.n_visibility(), {0, 0});
  return tile;
}

/// Those of the project and of plugins.
inline std::vector<std::string> all_classes() {
  registry();
  std::vector<std::string> classes;
  for (const char* name : {"good", "algebra", "per_node", "cos3_beam"})
    if (std::filesystem::exists(test_plugin(name))) Registry::instance().load(test_plugin(name));  // not copied to GPUs
  for (const Registry::Plugin& plugin : Registry::instance().plugins())
    if (plugin.name != "test") classes.insert(classes.end(), plugin.classes.begin(), plugin.classes.end());
  // Solver takes no values but Condeqs, over which it runs a loop; tests/nodes/solver_test.cc has what it keeps.
  std::erase(classes, "Solver");
  // Those that take samples take no values; tests/nodes/correlator has what they keep.
  for (const char* name : {"Channelise", "Correlate"}) std::erase(classes, name);
  return classes;
}

class ContractTest : public testing::TestWithParam<std::string> {
 protected:
  ContractTest() : recipe_(recipe_of(GetParam())), tile_(make_tile(*TestForest().request.cells)) {}

  TestForest forest() {
    TestForest forest;
    forest.request.tile = &tile_;
    return forest;
  }
  std::string child(std::size_t slot) const { return "child" + std::to_string(slot); }
  TestForest::Children children() const {
    TestForest::Children names;
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) names.push_back(child(slot));
    return names;
  }
  StateValue values(std::size_t slot, int sources, bool in_time, bool in_frequency) const {
    return child_values(slot, recipe_.children[slot], sources, in_time, in_frequency);
  }
  StateArray dims_of(std::size_t slot) const {
    std::vector<double> dims;
    for (const auto extent : recipe_.children[slot].dims) dims.push_back(extent < 0 ? 2 : static_cast<double>(extent));
    return array({static_cast<std::int64_t>(dims.size())}, dims);
  }
  /// The class with all children constant along the axes, or not.
  TestForest with_children(bool in_time, bool in_frequency, int sources = 2) {
    TestForest result = forest();
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot)
      result.constant(child(slot), values(slot, sources, in_time, in_frequency), 2);
    return result;
  }

  /// Moves each child that may be moved along two directions, with a parameter each, whose names are given. The
  /// children are then moved_children().
  std::vector<std::string> move_children(TestForest& tree, bool in_time, bool in_frequency) {
    std::vector<std::string> parms;
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
      ChildRecipe direction = recipe_.children[slot];
      if (!direction.differentiable) continue;
      direction.base = 0;
      direction.spread = direction.step;
      TestForest::Children sum{child(slot)};
      for (const std::string suffix : {"a", "b"}) {
        const std::string own = std::to_string(slot) + suffix;
        parms.push_back("p" + own);
        tree.parm(parms.back(), 1e-3)
            .constant("direction" + own,
                      child_values(slot + (suffix == "a" ? 100 : 200), direction, 2, in_time, in_frequency), 2);
        tree.node("shift" + own, "Multiply", {"direction" + own, parms.back()});
        sum.push_back("shift" + own);
      }
      tree.node("moved" + std::to_string(slot), "Add", sum);
    }
    return parms;
  }
  TestForest::Children moved_children() const {
    TestForest::Children names = children();
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot)
      if (recipe_.children[slot].differentiable) names[slot] = "moved" + std::to_string(slot);
    return names;
  }

  Recipe recipe_;
  Tile tile_;
};

/// Equal values on all cells; bit by bit if the tolerance is 0.
inline void expect_same(const Result& a, const Result& b, double tolerance = 0) {
  ASSERT_EQ(a.status, b.status);
  ASSERT_TRUE(a.value.dims() == b.value.dims());
  ASSERT_EQ(a.value.type(), b.value.type());
  for (std::size_t e = 0; e < a.value.dims().size(); ++e)
    for (int t = 0; t < kTimes; ++t)
      for (int f = 0; f < kFrequencies; ++f)
        EXPECT_LE(abs(value_at(a.value, e, t, f) - value_at(b.value, e, t, f)), tolerance)
            << "element " << e << " cell " << t << "," << f;
}

}  // namespace rimetree::test
