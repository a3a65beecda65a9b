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

TEST(Rewriting, APhaseThatDividesIsItsConjugate) {
  const auto specs = sum_of(3, [](TestForest& tree, const std::string& s) {
    return tree.node("v" + s, "Divide", {"b" + s, "K" + s}), "v" + s;
  });
  Rewritten tree(specs), written(specs, true);
  EXPECT_EQ(tree.algebra("V"), Algebra::source_sum);
  const ResultPtr got = tree.evaluator.evaluate(TestForest().request, "V");
  const ResultPtr expected = written.evaluator.evaluate(TestForest().request, "V");
  for (std::size_t e = 0; e < 4; ++e)
    test::expect_near(test::value_at(got->value, e), test::value_at(expected->value, e), 1e-14);
  Rewritten by_product(sum_of(3, [](TestForest& tree, const std::string& s) {
    tree.node("K2" + s, "Multiply", {"K" + s, "two"});
    return tree.node("v" + s, "Divide", {"b" + s, "K2" + s}), "v" + s;
  }));
  EXPECT_NE(by_product.notes().find("it divides by a term of a source"), std::string::npos) << by_product.notes();
}

TEST(Rewriting, ElementsOfProductsAreThoseOfTheirMatrix) {
  const auto specs = sum_of(3, [](TestForest& tree, const std::string& s) {
    tree.constant("c" + s, test::array({2, 2}, {1, 2, 3, 4})).node("KC" + s, "Multiply", {"K" + s, "c" + s});
    tree.node("KCH" + s, "ConjTranspose", {"KC" + s});
    return tree.node("v" + s, "Selector", {"KCH" + s}, {{"index", test::array({2}, {0, 1})}}), "v" + s;
  });
  Rewritten tree(specs), written(specs, true);
  EXPECT_FALSE(tree.is_needed("KC1"));
  const ResultPtr got = tree.evaluator.evaluate(TestForest().request, "V");
  const ResultPtr expected = written.evaluator.evaluate(TestForest().request, "V");
  test::expect_near(test::value_at(got->value, 0), test::value_at(expected->value, 0), 1e-13);
}

TEST(Rewriting, PhasesThatCancelKeepTheirFlags) {
  const auto specs = sum_of(3, [](TestForest& tree, const std::string& s) {
    if (s == "0") {
      tree.constant("there", test::array({3}, {1, 2, 3})).constant("shape", test::array({3}, {1e-3, 1e-3, 0}));
      tree.node("flagged", "TestFlags", {"there"}, {{"bits", test::array({1, 1, 1}, {4})}});
    }
    tree.node("L" + s, "VisPhaseShift", {"lmn=lmn" + s, "uvw=flagged"}).node("LH" + s, "Conj", {"L" + s});
    tree.node("taper" + s, "SourceShape", {"shape", "uvw"});
    return tree.node("v" + s, "Multiply", {"K" + s, "L" + s, "LH" + s, "taper" + s, "b" + s}), "v" + s;
  });
  for (const bool as_written : {true, false}) {
    Rewritten tree(specs, as_written);
    EXPECT_EQ(test::flag_at(tree.evaluator.evaluate(TestForest().request, "V")->flags, 0, 0, 0), 4) << as_written;
  }
}

/// K [[b, 0], [0, c]] of each source, element by element; `zero` is what stands off the diagonal.
std::vector<NodeSpec> sum_by_element(int n_source, const std::string& zero = "zero") {
  std::vector<NodeSpec> specs = sum_of(n_source, [&zero](TestForest& tree, const std::string& s) {
    if (s == "0") tree.constant("zero", 0.0).constant("one", 1.0);
    tree.constant("xx" + s, 2.0).node("v" + s, "Multiply", {"K" + s, "xx" + s});
    tree.node("m" + s, "Matrix22", {"v" + s, zero, zero, "K" + s});
    return "m" + s;
  });
  return specs;
}

