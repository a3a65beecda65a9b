// The contract that every node class keeps, checked on every class of the project's plugin: broadcasting along axes of
// length 1, flags, failed and missing children, cells without axes, stacks of no sources, exact derivatives, and the
// same bits from any number of threads and, where it can be evaluated on devices, from the simulated device. A new
// class needs a recipe in tests/support/node_recipes.h that says what children it takes.
#include <random>

#include "tests/support/forest_fixture.h"
#include "tests/support/node_recipes.h"
#include "tests/support/same_bits.h"

namespace rimetree::test {
namespace {

constexpr int kTimes = 2, kFrequencies = 3;

/// Values of a child on the cells, varying along the axes asked for.
StateValue child_values(std::uint64_t seed, const ChildRecipe& recipe, int sources, bool in_time, bool in_frequency) {
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
  for (std::size_t e = 0; e < elements; ++e) {
    double table[kTimes][kFrequencies][2];
    for (auto& row : table)
      for (auto& cell : row)
        for (double& x : cell) x = recipe.unit * (recipe.base + recipe.spread * uniform(random));
    for (int t = 0; t < (in_time ? kTimes : 1); ++t)
      for (int f = 0; f < (in_frequency ? kFrequencies : 1); ++f)
        for (int part = 0; part < (recipe.complex ? 2 : 1); ++part) value.data.push_back(table[t][f][part]);
  }
  return value;
}

/// The same values written out on all cells.
StateValue on_all_cells(const StateValue& values) {
  const auto& from = std::get<StateArray>(values);
  StateArray full = from;
  const auto rank = from.shape.size();
  const auto times = from.shape[rank - 2], frequencies = from.shape[rank - 1];
  full.shape[rank - 2] = kTimes;
  full.shape[rank - 1] = kFrequencies;
  full.data.clear();
  const std::size_t words = from.type == NumberType::complex ? 2 : 1;
  const std::size_t elements = from.size() / static_cast<std::size_t>(times * frequencies);
  for (std::size_t e = 0; e < elements; ++e)
    for (std::int64_t t = 0; t < kTimes; ++t)
      for (std::int64_t f = 0; f < kFrequencies; ++f)
        for (std::size_t w = 0; w < words; ++w)
          full.data.push_back(
              from.data[((e * static_cast<std::size_t>(times) + static_cast<std::size_t>(times > 1 ? t : 0)) *
                             static_cast<std::size_t>(frequencies) +
                         static_cast<std::size_t>(frequencies > 1 ? f : 0)) *
                            words +
                        w]);
  return full;
}

/// Two antennas' data on the default cells.
Tile make_tile(const Cells& cells) {
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

class ContractTest : public testing::TestWithParam<std::string> {
 protected:
  ContractTest() : recipe_(recipes()[GetParam()]), tile_(make_tile(*TestForest().request.cells)) {}

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
    StateArray dims{{static_cast<std::int64_t>(recipe_.children[slot].dims.size())}, NumberType::real, {}};
    for (const auto extent : recipe_.children[slot].dims)
      dims.data.push_back(extent < 0 ? 2 : static_cast<double>(extent));
    return dims;
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
void expect_same(const Result& a, const Result& b, double tolerance = 0) {
  ASSERT_EQ(a.status, b.status);
  ASSERT_TRUE(a.value.dims() == b.value.dims());
  ASSERT_EQ(a.value.type(), b.value.type());
  for (std::size_t e = 0; e < a.value.dims().size(); ++e)
    for (int t = 0; t < kTimes; ++t)
      for (int f = 0; f < kFrequencies; ++f)
        EXPECT_LE(abs(value_at(a.value, e, t, f) - value_at(b.value, e, t, f)), tolerance)
            << "element " << e << " cell " << t << "," << f;
}

TEST_P(ContractTest, HasARecipe) {
  EXPECT_TRUE(recipes().contains(GetParam())) << "add a recipe for the class to tests/support/node_recipes.h";
}

TEST_P(ContractTest, DescribesItself) {
  const NodeClass& node_class = registry().get(GetParam());
  EXPECT_FALSE(node_class.summary.empty());
  EXPECT_FALSE(node_class.result.empty());
  EXPECT_FALSE(node_class.reference.empty());
  for (const ChildSpec& spec : node_class.children) {
    EXPECT_FALSE(spec.label.empty());
    EXPECT_FALSE(spec.shape.empty()) << spec.label;
    EXPECT_FALSE(spec.doc.empty()) << spec.label;
  }
  for (const StateSpec& spec : node_class.state) EXPECT_FALSE(spec.doc.empty()) << spec.name;
}

TEST_P(ContractTest, BroadcastsAxesOfLengthOne) {
  for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {false, true}}) {
    TestForest thin = forest(), full = forest();
    for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
      const StateValue value = values(slot, 2, in_time, in_frequency);
      thin.constant(child(slot), value, 2);
      full.constant(child(slot), on_all_cells(value), 2);
    }
    const ResultPtr a = thin.node("x", GetParam(), children(), recipe_.state).evaluate("x");
    const ResultPtr b = full.node("x", GetParam(), children(), recipe_.state).evaluate("x");
    expect_ok(a);
    expect_ok(b);
    // PSV chooses its method by what varies: there the two agree to rounding, for a flux of some Jy.
    expect_same(*a, *b, GetParam() == "PSV" ? 1e-12 : 0);
  }
}

TEST_P(ContractTest, FlagsPropagate) {
  if (recipe_.flags == FlagRule::own) return;  // which the class's own test checks
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    TestForest tree = with_children(true, true);
    tree.flagged("flagged", child(slot), array({1, 2, 3}, {0, 0, 0, 4, 0, 0}));
    TestForest::Children names = children();
    names[slot] = "flagged";
    const ResultPtr result = tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
    expect_ok(result);
    std::int32_t at = 0, elsewhere = 0;
    for (std::size_t e = 0; e < std::max<std::size_t>(result->flags.planes(), 1); ++e) {
      at |= flag_at(result->flags, e, 1, 0);
      elsewhere |= flag_at(result->flags, e, 0, 0) | flag_at(result->flags, e, 1, 1);
    }
    EXPECT_EQ(at, 4) << "child " << slot;
    EXPECT_EQ(elsewhere, 0) << "child " << slot;
  }
}

