// MatrixMultiply: hand products of every combination of scalars, vectors, matrices and stacks.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

struct Product {
  TensorShape dims;
  std::vector<Complex<double>> values;
};
Product product(const std::vector<StateValue>& factors) {
  TestForest forest;
  TestForest::Children names;
  for (std::size_t i = 0; i < factors.size(); ++i) {
    names.push_back("f" + std::to_string(i));
    forest.constant(names.back(), factors[i]);
  }
  const ResultPtr x = forest.node("x", "MatrixMultiply", names).evaluate("x");
  expect_ok(x);
  Product result{x->value.dims(), {}};
  for (std::size_t e = 0; e < result.dims.size(); ++e) result.values.push_back(value_at(x->value, e));
  return result;
}
void expect_product(const std::vector<StateValue>& factors, TensorShape dims, std::vector<double> expected) {
  const Product got = product(factors);
  EXPECT_TRUE(got.dims == dims) << to_string(got.dims) << " instead of " << to_string(dims);
  ASSERT_EQ(got.values.size(), expected.size());
  for (std::size_t e = 0; e < expected.size(); ++e) expect_near(got.values[e], expected[e], 1e-14);
}

const StateValue kA = array({2, 2}, {1, 2, 3, 4}), kB = array({2, 2}, {0, 1, 1, 1});

TEST(MatrixMultiplyNode, OfMatricesGoesFromLeftToRight) {
  expect_product({kA, kB}, {2, 2}, {2, 3, 4, 7});
  expect_product({kB, kA}, {2, 2}, {3, 4, 4, 6});
  expect_product({kA, kB, kA}, {2, 2}, {11, 16, 25, 36});
  expect_product({kA}, {2, 2}, {1, 2, 3, 4});
}

TEST(MatrixMultiplyNode, OfComplexMatrices) {
  const Product got = product({complex_array({2, 2}, {{0, 1}, {0, 0}, {0, 0}, {1, 0}}), kA});
  expect_near(got.values[0], {0, 1}, 0);
  expect_near(got.values[1], {0, 2}, 0);
  expect_near(got.values[2], {3, 0}, 0);
}

TEST(MatrixMultiplyNode, OfScalars) {
  expect_product({2.0, kA, 3.0}, {2, 2}, {6, 12, 18, 24});
  expect_product({2.0, 3.0}, {}, {6});
}

TEST(MatrixMultiplyNode, OfVectors) {
  const StateValue v = array({2}, {5, 6});
  expect_product({kA, v}, {2}, {17, 39});
  expect_product({v, kA}, {2}, {23, 34});
  expect_product({v, v}, {}, {61});
  expect_product({v, kA, v}, {}, {319});
}

TEST(MatrixMultiplyNode, OfMatricesThatAreNotSquare) {
  const StateValue wide = array({1, 3}, {1, 2, 3}), tall = array({3, 1}, {4, 5, 6});
  expect_product({wide, tall}, {1, 1}, {32});
  expect_product({tall, wide}, {3, 3}, {4, 8, 12, 5, 10, 15, 6, 12, 18});
}

TEST(MatrixMultiplyNode, OfStacks) {
  const StateValue stack = array({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 1}), scalars = array({2}, {10, 100});
  expect_product({stack, stack}, {2, 2, 2}, {7, 10, 15, 22, 1, 1, 1, 2});
  expect_product({scalars, stack, kB}, {2, 2, 2}, {20, 30, 40, 70, 100, 100, 100, 200});
  expect_product({kB, stack}, {2, 2, 2}, {3, 4, 4, 6, 1, 1, 1, 2});
}

TEST(MatrixMultiplyNode, RefusesFactorsThatDoNotFit) {
  const auto build = [](StateValue a, StateValue b) {
    TestForest forest;
    forest.constant("a", a).constant("b", b).node("x", "MatrixMultiply", {"a", "b"}).evaluate("x");
  };
  EXPECT_THROW(build(kA, array({3, 3}, std::vector<double>(9, 1))), ForestError);
  EXPECT_THROW(build(array({2, 2, 2}, std::vector<double>(8, 1)), array({3, 2, 2}, std::vector<double>(12, 1))),
               ForestError);
  EXPECT_THROW(build(kA, array({1, 1, 2, 2}, std::vector<double>(4, 1))), ForestError);
}

/// Flags of (left f right), f being a matrix with these flags of its elements.
std::vector<int> flags_of_product(const StateValue& left, const StateValue& right, std::vector<double> flags) {
  TestForest forest;
  forest.constant("m", kA).flagged("f", "m", array({4, 1, 1}, std::move(flags)));
  forest.constant("left", left).constant("right", right);
  const ResultPtr x = forest.node("x", "MatrixMultiply", {"left", "f", "right"}).evaluate("x");
  expect_ok(x);
  std::vector<int> found;
  for (std::size_t e = 0; e < x->value.dims().size(); ++e) found.push_back(flag_at(x->flags, e));
  return found;
}