TEST(Rewriting, MatricesThatAreWrittenElementByElementAreFactors) {
  Rewritten tree(sum_by_element(3)), written(sum_by_element(3), true);
  EXPECT_EQ(tree.algebra("V"), Algebra::source_sum);
  EXPECT_FALSE(tree.is_needed("v1"));
  const ResultPtr got = tree.evaluator.evaluate(TestForest().request, "V");
  const ResultPtr expected = written.evaluator.evaluate(TestForest().request, "V");
  test::expect_ok(got);
  for (std::size_t e = 0; e < 4; ++e)
    test::expect_near(test::value_at(got->value, e), test::value_at(expected->value, e), 1e-14);
  Rewritten not_zero(sum_by_element(3, "one"));
  EXPECT_EQ(not_zero.algebra("V"), Algebra::sum);
  EXPECT_NE(not_zero.notes().find("it is an element without a phase of a source, and not zero"), std::string::npos)
      << not_zero.notes();
}

TEST(Rewriting, ElementsKeepTheirFlags) {
  const StateArray bits = test::array({1, 2, 1}, {0, 4});
  for (const std::string place : {"uvw", "lmn1", "xx1"}) {
    auto specs = sum_by_element(3);
    for (NodeSpec& spec : specs)
      for (auto& [label, child] : spec.children)
        if (child == place) child = "flagged";
    specs.push_back({"flagged", "TestFlags", {{"bits", bits}}, {{"", place}}, ""});
    Rewritten tree(specs), written(specs, true);
    Request request = TestForest().request;
    request.cells = kTree.cells();
    const ResultPtr got = tree.evaluator.evaluate(request, "V"), expected = written.evaluator.evaluate(request, "V");
    for (std::size_t e = 0; e < 4; ++e) {
      EXPECT_EQ(test::flag_at(expected->flags, e, 1, 0), e == 0 || (e == 3 && place != "xx1") ? 4 : 0) << place;
      EXPECT_EQ(test::flag_at(got->flags, e, 1, 0), test::flag_at(expected->flags, e, 1, 0)) << place << e;
    }
  }
}

TEST(Rewriting, WhatWasReadAsZeroMayBecomeAnotherNumber) {
  Rewritten tree(sum_by_element(3)), written(sum_by_element(3), true);
  const Request request = TestForest().request;
  test::expect_ok(tree.evaluator.evaluate(request, "V"));
  for (Rewritten* one : {&tree, &written})
    one->evaluator.forest().set_state(one->forest->find("zero"), {{"value", test::array({}, {5})}});
  const ResultPtr got = tree.evaluator.evaluate(request, "V");
  EXPECT_EQ(test::value_at(got->value, 1), Complex<double>(15, 0));
  EXPECT_EQ(tree.algebra("V"), Algebra::sum);
}

TEST(Rewriting, ProductsBesidePhasesAreReadAsTheirFactors) {
  Rewritten tree(sum_of(3, [](TestForest& tree, const std::string& s) {
    if (s == "0") tree.constant("J", test::array({2, 2}, {1, 2, 3, 4})).node("JH", "ConjTranspose", {"J"});
    tree.constant("c" + s, test::array({2, 2}, {1, 2, 3, std::stod(s)}));
    tree.node("Jb" + s, "MatrixMultiply", {"J", "c" + s}).node("JbJH" + s, "MatrixMultiply", {"Jb" + s, "JH"});
    return tree.node("v" + s, "Multiply", {"JbJH" + s, "K" + s}), "v" + s;
  }));
  EXPECT_EQ(tree.algebra("V"), Algebra::matrix_product) << "J is the same for all sources, and stays outside";
  EXPECT_FALSE(tree.is_needed("Jb1"));
}

