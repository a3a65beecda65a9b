// Small forests for tests: written in a few lines, evaluated through the real forest, plan and evaluator, with node
// classes from the real plugin.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "runtime/core/classes/registry.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/evaluate/evaluator.h"
#include "tests/support/project_plugins.h"

namespace rimetree::test {

/// Of numbers of order 1.
inline constexpr double kFewRoundings = 8e-16;

/// An array for a node's state.
inline StateArray array(std::vector<std::int64_t> shape, const std::vector<double>& values) {
  return {std::move(shape), NumberType::real, values};
}
/// The same of complex numbers.
inline StateArray complex_array(std::vector<std::int64_t> shape, const std::vector<Complex<double>>& values) {
  std::vector<double> parts;
  for (const auto& z : values) parts.insert(parts.end(), {z.re, z.im});
  return {std::move(shape), NumberType::complex, parts};
}

// Node classes that only tests need.

/// Gives no data; state dims.
class TestMissing final : public Node {
 public:
  using Node::Node;
  static NodeClass info() { return {.name = "TestMissing", .state = {{.name = "dims", .type = StateType::array}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    TensorShape dims;
    for (const auto extent : state().integers("dims")) dims.append(static_cast<std::int32_t>(extent));
    return dims;
  }
  NodeTraits own_traits() const override { return {.is_function = true}; }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.set_missing(); }
};

/// Fails with "planted failure"; state dims.
class TestFailing final : public Node {
 public:
  using Node::Node;
  static NodeClass info() { return {.name = "TestFailing", .state = {{.name = "dims", .type = StateType::array}}}; }
  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    TensorShape dims;
    for (const auto extent : state().integers("dims")) dims.append(static_cast<std::int32_t>(extent));
    return dims;
  }
  NodeTraits own_traits() const override { return {.is_function = true}; }

 protected:
  void evaluate(Evaluation&) const override { throw Error("planted failure"); }
};

/// Its child with flags: state bits [plane, time, freq].
class TestFlags final : public Node {
 public:
  using Node::Node;
  static NodeClass info() {
    return {.name = "TestFlags", .children = {{.label = "x"}}, .state = {{.name = "bits", .type = StateType::array}}};
  }
  TensorShape result_dims(std::span<const TensorShape* const> children) const override { return *children[0]; }
  NodeTraits own_traits() const override { return {.is_function = true, .reads_no_values = true}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const StateArray& bits = state().array("bits");
    CellShape cells;
    cells[Axis::time] = static_cast<std::int32_t>(bits.shape[1]);
    cells[Axis::frequency] = static_cast<std::int32_t>(bits.shape[2]);
    Flags flags(evaluation.pool, static_cast<std::size_t>(bits.shape[0]), cells);
    for (std::size_t i = 0; i < flags.size(); ++i) flags.data()[i] = static_cast<std::int32_t>(bits.data[i]);
    evaluation.set(evaluation.child(0).value);
    for (const auto& derivative : evaluation.child(0).derivatives)
      evaluation.add(derivative.parameter, derivative.value);
    evaluation.set_flags(std::move(flags));
  }
  void pull_back(PullBack& pull) const override { pull.pass_on(0); }
};

/// The registry with the project's nodes, the plugin for GPUs if it was built, and the classes above.
inline const Registry& registry() {
  static const Registry& loaded = []() -> Registry& {
    Registry& registry = Registry::instance();
    test::load_project_plugins();
    registry.add({with_factory<TestMissing>(TestMissing::info()), with_factory<TestFailing>(TestFailing::info()),
                  with_factory<TestFlags>(TestFlags::info())},
                 "test");
    return registry;
  }();
  return loaded;
}

/// Cells with the given centres, all of one width.
inline std::shared_ptr<const Cells> cells(std::vector<double> time_s, std::vector<double> frequency_hz,
                                          double time_width_s = 10, double frequency_width_hz = 1e6) {
  AxisGrid time{time_s, std::vector<double>(time_s.size(), time_width_s)};
  AxisGrid frequency{frequency_hz, std::vector<double>(frequency_hz.size(), frequency_width_hz)};
  return std::make_shared<const Cells>(Cells::time_frequency(std::move(time), std::move(frequency)));
}

/// A forest under construction. By default it is evaluated on 2 times and 3 frequencies.
class TestForest {
 public:
  using Children = std::vector<std::string>;
  using Fields = std::map<std::string, StateValue>;

