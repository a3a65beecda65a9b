// Identity: the child itself, not a copy.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(IdentityNode, SharesTheValuesFlagsAndDerivatives) {
  TestForest forest;
  forest.request.derivatives = true;
  forest.parm("p", 3).flagged("f", "p", array({1, 1, 3}, {0, 2, 0})).node("x", "Identity", {"f"});
  const ResultPtr x = forest.evaluate("x");
  EXPECT_EQ(value_at(x->value, 0).re, 3);
  EXPECT_EQ(flag_at(x->flags, 0, 0, 1), 2);
  ASSERT_NE(x->derivative({0, 0}), nullptr);
  Evaluator evaluator(forest.built);
  const auto both =
      evaluator.evaluate(forest.request, std::vector<int>{forest.built->find("p"), forest.built->find("x")});
  EXPECT_EQ(both[0]->value.storage(), both[1]->value.storage());
}

}  // namespace
}  // namespace rimetree::test