TEST(Rewriting, WhatIsDoneToASourceForAllBaselinesIsDoneOnce) {
  auto specs = sum_of(3, [](TestForest& tree, const std::string& s) {
    tree.constant("R" + s, test::array({2, 2}, {1, 2, 3, std::stod(s)})).node("RH" + s, "ConjTranspose", {"R" + s});
    tree.constant("i" + s, test::array({4}, {1, 0, 0, 0})).node("B" + s, "Stokes", {"i" + s});
    tree.node("RBRH" + s, "MatrixMultiply", {"R" + s, "B" + s, "RH" + s});
    return tree.node("v" + s, "Multiply", {"RBRH" + s, "K" + s}), "v" + s;
  });
  specs.push_back({"uvw2", "Constant", {{"value", test::array({3}, {5, 6, 7})}}, {}, ""});
  NodeSpec other{"W", "Add", {}, {}, ""};
  for (const std::string s : {"0", "1", "2"}) {
    specs.push_back({"L" + s, "VisPhaseShift", {}, {{"lmn", "lmn" + s}, {"uvw", "uvw2"}}, ""});
    specs.push_back({"w" + s, "Multiply", {}, {{"", "RBRH" + s}, {"", "L" + s}}, ""});
    other.children.emplace_back("", "w" + s);
  }
  specs.push_back(other);
  Rewritten tree(specs);
  EXPECT_EQ(tree.algebra("V"), Algebra::source_sum);
  EXPECT_TRUE(tree.is_needed("RBRH1")) << "a part of all sums, and no Jones terms of theirs";
}

TEST(Rewriting, SumsOverSourcesAsElementsAreOneSum) {
  for (const int n_source : {3, 40}) {
    auto specs = sum_by_element(n_source);
    NodeSpec xx{"xx", "Add", {}, {}, ""}, yy{"yy", "Add", {}, {}, ""};
    for (int s = 0; s < n_source; ++s) {
      xx.children.emplace_back("", "v" + std::to_string(s));
      yy.children.emplace_back("", "K" + std::to_string(s));
    }
    specs.insert(specs.end(),
                 {xx, yy, {"W", "Matrix22", {}, {{"", "xx"}, {"", "zero"}, {"", "zero"}, {"", "yy"}}, ""}});
    specs.push_back({"g", "Constant", {{"value", test::array({}, {3})}}, {}, ""});
    specs.push_back({"gxx", "Multiply", {}, {{"", "g"}, {"", "xx"}}, ""});
    specs.push_back({"G", "Matrix22", {}, {{"", "gxx"}, {"", "zero"}, {"", "zero"}, {"", "yy"}}, ""});
    Rewritten tree(specs);
    EXPECT_EQ(tree.algebra("W"), Algebra::source_sum);
    EXPECT_FALSE(tree.is_needed("xx"));
    EXPECT_NE(tree.algebra("G"), Algebra::composition) << "a number that all terms of an element have";
    const ResultPtr one = tree.evaluator.evaluate(TestForest().request, "W"),
                    three = tree.evaluator.evaluate(TestForest().request, "G");
    test::expect_near(test::value_at(three->value, 0), 3.0 * test::value_at(one->value, 0), 1e-12);
    test::expect_near(test::value_at(three->value, 3), test::value_at(one->value, 3), 1e-12);
  }
}

TEST(Rewriting, ProductsOfManySourcesAreNoSumsOfTheirOwn) {
  for (const int n_source : {16, 17}) {
    Rewritten tree(sum_of(n_source, [](TestForest& tree, const std::string& s) {
      tree.node("KB" + s, "Multiply", {"K" + s, "b" + s}).node("v" + s, "Abs", {"KB" + s});
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

TEST(Rewriting, ADifferenceWithoutOneOfItsSourcesIsMissing) {
  auto specs = sum_of(2, [](TestForest& tree, const std::string& s) {
    if (s == "0") return tree.node("v0", "PSV", {"lmn0", "b0", "uvw"}), std::string("v0");
    tree.node("none", "TestMissing", {}, {{"dims", test::array({2}, {2, 2})}}).node("v1", "Multiply", {"K1", "none"});
    return std::string("v1");
  });
  specs.push_back({"W", "Subtract", {}, {{"", "v0"}, {"", "v1"}}, ""});
  for (const bool as_written : {true, false}) {
    Rewritten tree(specs, as_written);
    EXPECT_EQ(tree.evaluator.evaluate(TestForest().request, "W")->status, Result::Status::missing) << as_written;
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
