// Which sums over sources are taken together, what is said of them, and that the written forest stays in charge.
#include "runtime/rewrite/rewriting.h"

#include <gtest/gtest.h>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/forest_fixture.h"
#include "tests/support/many_node_tree.h"

namespace rimetree {
namespace {

using test::TestForest;

struct Rewritten {
  explicit Rewritten(const std::vector<NodeSpec>& specs, bool as_written = false, const std::string& device = "none",
                     std::optional<bool> fuse = {})
      : forest(Forest::build(specs, test::registry())),
        evaluator(forest,
                  EvaluatorOptions{.threads = 1, .device = {device, 0}, .as_written = as_written, .fuse = fuse}) {}

  Algebra algebra(const std::string& node) { return evaluator.evaluated().node(forest->find(node)).algebra(); }
  bool is_needed(const std::string& node) { return evaluator.evaluated().is_needed(forest->find(node)); }
  std::string notes() {
    std::string all;
    for (const std::string& note : evaluator.notes().list()) all += note + "\n";
    return all;
  }

  std::shared_ptr<Forest> forest;
  Evaluator evaluator;
};

const testing::ManyNodeTree kTree{.n_baseline = 3, .n_source = 4, .n_time = 2, .n_channel = 5};

Request request_of(const testing::ManyNodeTree& tree) {
  Request request;
  request.cells = tree.cells();
  return request;
}

TEST(Rewriting, OneNodePerSourceAndBaselineBecomesOneSumPerBaseline) {
  Rewritten tree(kTree.specs());
  for (const char* root : {"V:0", "V:1", "V:2"}) EXPECT_EQ(tree.algebra(root), Algebra::source_sum);
  EXPECT_FALSE(tree.is_needed("K:0:1")) << "nobody reads it any more";
  EXPECT_TRUE(tree.is_needed("uvw:0"));
  // Three sums, three uvw, two stacks with what is in them.
  EXPECT_EQ(tree.evaluator.evaluated().order().size(), 3u + 3 + 2 + 4 * 3);
  const auto plan = tree.evaluator.plan().batch_of(tree.forest->find("V:0"));
  EXPECT_EQ(plan, tree.evaluator.plan().batch_of(tree.forest->find("V:2"))) << "one call for all baselines";
  EXPECT_NE(tree.notes().find("\"V:0\" and 2 like it, 4 sources each taken together"), std::string::npos)
      << tree.notes();
}

/// One root "V" that adds `n_source` terms, each made by term(tree, number of the source).
template <class Term>
std::vector<NodeSpec> sum_of(int n_source, const Term& term) {
  TestForest tree;
  tree.constant("uvw", test::array({3}, {10, 20, 30})).constant("two", test::array({}, {2}));
  std::vector<std::string> terms;
  for (int s = 0; s < n_source; ++s) {
    const std::string number = std::to_string(s);
    tree.constant("lmn" + number, test::array({3}, {0.001 * s, 0.2, 0.97}));
    tree.constant("b" + number, test::array({2, 2}, {1, 0, 0, 1}));
    tree.node("K" + number, "VisPhaseShift", {"lmn=lmn" + number, "uvw=uvw"});
    terms.push_back(term(tree, number));
  }
  tree.node("V", "Add", terms);
  return tree.specs();
}

TEST(Rewriting, NodesThatSumOneSourceEachAreOne) {
  const auto specs = sum_of(3, [](TestForest& tree, const std::string& s) {
    tree.node("psv" + s, "PSV", {"lmn" + s, "b" + s, "uvw"});
    return tree.node("v" + s, "Negate", {"psv" + s}), "v" + s;
  });
  Rewritten tree(specs);
  EXPECT_EQ(tree.algebra("V"), Algebra::source_sum);
  EXPECT_FALSE(tree.is_needed("psv1"));
  Rewritten alone(sum_of(1, [](TestForest& tree, const std::string& s) {
    return tree.node("psv", "PSV", {"lmn" + s, "b" + s, "uvw"}), std::string("psv");
  }));
  EXPECT_TRUE(alone.is_needed("psv")) << "it need not be made again";
  EXPECT_EQ(alone.notes(), "");
  Rewritten stacks(sum_of(3, [](TestForest& tree, const std::string& s) {
    tree.node("lmns" + s, "Composer", {"lmn" + s, "lmn" + s}, {{"dims", test::array({1}, {0})}});
    tree.constant("flux" + s, test::array({2}, {1, 2}));
    return tree.node("psv" + s, "PSV", {"lmns" + s, "flux" + s, "uvw"}), "psv" + s;
  }));
  EXPECT_EQ(stacks.algebra("V"), Algebra::sum) << "some may be known while others vary";
  Rewritten read_twice(sum_of(2, [](TestForest& tree, const std::string& s) {
    if (s == "0") tree.node("psv", "PSV", {"lmn0", "b0", "uvw"});
    return std::string("psv");
  }));
  EXPECT_EQ(read_twice.algebra("V"), Algebra::sum);
}

TEST(Rewriting, WhatTermsAreDividedByIsAFactor) {
  const auto divided = [](const char* by) {
    return sum_of(3, [by](TestForest& tree, const std::string& s) {
      tree.node("KB" + s, "Multiply", {"K" + s, "b" + s}).node("v" + s, "Divide", {"KB" + s, by + s});
      return "v" + s;
    });
  };
  Rewritten by_matrix(divided("b"));
  EXPECT_EQ(by_matrix.algebra("V"), Algebra::sum) << "element by element";
  EXPECT_NE(by_matrix.notes().find("it divides by a matrix, element by element"), std::string::npos)
      << by_matrix.notes();
  Rewritten by_number(sum_of(3, [](TestForest& tree, const std::string& s) {
    tree.node("KB" + s, "Multiply", {"K" + s, "b" + s}).node("v" + s, "Divide", {"KB" + s, "two"});
    return "v" + s;
  }));
  EXPECT_EQ(by_number.algebra("V"), Algebra::source_sum);
}

TEST(Rewriting, ProductsOfManySourcesAreNoSumsOfTheirOwn) {
  for (const int n_source : {16, 17}) {
    Rewritten tree(sum_of(n_source, [](TestForest& tree, const std::string& s) {
      tree.node("KB" + s, "Multiply", {"K" + s, "b" + s}).node("v" + s, "Real", {"KB" + s});
      return "v" + s;
    }));
    EXPECT_EQ(tree.algebra("KB3"), n_source == 16 ? Algebra::source_sum : Algebra::product);
  }
}

TEST(Rewriting, CanBeTurnedOff) {
  Rewritten tree(kTree.specs(), true);
  EXPECT_EQ(&tree.evaluator.evaluated(), tree.forest.get());
  EXPECT_EQ(tree.notes(), "");
}

TEST(Rewriting, ANodeWithinASumMayBeAskedFor) {
  Rewritten tree(kTree.specs()), written(kTree.specs(), true);
  const Request request = request_of(kTree);
  const ResultPtr sum = tree.evaluator.evaluate(request, "V:0");
  test::expect_ok(sum);
  const ResultPtr phase = tree.evaluator.evaluate(request, "K:0:1");
  test::expect_ok(phase);
  const ResultPtr expected = written.evaluator.evaluate(request, "K:0:1");
  EXPECT_EQ(test::value_at(phase->value, 0, 1, 3), test::value_at(expected->value, 0, 1, 3));
  EXPECT_EQ(tree.evaluator.evaluate(request, "V:0"), sum) << "what was known stays known";
}

TEST(Rewriting, StatesOfTheWrittenForestCount) {
  Rewritten tree(kTree.specs()), written(kTree.specs(), true);
  const Request request = request_of(kTree);
  const double before = tree.evaluator.evaluate(request, "V:1")->value.complex()[0].re;
  for (Rewritten* one : {&tree, &written})
    one->evaluator.forest().set_state(one->forest->find("stokes:2"), {{"value", test::array({4}, {7, 1, 2, 3})}});
  const ResultPtr got = tree.evaluator.evaluate(request, "V:1"), expected = written.evaluator.evaluate(request, "V:1");
  EXPECT_NE(got->value.complex()[0].re, before);
  for (std::size_t i = 0; i < got->value.size(); ++i)
    test::expect_near(got->value.complex()[i], expected->value.complex()[i], 1e-11);
  // A state on which the reading depends: now one source has another zero of the phase than its smearing.
  tree.evaluator.forest().set_state(tree.forest->find("K:1:0"), {{"n_minus", std::int64_t{0}}});
  written.evaluator.forest().set_state(written.forest->find("K:1:0"), {{"n_minus", std::int64_t{0}}});
  const ResultPtr moved = tree.evaluator.evaluate(request, "V:1");
  test::expect_near(moved->value.complex()[0], written.evaluator.evaluate(request, "V:1")->value.complex()[0], 1e-11);
  EXPECT_EQ(tree.algebra("V:1"), Algebra::sum) << "three sources together, and one as it is written";
  EXPECT_NE(tree.notes().find("a product has two values of n_minus"), std::string::npos) << tree.notes();
}

TEST(Rewriting, WhatKeepsATermFromASumIsNamed) {
  TestForest tree;
  tree.constant("lmn", test::array({3}, {0.1, 0.2, 0.97})).constant("uvw", test::array({3}, {10, 20, 30}));
  tree.constant("b", test::array({2, 2}, {1, 0, 0, 1})).node("K", "VisPhaseShift", {"lmn=lmn", "uvw=uvw"});
  tree.node("root", "Sqrt", {"K"}).node("odd", "MatrixMultiply", {"root", "b"}).node("even", "Multiply", {"K", "b"});
  tree.node("V", "Add", {"odd", "even", "even"});
  Rewritten rewritten(tree.specs());
  EXPECT_EQ(rewritten.algebra("V"), Algebra::sum);
  EXPECT_NE(rewritten.notes().find("in \"V\" node \"odd\" (MatrixMultiply) is evaluated as written: it holds no phase"),
            std::string::npos)
      << rewritten.notes();
}

TEST(Rewriting, ASourceWithoutDataIsLeftOutAndTheOthersAreSummed) {
  TestForest tree;
  tree.constant("uvw", test::array({3}, {10, 20, 30}))
      .node("none", "TestMissing", {}, {{"dims", test::array({2}, {2, 2})}});
  for (const std::string s : {"1", "2", "3"}) {
    tree.constant("lmn" + s, test::array({3}, {0.1, 0.2, 0.97})).constant("b" + s, test::array({2, 2}, {1, 0, 0, 1}));
    tree.node("K" + s, "VisPhaseShift", {"lmn=lmn" + s, "uvw=uvw"});
    tree.node("v" + s, "Multiply", {"K" + s, s == "2" ? "none" : "b" + s});
  }
  tree.node("V", "Add", {"v1", "v2", "v3"});
  Rewritten rewritten(tree.specs());
  for (int again = 0; again < 2; ++again) {
    const ResultPtr result = rewritten.evaluator.evaluate(tree.request, "V");
    test::expect_ok(result);
    const Complex<double> one = rewritten.evaluator.evaluate(tree.request, "K1")->value.complex()[0];
    test::expect_near(test::value_at(result->value, 0), 2.0 * one, 1e-14);
  }
}

TEST(Rewriting, ADeviceGetsTheBytesOfAPsvTree) {
  std::vector<NodeSpec> psv;
  for (NodeSpec spec : kTree.specs()) {
    const bool is_leaf = spec.class_name == "Constant" || spec.class_name == "Stokes";
    if (is_leaf) psv.push_back(spec);
  }
  NodeSpec lmn{"lmn", "Composer", {{"dims", test::array({1}, {0})}}, {}, ""}, b{"B", "Composer", lmn.state, {}, ""};
  for (std::size_t s = 0; s < kTree.n_source; ++s) {
    lmn.children.emplace_back("", "lmn:" + std::to_string(s));
    b.children.emplace_back("", "B:" + std::to_string(s));
  }
  psv.insert(psv.end(), {lmn, b});
  for (std::size_t i = 0; i < kTree.n_baseline; ++i)
    psv.push_back({kTree.root(i), "PSV", {}, {{"", "lmn"}, {"", "B"}, {"", "uvw:" + std::to_string(i)}}, ""});
  // Node by node: what the rewriting adds is no part of a program, so that there would be other descriptions of jobs.
  Rewritten trees[] = {Rewritten(kTree.specs(), false, "simulated", false), Rewritten(psv, false, "simulated", false)};
  for (Rewritten& tree : trees) {
    std::vector<int> roots;
    for (std::size_t i = 0; i < kTree.n_baseline; ++i) roots.push_back(tree.forest->find(kTree.root(i)));
    for (const ResultPtr& result : tree.evaluator.evaluate(request_of(kTree), roots)) test::expect_ok(result);
  }
  const DeviceReport got = trees[0].evaluator.devices()[0]->report();
  const DeviceReport expected = trees[1].evaluator.devices()[0]->report();
  EXPECT_GT(expected.bytes_to_device, 0u);
  EXPECT_EQ(got.bytes_to_device, expected.bytes_to_device);
  EXPECT_EQ(got.bytes_to_host, expected.bytes_to_host);
}

}  // namespace
}  // namespace rimetree
