// Trees in which the same node is written several times are evaluated as if it had been written once.
#include "runtime/rewrite/equal_nodes.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/random_rime.h"
#include "tests/support/same_bits.h"

namespace rimetree {
namespace {

using test::RandomRime, test::TestForest, test::Trouble;

std::map<std::string, std::size_t> places(const std::vector<NodeSpec>& specs) {
  std::map<std::string, std::size_t> place;
  for (std::size_t i = 0; i < specs.size(); ++i) place[specs[i].name] = i;
  return place;
}

/// The nodes of a tree that its root needs, unknowns first, so that they have the same numbers in trees of the same
/// unknowns. A node that nobody reads would be a root of its own.
std::vector<NodeSpec> what_is_read(const std::vector<NodeSpec>& specs, const std::string& root) {
  const auto place = places(specs);
  std::vector<bool> read(specs.size(), false);
  std::vector<std::size_t> open{place.at(root)};
  while (!open.empty()) {
    const std::size_t i = open.back();
    open.pop_back();
    if (read[i]) continue;
    read[i] = true;
    for (const auto& child : specs[i].children) open.push_back(place.at(child.second));
  }
  std::vector<NodeSpec> result;
  for (const bool unknowns : {true, false})
    for (std::size_t i = 0; i < specs.size(); ++i)
      if (read[i] && (specs[i].class_name == "Parm") == unknowns) result.push_back(specs[i]);
  return result;
}

/// The tree with half of what nodes read written anew for them, copies of copies included.
std::vector<NodeSpec> written_anew(std::vector<NodeSpec> specs, const std::string& root, unsigned seed) {
  std::mt19937 random(seed);
  auto place = places(specs);
  const std::size_t n = specs.size();
  for (std::size_t i = 0; i < n; ++i)
    for (std::size_t k = 0; k < specs[i].children.size(); ++k) {
      NodeSpec copy = specs[place.at(specs[i].children[k].second)];
      if (copy.class_name == "Parm" || copy.class_name == "Condeq" || random() % 2 == 0) continue;
      copy.name += "'" + std::to_string(specs.size());
      specs[i].children[k].second = copy.name;
      place[copy.name] = specs.size();
      specs.push_back(std::move(copy));
    }
  return what_is_read(specs, root);
}

struct Evaluated {
  explicit Evaluated(const std::vector<NodeSpec>& specs, std::optional<bool> as_written = {})
      : forest(Forest::build(specs, test::registry())),
        evaluator(forest, EvaluatorOptions{.threads = 1, .as_written = as_written}) {}
  ResultPtr result(Request request, const std::string& node, bool derivatives = true) {
    request.derivatives = derivatives;
    return evaluator.evaluate(request, node);
  }
  /// How many nodes are evaluated for a root.
  std::size_t n_needed(const std::string& root) {
    const int node = forest->find(root);
    return evaluator.plan().below({&node, 1}).size();
  }