TEST_P(ContractTest, FailedChildFails) {
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    TestForest tree = with_children(false, false);
    tree.node("bad", "TestFailing", {}, {{"dims", dims_of(slot)}});
    TestForest::Children names = children();
    names[slot] = "bad";
    const ResultPtr result = tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
    ASSERT_EQ(result->status, Result::Status::failed) << "child " << slot;
    ASSERT_EQ(result->failures.size(), 1u);
    EXPECT_EQ(result->failures[0].node, "bad");
    EXPECT_EQ(result->failures[0].message, "planted failure");
  }
}

TEST_P(ContractTest, MissingChildIsMissingOrLeftOut) {
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    TestForest tree = with_children(false, false);
    tree.node("none", "TestMissing", {}, {{"dims", dims_of(slot)}});
    TestForest::Children names = children();
    names[slot] = "none";
    const ResultPtr result = tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
    const bool skips = tree.built->node(tree.built->find("x")).skips_missing();
    EXPECT_NE(result->status, Result::Status::failed) << "child " << slot;
    if (!skips) {
      EXPECT_EQ(result->status, Result::Status::missing) << "child " << slot;
    }
  }
}

TEST_P(ContractTest, CellsWithoutAxes) {
  TestForest tree = with_children(false, false);
  tree.request.cells = std::make_shared<const Cells>(std::array<AxisGrid, kAxes>{});
  tree.request.tile = nullptr;
  const ResultPtr result = tree.node("x", GetParam(), children(), recipe_.state).evaluate("x");
  ASSERT_NE(result->status, Result::Status::missing);
  if (result->ok()) {
    EXPECT_EQ(result->value.cells_per_element(), 1u);
  } else {
    const std::string& message = result->failures.at(0).message;
    EXPECT_TRUE(message.find("axis") != std::string::npos || message.find("Measurement Set") != std::string::npos)
        << message;
  }
}

TEST_P(ContractTest, StacksOfNoSources) {
  bool stacked = false;
  for (const ChildRecipe& child : recipe_.children)
    for (const auto extent : child.dims) stacked = stacked || extent < 0;
  if (!stacked) return;  // takes no stacks of sources
  TestForest tree = with_children(true, true, 0);
  expect_ok(tree.node("x", GetParam(), children(), recipe_.state).evaluate("x"));
}

