// Composer: the shapes it makes, and flags that stay with their element.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

std::vector<double> real_values(const ResultPtr& x) {
  std::vector<double> values;
  for (std::size_t e = 0; e < x->value.dims().size(); ++e) values.push_back(value_at(x->value, e).re);
  return values;
}

TestForest two_children() {
  TestForest forest;
  forest.constant("a", array({2}, {1, 2})).constant("b", array({2}, {3, 4}));
  return forest;
}

TEST(ComposerNode, MakesAVectorByDefault) {
  const ResultPtr x = two_children().node("x", "Composer", {"a", "b"}).evaluate("x");
  EXPECT_TRUE((x->value.dims() == TensorShape{4}));
  EXPECT_EQ(real_values(x), (std::vector<double>{1, 2, 3, 4}));
}

TEST(ComposerNode, MakesTheDimensionsAskedFor) {
  const ResultPtr x = two_children().node("x", "Composer", {"b", "a"}, {{"dims", array({2}, {2, 2})}}).evaluate("x");
  EXPECT_TRUE((x->value.dims() == TensorShape{2, 2}));
  EXPECT_EQ(real_values(x), (std::vector<double>{3, 4, 1, 2}));
}

TEST(ComposerNode, StacksEqualTensors) {
  TestForest forest = two_children();
  forest.node("x", "Composer", {"a", "b", "a"}, {{"dims", array({1}, {0})}});
  EXPECT_TRUE((forest.evaluate("x")->value.dims() == TensorShape{3, 2}));
  forest.constant("c", 1.0).node("y", "Composer", {"a", "c"}, {{"dims", array({1}, {0})}});
  EXPECT_THROW(forest.evaluate("y"), ForestError);
}

TEST(ComposerNode, RefusesDimensionsThatDoNotFit) {
  EXPECT_THROW(two_children().node("x", "Composer", {"a", "b"}, {{"dims", array({2}, {2, 3})}}).evaluate("x"),
               ForestError);
}

TEST(ComposerNode, KeepsFlagsWithTheirElement) {
  TestForest forest = two_children();
  forest.flagged("fb", "b", array({2, 1, 3}, {0, 0, 0, 0, 8, 0})).node("x", "Composer", {"a", "fb"});
  const ResultPtr x = forest.evaluate("x");
  for (std::size_t e = 0; e < 4; ++e)
    for (int f = 0; f < 3; ++f) EXPECT_EQ(flag_at(x->flags, e, 1, f), e == 3 && f == 1 ? 8 : 0);
}

}  // namespace
}  // namespace rimetree::test