TEST(MatrixMultiplyNode, FlagsWhatAFlaggedElementHasAPartIn) {
  const StateValue full = kA, diagonal = array({2, 2}, {2, 0, 0, 3}), crossed = array({2, 2}, {0, 1, 1, 0});
  const StateValue upper = array({2, 2}, {1, 1, 0, 1}), unit = 1.0;
  using Bits = std::vector<int>;
  EXPECT_EQ(flags_of_product(full, full, {0, 1, 2, 0}), (Bits{3, 3, 3, 3}));
  EXPECT_EQ(flags_of_product(diagonal, diagonal, {0, 1, 2, 0}), (Bits{0, 1, 2, 0}));
  EXPECT_EQ(flags_of_product(crossed, unit, {0, 1, 2, 4}), (Bits{2, 4, 0, 1}));
  EXPECT_EQ(flags_of_product(unit, crossed, {0, 1, 2, 4}), (Bits{1, 0, 4, 2}));
  EXPECT_EQ(flags_of_product(upper, unit, {8, 1, 2, 4}), (Bits{10, 5, 2, 4}));
  EXPECT_EQ(flags_of_product(array({2}, {1, 0}), array({2}, {0, 1}), {8, 1, 2, 4}), (Bits{1}));
  // Nothing has a part in these, so that everything counts.
  EXPECT_EQ(flags_of_product(0.0, unit, {8, 1, 2, 4}), (Bits{15, 15, 15, 15}));
  EXPECT_EQ(flags_of_product(array({2, 2}, {1, 0, 0, 0}), unit, {8, 1, 2, 4}), (Bits{8, 1, 15, 15}));
}

TEST(MatrixMultiplyNode, KnowsZerosOfWhatMatricesAreMadeOf) {
  TestForest forest;
  forest.constant("m", kA).flagged("f", "m", array({4, 1, 1}, {0, 1, 2, 0}));
  forest.constant("zero", 0.0).node("t", "Time", {});
  forest.node("g", "Matrix22", {"t", "zero", "zero", "t"}).node("inverse", "MatrixInvert22", {"g"});
  forest.node("adjoint", "ConjTranspose", {"inverse"}).node("same", "Identity", {"adjoint"});
  forest.node("scaled", "Multiply", {"same", "t"}).node("both", "MatrixMultiply", {"scaled", "g"});
  const ResultPtr x = forest.node("x", "MatrixMultiply", {"inverse", "f", "both"}).evaluate("x");
  expect_ok(x);
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(flag_at(x->flags, e), (std::vector<int>{0, 1, 2, 0}[e]));
}

TEST(MatrixMultiplyNode, KnowsZerosThatStayZeroElementByElement) {
  TestForest forest;
  forest.constant("m", kA).flagged("f", "m", array({4, 1, 1}, {0, 1, 2, 0}));
  forest.constant("zero", 0.0).node("t", "Time", {}).constant("unit", array({2, 2}, {1, 0, 0, 1}));
  forest.node("c", "Composer", {"t", "zero", "zero", "t"}, {{"dims", array({2}, {2, 2})}});
  forest.node("transposed", "Transpose", {"c"}).node("conjugate", "Conj", {"transposed"});
  forest.node("negative", "Negate", {"conjugate"}).node("sum", "Add", {"negative", "unit", "unit"});
  forest.node("difference", "Subtract", {"sum", "unit"});
  const ResultPtr x = forest.node("x", "MatrixMultiply", {"difference", "f"}).evaluate("x");
  expect_ok(x);
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(flag_at(x->flags, e), (std::vector<int>{0, 1, 2, 0}[e]));
  forest.node("row", "Selector", {"difference"}, {{"index", array({2}, {0, -1})}});
  const ResultPtr w = forest.node("w", "MatrixMultiply", {"row", "f"}).evaluate("w");
  for (std::size_t e = 0; e < 2; ++e) EXPECT_EQ(flag_at(w->flags, e), (std::vector<int>{0, 1}[e]));
  // A number that is added is in all elements, and functions of 0 need not be 0.
  forest.node("shifted", "Add", {"difference", "t"}).node("y", "MatrixMultiply", {"shifted", "f"});
  const ResultPtr y = forest.evaluate("y");
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(flag_at(y->flags, e), (std::vector<int>{2, 1, 2, 1}[e]));
  forest.node("cosine", "Cos", {"difference"}).node("z", "MatrixMultiply", {"cosine", "f"});
  const ResultPtr z = forest.evaluate("z");
  for (std::size_t e = 0; e < 4; ++e) EXPECT_EQ(flag_at(z->flags, e), (std::vector<int>{2, 1, 2, 1}[e]));
}

}  // namespace
}  // namespace rimetree::test