TEST_P(ContractTest, SameBitsFromAnyNumberOfThreads) {
  ResultPtr results[2];
  for (const int threads : {1, 2}) {
    TestForest tree = with_children(true, true);
    TestForest::Children copies;
    for (int copy = 0; copy < 5; ++copy) {
      copies.push_back("x" + std::to_string(copy));
      tree.node(copies.back(), GetParam(), children(), recipe_.state);
    }
    tree.node("all", "Composer", copies);
    results[threads - 1] = tree.evaluate("all", threads);
    expect_ok(results[threads - 1]);
  }
  expect_same(*results[0], *results[1]);
}

TEST_P(ContractTest, SameBitsFromADevice) {
  for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {false, true}, {true, true}})
    for (const bool flagged : {false, true}) {
      TestForest tree = with_children(in_time, in_frequency);
      TestForest::Children names = children();
      if (!names.empty()) tree.flagged("flagged", names.back(), array({1, 2, 3}, {0, 0, 0, 4, 0, 0}));
      if (flagged && !names.empty()) names.back() = "flagged";
      tree.node("x", GetParam(), names, recipe_.state).evaluate("x");
      if (tree.built->node(tree.built->find("x")).device_path() == nullptr) return;
      ResultPtr results[2];
      for (const bool simulated : {false, true}) {
        const DeviceChoice choice{simulated ? "simulated" : "none"};
        Evaluator evaluator(tree.built, {.threads = 1, .device = choice, .placement = PlacementRule{1, false}});
        results[simulated] = evaluator.evaluate(tree.request, "x");
        const bool left_out = flagged && recipe_.flags == FlagRule::own;  // by the host, then
        EXPECT_EQ(evaluator.timing().classes.at(GetParam()).on_devices, simulated && !left_out ? 1u : 0u);
      }
      expect_ok(results[0]);
      expect_same_bits(*results[1], *results[0]);
    }
}

TEST_P(ContractTest, DerivativesHaveTheSameBitsFromADevice) {
  // Each child moves along its own random directions, whose derivatives vary along other axes than the child.
  for (const auto& [in_time, in_frequency] : {std::pair(false, false), {true, false}, {true, true}}) {
    TestForest tree = with_children(in_time, in_frequency);
    const std::vector<std::string> parms = move_children(tree, in_frequency, in_time);
    tree.node("x", GetParam(), moved_children(), recipe_.state);
    tree.request.derivatives = true;
    tree.evaluate("x");
    if (tree.built->node(tree.built->find("x")).device_path() == nullptr) return;
    ResultPtr results[2];
    for (const bool simulated : {false, true}) {
      const DeviceChoice choice{simulated ? "simulated" : "none"};
      Evaluator evaluator(tree.built, {.threads = 1, .device = choice, .placement = PlacementRule{1, false}});
      results[simulated] = evaluator.evaluate(tree.request, "x");
      const ClassTiming& timing = evaluator.timing().classes.at(GetParam());
      EXPECT_EQ(timing.on_devices, simulated ? timing.evaluations : 0u);
    }
    expect_ok(results[0]);
    EXPECT_EQ(results[0]->derivatives.size(), parms.size());
    for (const Derivative& derivative : results[1]->derivatives) EXPECT_NE(derivative.value.device(), nullptr);
    expect_same_bits(*results[1], *results[0]);
  }
}

/// The result as a function of one parameter p, which moves one child along a random direction: base + p * direction.
class Moved {
 public:
  Moved(TestForest tree, const std::string& class_name, TestForest::Children names, const TestForest::Fields& state,
        std::size_t slot, StateValue direction)
      : tree_(std::move(tree)) {
    tree_.parm("p", 0).constant("direction", std::move(direction), 2);
    tree_.node("shift", "Multiply", {"direction", "p"}).node("moved", "Add", {names[slot], "shift"});
    names[slot] = "moved";
    tree_.node("x", class_name, names, state);
    tree_.evaluate("x");
    evaluator_ = std::make_unique<Evaluator>(tree_.built, EvaluatorOptions{.threads = 1});
  }
  ResultPtr at(double p, bool derivatives = false) {
    const int parm = tree_.built->find("p");
    tree_.built->set_state(parm, {{"value", p}});
    Request request = tree_.request;
    request.derivatives = derivatives;
    return evaluator_->evaluate(request, "x");
  }
  ParameterId parameter() const { return {tree_.built->find("p"), 0}; }

 private:
  TestForest tree_;
  std::unique_ptr<Evaluator> evaluator_;
};