  TestForest() { request.cells = cells({5e9, 5e9 + 10}, {1.0e9, 1.1e9, 1.2e9}); }

  /// Children by position, or as "label=name".
  TestForest& node(const std::string& name, const std::string& class_name, const Children& children = {},
                   const Fields& state = {}) {
    NodeSpec spec{name, class_name, state, {}, "test.py:" + std::to_string(specs_.size() + 1)};
    for (const std::string& child : children) {
      const auto equals = child.find('=');
      if (equals == std::string::npos)
        spec.children.emplace_back("", child);
      else
        spec.children.emplace_back(child.substr(0, equals), child.substr(equals + 1));
    }
    specs_.push_back(std::move(spec));
    return *this;
  }
  TestForest& constant(const std::string& name, StateValue value, std::int64_t cells_rank = 0) {
    return node(name, "Constant", {}, {{"value", std::move(value)}, {"cells_rank", cells_rank}});
  }
  TestForest& parm(const std::string& name, double value) {
    return node(name, "Parm", {}, {{"value", value}, {"solvable", true}});
  }
  /// The child with flag bits [plane, time, freq].
  TestForest& flagged(const std::string& name, const std::string& child, StateArray bits) {
    return node(name, "TestFlags", {child}, {{"bits", std::move(bits)}});
  }

  /// Evaluates a node in a forest of its own.
  ResultPtr evaluate(const std::string& name, int threads = 1) {
    built = Forest::build(specs_, registry());
    evaluator = std::make_shared<Evaluator>(built, EvaluatorOptions{.threads = threads});
    return evaluator->evaluate(request, name);
  }
  const std::vector<NodeSpec>& specs() const { return specs_; }

  Request request;
  std::shared_ptr<Forest> built;         ///< by the last evaluate()
  std::shared_ptr<Evaluator> evaluator;  ///< of the last evaluate()

 private:
  std::vector<NodeSpec> specs_;
};

/// Fails the test, saying why, if the result is not there.
inline void expect_ok(const ResultPtr& result) {
  ASSERT_NE(result, nullptr);
  for (const Failure& failure : result->failures) ADD_FAILURE() << failure.node << ": " << failure.message;
  EXPECT_TRUE(result->ok());
}

/// The value of an element on a cell (time, frequency), whatever axes the values have; NaN if there is none.
inline Complex<double> value_at(const Vells& vells, std::size_t element, std::size_t time = 0,
                                std::size_t frequency = 0) {
  if (vells.empty()) return {std::nan(""), std::nan("")};
  const auto stride = broadcast_strides(vells.cells());
  return vells.at(element, time * stride[0] + frequency * stride[1]);
}
inline std::int32_t flag_at(const Flags& flags, std::size_t element, std::size_t time = 0, std::size_t frequency = 0) {
  if (flags.empty()) return 0;
  const auto stride = broadcast_strides(flags.cells());
  return flags.plane(element)[time * stride[0] + frequency * stride[1]];
}
inline void expect_near(Complex<double> got, Complex<double> expected, double tolerance) {
  EXPECT_NEAR(got.re, expected.re, tolerance);
  EXPECT_NEAR(got.im, expected.im, tolerance);
}

/// Evaluates a class on constant children, on one cell, and gives all elements.
inline std::vector<Complex<double>> evaluate_class(const std::string& class_name,
                                                   const std::vector<StateValue>& children,
                                                   const TestForest::Fields& state = {}) {
  TestForest forest;
  TestForest::Children names;
  for (std::size_t i = 0; i < children.size(); ++i) {
    names.push_back("child" + std::to_string(i));
    forest.constant(names.back(), children[i]);
  }
  forest.node("x", class_name, names, state);
  const ResultPtr result = forest.evaluate("x");
  expect_ok(result);
  std::vector<Complex<double>> values;
  for (std::size_t e = 0; e < result->value.dims().size() && result->ok(); ++e)
    values.push_back(value_at(result->value, e));
  return values;
}

}  // namespace rimetree::test
