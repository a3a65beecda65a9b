// A forest evaluated on a device, as it is written.
#pragma once

#include <gtest/gtest.h>

#include "memory/simulated_device.h"
#include "tests/support/chosen_device.h"
#include "tests/support/many_node_tree.h"

namespace rimetree::test {

using testing::ManyNodeTree;

inline constexpr PlacementRule kAlways{1, false};

struct Trial {
  Trial(const std::vector<NodeSpec>& specs, const std::string& device, std::vector<std::string> names,
        PlacementRule rule = kAlways, std::size_t budget_bytes = 0, bool fuse = true)
      : forest(Forest::build(specs, registry())) {
    EvaluatorOptions options;
    options.threads = 1;
    options.device = {device, budget_bytes};
    options.placement = rule;
    options.as_written = true;
    options.fuse = fuse;
    evaluator = std::make_unique<Evaluator>(forest, options);
    for (const std::string& name : names) roots.push_back(forest->find(name));
  }
  static Trial of(const ManyNodeTree& tree, const std::string& device, std::size_t budget_bytes = 0, bool fuse = true) {
    std::vector<std::string> names;
    for (std::size_t b = 0; b < tree.n_baseline; ++b) names.push_back(ManyNodeTree::root(b));
    return {tree.specs(), device, names, kAlways, budget_bytes, fuse};
  }
  std::vector<ResultPtr> evaluate(std::shared_ptr<const Cells> cells) {
    request.cells = std::move(cells);
    return evaluator->evaluate(request, roots);
  }
  ClassTiming timing(const std::string& class_name) { return evaluator->timing().classes.at(class_name); }
  DeviceReport report() { return evaluator->devices().front()->report(); }
  memory::SimulatedDevice& device() {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices().front()->device());
  }

  std::shared_ptr<Forest> forest;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<int> roots;
  Request request;
};

/// The same but for rounding: on the host bodies run as programs, with functions of their own.
inline void expect_same_numbers(const std::vector<ResultPtr>& got, const std::vector<ResultPtr>& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) {
    expect_ok(expected[i]);
    expect_alike(*got[i], *expected[i], expect_close);
  }
}

}  // namespace rimetree::test