TEST_P(ContractTest, DerivativeAgreesWithFiniteDifferences) {
  for (std::size_t slot = 0; slot < recipe_.children.size(); ++slot) {
    ChildRecipe direction = recipe_.children[slot];
    if (!direction.differentiable) continue;
    direction.base = 0;
    direction.spread = direction.step;
    Moved moved(with_children(true, true), GetParam(), children(), recipe_.state, slot,
                child_values(slot + 100, direction, 2, true, true));
    const ResultPtr result = moved.at(0, true);
    expect_ok(result);
    const Vells* derivative = result->derivative(moved.parameter());
    const bool side_effect = GetParam() == "Sink" || GetParam() == "VisDataMux";
    const bool flags_only = GetParam() == "MergeFlags" && slot > 0;
    if (side_effect || flags_only) {
      EXPECT_EQ(derivative, nullptr);
      continue;
    }
    ASSERT_NE(derivative, nullptr) << "child " << slot;
    EXPECT_EQ(derivative->type(), result->value.type());
    // The five-point formula: its error is h^4 f^(5)/30 ~ 1e-13 f^(5), and rounding adds ~1e-16 f/h = 1e-13 f. With
    // f^(5) of a few hundred times f at most (all recipes keep phases and exponents of order 1), 1e-9 has a margin.
    constexpr double h = 1e-3;
    const ResultPtr far_below = moved.at(-2 * h), below = moved.at(-h), above = moved.at(h),
                    far_above = moved.at(2 * h);
    for (std::size_t e = 0; e < result->value.dims().size(); ++e)
      for (int t = 0; t < kTimes; ++t)
        for (int f = 0; f < kFrequencies; ++f) {
          const auto v = [&](const ResultPtr& r) { return value_at(r->value, e, t, f); };
          const Complex<double> expected = (1 / (12 * h)) * (v(far_below) - v(far_above) + 8.0 * (v(above) - v(below)));
          const double scale = 1 + abs(v(result)) + abs(expected);
          expect_near(value_at(*derivative, e, t, f), expected, 1e-9 * scale);
        }
  }
}

TEST_P(ContractTest, ReverseDerivativeAgreesWithForward) {
  // Every child moves along two directions, in time and frequency, each with a parameter of its own; what is compared
  // is the gradient of sum |x - c|^2 over all cells, whose adjoint is different for every number of the result.
  TestForest tree = with_children(true, true);
  const std::vector<std::string> parms = move_children(tree, true, true);
  tree.node("x", GetParam(), moved_children(), recipe_.state);
  const bool complex = tree.evaluate("x")->value.is_complex();
  tree.constant("c", complex ? StateValue(complex_array({}, {{0.3, 0.7}})) : StateValue(0.3));
  tree.node("residual", "Subtract", {"x", "c"}).node("objective", "ChiSquare", {"residual"});
  tree.request.derivatives = true;
  const ResultPtr forward = tree.evaluate("objective", 2);
  expect_ok(forward);
  tree.request.derivatives = false;
  ValueAndGradient reverse = tree.evaluator->value_and_gradient(tree.request, tree.built->find("objective"));
  expect_ok(reverse.value);
  EXPECT_EQ(reverse.value->value.real()[0], forward->value.real()[0]);
  double largest = 0;
  for (const Derivative& derivative : forward->derivatives) largest = std::max(largest, abs(derivative.value.at(0)));
  for (const std::string& parm : parms) {
    const int index = tree.built->find(parm);
    const Vells* expected = forward->derivative({index, 0});
    ASSERT_EQ(reverse.gradient.of(index).size(), 1u);
    // Both are exact but for rounding, in sums of some 100 terms of the size of the largest.
    EXPECT_NEAR(reverse.gradient.of(index)[0], expected ? expected->real()[0] : 0, 1e-13 * (1 + largest)) << parm;
  }
}

std::vector<std::string> classes_of_the_plugin() {
  registry();
  std::vector<std::string> classes;
  for (const Registry::Plugin& plugin : Registry::instance().plugins())
    if (plugin.name == "rimetree_nodes") classes = plugin.classes;
  // Solver takes no values but Condeqs, over which it runs a loop; tests/nodes/solver_test.cc has what it keeps.
  std::erase(classes, "Solver");
  return classes;
}

INSTANTIATE_TEST_SUITE_P(AllClasses, ContractTest, testing::ValuesIn(classes_of_the_plugin()),
                         [](const auto& info) { return info.param; });

TEST(Contract, EveryRecipeIsOfAClass) {
  for (const auto& [name, recipe] : recipes()) EXPECT_NE(registry().find(name), nullptr) << name;
}

}  // namespace
}  // namespace rimetree::test
