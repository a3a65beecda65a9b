// LMN against the SIN projection of WCSLIB and angular separations of Astropy 8.0, and close to the centre.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

void expect_lmn(const std::vector<Complex<double>>& x, std::size_t first, double l, double m, double n) {
  EXPECT_NEAR(x.at(first).re, l, 1e-14);  // WCSLIB works in degrees: a few roundings of 57 times larger numbers
  EXPECT_NEAR(x.at(first + 1).re, m, 1e-14);
  EXPECT_NEAR(x.at(first + 2).re, n, 1e-14);
}

TEST(LmnNode, AgreesWithWcslib) {
  const auto x = evaluate_class("LMN", {array({2, 2}, {1.3, -0.45, 0.9, -0.9}), array({2}, {1.2, -0.5})});
  ASSERT_EQ(x.size(), 6u);
  expect_lmn(x, 0, 0.08989471073760413, 0.04782248072495987, 0.9948024684924708);
  expect_lmn(x, 3, -0.1836983062860951, -0.4027287694912092, 0.8966964204744637);
}

TEST(LmnNode, IsZeroZeroOneAtTheCentreAndMinusOneOpposite) {
  expect_lmn(evaluate_class("LMN", {array({2}, {1.2, -0.5}), array({2}, {1.2, -0.5})}), 0, 0, 0, 1);
  expect_lmn(evaluate_class("LMN", {array({2}, {1.2 + 3.141592653589793, 0.5}), array({2}, {1.2, -0.5})}), 0, 0, 0, -1);
}

TEST(LmnNode, KeepsRelativePrecisionCloseToTheCentre) {
  // A microarcsecond-sized step in declination: m = sin(2^-36), whose next term is 1e-22 smaller.
  const double step = 0x1p-36;
  const auto x = evaluate_class("LMN", {array({2}, {1.25, -0.5 + step}), array({2}, {1.25, -0.5})});
  EXPECT_NEAR(x.at(1).re / step, 1, 4e-16);
  EXPECT_EQ(x.at(0).re, 0);
}

TEST(LmnNode, RefusesOtherShapes) {
  TestForest forest;
  forest.constant("a", array({3}, {1, 2, 3})).constant("b", array({2}, {1, 2})).node("x", "LMN", {"a", "b"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