  std::shared_ptr<Forest> forest;
  Evaluator evaluator;
};

/// Sums over antennas go in the order of the nodes with their coordinates, each rounded in another way.
void expect_near_alike(const Vells& a, const Vells& b) {
  ASSERT_EQ(a.empty(), b.empty());
  if (a.empty()) return;
  ASSERT_EQ(a.size(), b.size());
  for (std::size_t i = 0; i < a.size(); ++i)
    EXPECT_NEAR(a.real()[i], b.real()[i], 1e-13 * std::max(std::abs(b.real()[i]), 1.0));
}

class EqualNodesOfTrees : public ::testing::TestWithParam<Trouble> {};

TEST_P(EqualNodesOfTrees, GiveTheNumbersOfTreesWithoutThem) {
  std::size_t n_copied = 0;
  for (unsigned seed = 0; seed < 40; ++seed) {
    SCOPED_TRACE(seed);
    const RandomRime rime(seed, GetParam());
    Evaluated once(what_is_read(rime.tree.specs(), rime.objective)),
        anew(written_anew(rime.tree.specs(), rime.objective, seed));
    n_copied += anew.forest->size() - once.forest->size();
    // Which of two constants is the brightness may depend on which node is the first.
    const std::size_t n_once = once.n_needed(rime.objective);
    EXPECT_LE(anew.n_needed(rime.objective), n_once + n_once / 50 + 2);
    const ResultPtr a = anew.result(rime.tree.request, rime.objective),
                    b = once.result(rime.tree.request, rime.objective);
    EXPECT_EQ(a->value.size(), b->value.size());
    test::expect_alike(*a, *b, expect_near_alike);
    if (HasFailure()) return;
  }
  EXPECT_GT(n_copied, 400u) << "a test of copies without copies";
}

INSTANTIATE_TEST_SUITE_P(Troubled, EqualNodesOfTrees,
                         ::testing::Values(Trouble::none, Trouble::flagged, Trouble::missing, Trouble::failing),
                         [](const auto& info) { return std::to_string(static_cast<int>(info.param)); });

/// sin(2) + sin(2), where all nodes are written twice.
TestForest two_sines() {
  TestForest tree;
  tree.constant("a", 2.0).constant("b", 2.0).node("sin_a", "Sin", {"a"}).node("sin_b", "Sin", {"b"});
  tree.node("sum", "Add", {"sin_a", "sin_b"});
  return tree;
}

double real_value(const ResultPtr& result) {
  test::expect_ok(result);
  return test::value_at(result->value, 0).re;
}

TEST(EqualNodes, AreEvaluatedOnce) {
  const TestForest tree = two_sines();
  Evaluated merged(tree.specs()), written(tree.specs(), true);
  EXPECT_EQ(merged.n_needed("sum"), 3u);
  EXPECT_EQ(written.n_needed("sum"), 5u);
  EXPECT_EQ(real_value(merged.result(tree.request, "sum")), real_value(written.result(tree.request, "sum")));
  const std::string note = merged.evaluator.notes().list().at(0);
  EXPECT_NE(note.find("2 nodes, \"b\" the first of them"), std::string::npos) << note;
}

TEST(EqualNodes, OfOneLineOfAScriptAreNotToldOf) {
  std::vector<NodeSpec> specs = two_sines().specs();
  const auto notes = [&] { return Evaluated(specs).evaluator.notes().list(); };
  for (NodeSpec& spec : specs) spec.origin = "loop.py:3";
  EXPECT_TRUE(notes().empty());
  EXPECT_EQ(Evaluated(specs).n_needed("sum"), 3u);
  specs.back().origin = specs[3].origin = "loop.py:4";  // sin_b
  ASSERT_EQ(notes().size(), 1u);
  EXPECT_NE(notes().front().find("\"sin_b\" is written like a node before it"), std::string::npos);
}

TEST(EqualNodes, MayBeAskedForByName) {
  const TestForest tree = two_sines();
  Evaluated merged(tree.specs());
  EXPECT_EQ(real_value(merged.result(tree.request, "sin_b")), real_value(merged.result(tree.request, "sin_a")));
}

TEST(EqualNodes, AreNoLongerEqualWhenAStateHasChanged) {
  for (const std::string changed : {"a", "b"}) {
    const TestForest tree = two_sines();
    Evaluated merged(tree.specs());
    (void)merged.result(tree.request, "sum");
    for (const double value : {3.0, 2.0, 5.0}) {
      merged.forest->set_state(merged.forest->find(changed), {{"value", value}});
      EXPECT_NEAR(real_value(merged.result(tree.request, "sum")), std::sin(2.0) + std::sin(value), 1e-15)
          << changed << " is " << value;
      EXPECT_EQ(merged.n_needed("sum"), 5u) << "what has changed may change again";
    }
  }
}

TEST(EqualNodes, UnknownsStayThemselves) {
  TestForest tree;
  tree.parm("a", 2.0).parm("b", 2.0).node("sin_a", "Sin", {"a"}).node("sin_b", "Sin", {"b"});
  tree.node("sum", "Add", {"sin_a", "sin_b"});
  Evaluated merged(tree.specs());
  EXPECT_EQ(merged.n_needed("sum"), 5u);
  EXPECT_EQ(merged.result(tree.request, "sum")->derivatives.size(), 2u);
}

TEST(EqualNodes, NoiseStaysIndependent) {
  TestForest tree;
  tree.node("a", "GaussNoise").node("b", "GaussNoise").node("sum", "Subtract", {"a", "b"});
  Evaluated merged(tree.specs());
  EXPECT_NE(real_value(merged.result(tree.request, "sum")), 0.0) << "a node's name decides on its numbers";
}

TEST(EqualNodes, EquationsCountAsOftenAsTheyAreWritten) {
  TestForest tree;
  tree.constant("a", 2.0).constant("b", 3.0).node("one", "Condeq", {"a", "b"}).node("two", "Condeq", {"a", "b"});
  tree.node("chi", "ChiSquare", {"one", "two"}).node("half", "ChiSquare", {"one"});
  Evaluated merged(tree.specs());
  EXPECT_EQ(real_value(merged.result(tree.request, "chi")), 2 * real_value(merged.result(tree.request, "half")));
}

TEST(EqualNodes, DifferInStateOrOrderOfChildren) {
  TestForest tree;
  tree.constant("a", 2.0).constant("b", 3.0).node("ab", "Subtract", {"a", "b"}).node("ba", "Subtract", {"b", "a"});
  tree.constant("c", 2.0, 0).constant("negative_zero", -0.0).constant("zero", 0.0);
  tree.node("all", "Composer", {"ab", "ba", "negative_zero", "zero", "c"});
  const auto forest = Forest::build(tree.specs(), test::registry());
  const rewrite::EqualNodes equal(*forest);
  EXPECT_EQ(equal.count_of_other_lines(), 1u);
  EXPECT_EQ(equal.first()[forest->find("c")], forest->find("a"));
  EXPECT_EQ(equal.first()[forest->find("zero")], forest->find("zero")) << "1/-0 is not 1/0";
}

}  // namespace
}  // namespace rimetree
