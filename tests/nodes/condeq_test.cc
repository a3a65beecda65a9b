// Condeq: sign, broadcasting, flags of data, model and weight, and what it refuses.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(CondeqNode, IsDataMinusModel) {
  const auto x =
      evaluate_class("Condeq", {complex_array({2}, {{5, 1}, {7, -1}}), complex_array({2}, {{2, 3}, {1, 1}})});
  ASSERT_EQ(x.size(), 2u);
  EXPECT_EQ(x[0], Complex<double>(3, -2));
  EXPECT_EQ(x[1], Complex<double>(6, -2));
}

TEST(CondeqNode, TakesAScalarOnEitherSide) {
  EXPECT_EQ(evaluate_class("Condeq", {array({2}, {5, 7}), array({}, {2})})[1].re, 5);
  EXPECT_EQ(evaluate_class("Condeq", {array({}, {2}), array({2}, {5, 7})})[1].re, -5);
}

TEST(CondeqNode, TheWeightDoesNotEnter) {
  const auto x = evaluate_class("Condeq", {array({}, {5}), array({}, {2}), array({}, {100})}, {{"weight_factor", 9.0}});
  EXPECT_EQ(x.at(0).re, 3);
}

TEST(CondeqNode, HasTheDerivativesOfTheModelNegated) {
  TestForest forest;
  forest.request.derivatives = true;
  const ResultPtr x =
      forest.constant("d", 5.0).parm("p", 3).node("m", "Sqr", {"p"}).node("x", "Condeq", {"d", "m"}).evaluate("x");
  ASSERT_EQ(x->derivatives.size(), 1u);
  EXPECT_EQ(value_at(x->value, 0).re, 5 - 9);
  EXPECT_EQ(value_at(x->derivatives[0].value, 0).re, -6);
}

TEST(CondeqNode, FlagsStayWithTheirElement) {
  TestForest forest;
  forest.constant("d", array({2}, {1, 2})).constant("m", array({2}, {1, 2})).constant("w", array({2}, {1, 2}));
  forest.flagged("df", "d", array({2, 1, 3}, {1, 0, 0, 0, 0, 0}))
      .flagged("wf", "w", array({2, 1, 3}, {0, 0, 0, 0, 2, 0}));
  const ResultPtr x = forest.node("x", "Condeq", {"df", "m", "wf"}).evaluate("x");
  EXPECT_EQ(flag_at(x->flags, 0, 0, 0), 1);
  EXPECT_EQ(flag_at(x->flags, 1, 0, 0), 0);
  EXPECT_EQ(flag_at(x->flags, 0, 0, 1), 0);
  EXPECT_EQ(flag_at(x->flags, 1, 0, 1), 2);
}

TEST(CondeqNode, RefusesWhatDoesNotFit) {
  const auto refused = [](std::vector<StateValue> children, TestForest::Fields state = {}) {
    EXPECT_THROW(evaluate_class("Condeq", children, state), ForestError);
  };
  refused({array({2}, {1, 2}), array({3}, {1, 2, 3})});
  refused({array({2}, {1, 2}), array({2}, {1, 2}), array({3}, {1, 2, 3})});
  for (const double factor : {0.0, -1.0, std::nan(""), HUGE_VAL})
    refused({array({}, {1}), array({}, {1})}, {{"weight_factor", factor}});
}

TEST(CondeqNode, AWeightIsRealAndFixed) {
  TestForest forest;
  forest.constant("d", 5.0).parm("p", 3).constant("c", complex_array({}, {{1, 1}}));
  forest.node("solvable", "Condeq", {"d", "p", "p"}).node("complex", "Condeq", {"d", "p", "c"});
  forest.request.derivatives = true;
  for (const char* name : {"solvable", "complex"})
    EXPECT_EQ(forest.evaluate(name)->status, Result::Status::failed) << name;
}

}  // namespace
}  // namespace rimetree::test
