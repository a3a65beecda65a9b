// The contract that every node keeps: missing data, failures, flags, and what a class may produce.
#include "runtime/evaluate/contract.h"

#include <gtest/gtest.h>

#include "runtime/core/error.h"
#include "tests/support/test_nodes.h"

namespace rimetree {
namespace {

using test::ForestUnderTest;
using test::request;
using test::values;

const std::map<std::string, StateValue> kMissing{{"missing", true}};
const std::map<std::string, StateValue> kSkips{{"skips", true}};

std::map<std::string, StateValue> value(double number) { return {{"value", number}}; }
std::map<std::string, StateValue> how(const std::string& text) { return {{"how", text}}; }

class Contract : public ::testing::Test {
 protected:
  ResultPtr result(const std::string& node, const Request& of = request()) {
    Evaluator evaluator(forest.build(), {.threads = 2});
    return evaluator.evaluate(of, node);
  }
  /// The one failure of an Awkward node that misbehaves like this.
  std::string failure(const std::string& what) {
    ForestUnderTest awkward;
    awkward.node("bad", "Awkward", {}, how(what));
    Evaluator evaluator(awkward.build(), {.threads = 1});
    const ResultPtr outcome = evaluator.evaluate(request(), "bad");
    EXPECT_EQ(outcome->status, Result::Status::failed) << what;
    EXPECT_TRUE(outcome->value.empty() && outcome->flags.empty() && outcome->derivatives.empty()) << what;
    if (outcome->failures.size() != 1) return "not one failure";
    EXPECT_EQ(outcome->failures[0].node, "bad");
    EXPECT_EQ(outcome->failures[0].node_class, "Awkward");
    EXPECT_EQ(outcome->failures[0].origin, "script.py:1");
    return outcome->failures[0].message;
  }
  ForestUnderTest forest;
};

TEST_F(Contract, AMissingChildMakesTheResultMissingAndNothingIsComputed) {
  forest.node("gone", "Leaf", {}, kMissing);
  forest.node("here", "Leaf");
  forest.node("sum", "Combine", {"here", "gone"});
  forest.node("top", "Combine", {"sum", "here"});
  EXPECT_EQ(result("top")->status, Result::Status::missing);
  EXPECT_EQ(forest.log->calls("sum"), 0);
  EXPECT_EQ(forest.log->calls("top"), 0);
}

TEST_F(Contract, AClassThatSkipsMissingChildrenSeesTheOthersInTheirSlots) {
  forest.node("one", "Leaf", {}, value(1));
  forest.node("two", "Leaf", {}, value(2));
  forest.node("three", "Leaf", {}, value(3));
  forest.node("gone", "Leaf", {}, kMissing);
  forest.node("b", "Slots", {"one", "gone", "two", "three"}, kSkips);
  forest.node("a", "Slots", {"gone", "one"}, kSkips);
  forest.node("rest", "Slots", {"one", "two", "gone", "three", "gone"}, kSkips);
  forest.node("absent", "Slots", {"one", "", "gone", "three"}, kSkips);
  EXPECT_EQ(values(*result("b")), (std::vector<double>{1, -1, 23})) << "a slot with a label stays, empty";
  EXPECT_EQ(values(*result("a")), (std::vector<double>{-1, 1, 0}));
  EXPECT_EQ(values(*result("rest")), (std::vector<double>{1, 2, 3})) << "repeated children leave no gap";
  EXPECT_EQ(values(*result("absent")), (std::vector<double>{1, -1, 3}));
}

TEST_F(Contract, IfAllChildrenAreMissingSoIsTheResult) {
  forest.node("gone", "Leaf", {}, kMissing);
  forest.node("all", "Slots", {"gone", "", "gone"}, kSkips);
  EXPECT_EQ(result("all")->status, Result::Status::missing);
  EXPECT_EQ(forest.log->calls("all"), 0);
}

TEST_F(Contract, OptionalChildrenThatAreNotGivenAreNotMissingData) {
  forest.node("alone", "Optional");
  forest.node("five", "Leaf", {}, value(5));
  forest.node("with", "Optional", {"five"});
  EXPECT_EQ(values(*result("with")), std::vector<double>{5});
  const ResultPtr alone = result("alone");
  ASSERT_TRUE(alone->ok()) << "a node all of whose children are optional must be evaluated without any";
  EXPECT_EQ(values(*alone), std::vector<double>{-1});
}

TEST_F(Contract, FailuresPropagateWithWhereTheyCameFrom) {
  forest.node("bad", "Awkward", {}, how("throws"));
  forest.node("worse", "Awkward", {}, how("throws"));
  forest.node("gone", "Leaf", {}, kMissing);
  forest.node("left", "Slots", {"bad"});
  forest.node("right", "Slots", {"bad", "worse"});
  forest.node("top", "Slots", {"left", "right", "gone"});
  forest.node("fine", "Leaf");
  const ResultPtr top = result("top");
  ASSERT_EQ(top->status, Result::Status::failed) << "a failure is worse than missing data";
  ASSERT_EQ(top->failures.size(), 2u) << "each failure once, however many ways it comes";
  EXPECT_EQ(top->failures[0].node, "bad");
  EXPECT_EQ(top->failures[0].node_class, "Awkward");
  EXPECT_EQ(top->failures[0].origin, "script.py:1");
  EXPECT_EQ(top->failures[0].message, "it went wrong");
  EXPECT_EQ(top->failures[1].node, "worse");
  EXPECT_EQ(forest.log->calls("left") + forest.log->calls("right") + forest.log->calls("top"), 0);
  EXPECT_TRUE(result("fine")->ok()) << "nodes beside the failure are unharmed";
}

TEST_F(Contract, WhateverANodeThrowsIsItsFailure) {
  EXPECT_EQ(failure("throws"), "it went wrong");
  EXPECT_NE(failure("throws a number"), "not one failure");
}

TEST_F(Contract, WhatAClassProducesIsChecked) {
  EXPECT_EQ(failure("gives nothing"), "the node class produced no value");
  EXPECT_EQ(failure("wrong dimensions"), "result has dimensions [3], expected [2]");
  EXPECT_EQ(failure("wrong cells"), "values on [time 3] do not fit the cells of the request, [time 2, freq 3]");
  EXPECT_NE(failure("wrong flag cells"), "not one failure");
  EXPECT_NE(failure("wrong flag planes"), "not one failure");
  EXPECT_NE(failure("wrong derivative dimensions"), "not one failure");
  EXPECT_NE(failure("wrong derivative cells"), "not one failure");
  EXPECT_EQ(failure("a derivative twice"), "the node class gave two derivatives with respect to one parameter");
}

TEST_F(Contract, DerivativesComeSortedByParameter) {
  forest.node("many", "Awkward", {}, how("unsorted derivatives"));
  const ResultPtr many = result("many");
  ASSERT_EQ(many->derivatives.size(), 3u);
  EXPECT_EQ(many->derivatives[0].parameter, (ParameterId{2, 5}));
  EXPECT_EQ(many->derivatives[1].parameter, (ParameterId{9, 0}));
  EXPECT_EQ(many->derivatives[2].parameter, (ParameterId{9, 1}));
}

TEST_F(Contract, DerivativesAreExactAndOnlyWhereAsked) {
  forest.node("p", "Leaf", {}, {{"value", 0.3}, {"depends_on", std::vector<std::string>{"parameter"}}});
  forest.node("q", "Leaf", {}, {{"value", 0.5}, {"depends_on", std::vector<std::string>{"parameter"}}});
  forest.node("c", "Leaf", {}, value(2));
  forest.node("s", "Combine", {"p", "q", "c", "p"}, {{"factor", 3.0}});
  EXPECT_TRUE(result("s")->derivatives.empty());
  Request with = request();
  with.derivatives = true;
  const ResultPtr s = result("s", with);
  ASSERT_EQ(s->derivatives.size(), 2u);
  EXPECT_DOUBLE_EQ(s->derivative({0, 0})->real()[0], 2 * 3 * std::cos(3.1)) << "p goes in twice";
  EXPECT_DOUBLE_EQ(s->derivative({1, 0})->real()[0], 3 * std::cos(3.1));
}

TEST_F(Contract, FlagsAreTheUnionOfTheChildrens) {
  const std::map<std::string, StateValue> on_cells{{"flag", std::int64_t{1}},
                                                   {"depends_on", std::vector<std::string>{"domain"}}};
  forest.node("first_cell", "Leaf", {}, on_cells);
  forest.node("everywhere", "Leaf", {}, {{"flag", std::int64_t{6}}});
  forest.node("none", "Leaf");
  forest.node("both", "Combine", {"first_cell", "none", "everywhere"});
  forest.node("clean", "Combine", {"none", "none"});
  const ResultPtr both = result("both");
  ASSERT_TRUE(both->ok());
  ASSERT_EQ(both->flags.planes(), 1u);
  EXPECT_EQ(both->flags.cells(), (CellShape{{2, 3, 1, 1}}));
  EXPECT_EQ(both->flags.data()[0], 7) << "bits add up";
  for (int i = 1; i < 6; ++i) EXPECT_EQ(both->flags.data()[i], 6) << i;
  EXPECT_TRUE(result("clean")->flags.empty()) << "no flags cost no memory";
}

}  // namespace
}  // namespace rimetree
