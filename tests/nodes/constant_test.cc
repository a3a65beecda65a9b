// Constant: arrays of every kind, arrays on cells, and what is refused.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

TEST(ConstantNode, GivesArraysRowMajor) {
  TestForest forest;
  const ResultPtr x = forest.constant("x", array({2, 3}, {1, 2, 3, 4, 5, 6})).evaluate("x");
  expect_ok(x);
  EXPECT_TRUE((x->value.dims() == TensorShape{2, 3}));
  EXPECT_EQ(x->value.cells_per_element(), 1u);
  for (std::size_t e = 0; e < 6; ++e) EXPECT_EQ(value_at(x->value, e).re, 1.0 + static_cast<double>(e));
}

TEST(ConstantNode, GivesComplexNumbers) {
  TestForest forest;
  const ResultPtr x = forest.constant("x", complex_array({}, {{1, -2}})).evaluate("x");
  ASSERT_TRUE(x->value.is_complex());
  expect_near(value_at(x->value, 0), {1, -2}, 0);
}

TEST(ConstantNode, VariesOverCells) {
  TestForest forest;
  forest.constant("t", array({3, 2}, {1, 2, 3, 4, 5, 6}), 1).constant("f", array({1, 3}, {7, 8, 9}), 2);
  const ResultPtr t = forest.evaluate("t"), f = forest.evaluate("f");
  EXPECT_TRUE((t->value.dims() == TensorShape{3}));
  EXPECT_EQ(value_at(t->value, 1, 1, 0).re, 4);
  EXPECT_EQ(value_at(t->value, 1, 1, 2).re, 4);
  EXPECT_TRUE(f->value.dims().is_scalar());
  EXPECT_EQ(value_at(f->value, 0, 1, 2).re, 9);
}

TEST(ConstantNode, IsNotCopied) {
  TestForest forest;
  std::vector<double> numbers(std::size_t{3} << 14);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = double(i);
  const StateArray given = array({std::int64_t{1} << 14, 1, 3}, numbers);
  const ResultPtr x = forest.constant("x", given, 2).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(x->value.real(), given.data.data());
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(given.data.data()) % memory::Device::kAlignment, 0u);
  // The state goes, the result stays.
  forest.built->set_state(forest.built->find("x"),
                          {{"value", array({std::int64_t{1} << 14, 1, 1}, std::vector<double>(1 << 14))}});
  EXPECT_EQ(value_at(x->value, 5, 0, 2).re, 17);
}

TEST(ConstantNode, RefusesOtherCells) {
  TestForest forest;
  const ResultPtr x = forest.constant("x", array({5}, {1, 2, 3, 4, 5}), 1).evaluate("x");
  ASSERT_EQ(x->status, Result::Status::failed);
  EXPECT_NE(x->failures[0].message.find("[time 5]"), std::string::npos);
  EXPECT_NE(x->failures[0].message.find("[time 2, freq 3]"), std::string::npos);
  EXPECT_EQ(x->failures[0].origin, "test.py:1");
}

TEST(ConstantNode, RefusesMoreCellAxesThanTheArrayHas) {
  TestForest forest;
  EXPECT_THROW(forest.constant("x", 1.0, 1).evaluate("x"), ForestError);
}

TEST(ConstantNode, HoldsNothingToo) {
  TestForest forest;
  const ResultPtr x = forest.constant("x", array({0, 3}, {})).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(x->value.size(), 0u);
}

}  // namespace
}  // namespace rimetree::test
