// VisPhaseShift against a phase of 1e6 radians reduced in exact rational arithmetic, its sign, and stations against
// baselines.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

StateArray direction(double l, double m) { return array({3}, {l, m, std::sqrt(1 - l * l - m * m)}); }

Complex<double> phase(const StateArray& lmn, const StateArray& uvw, double frequency_hz, std::int64_t n_minus = 1) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {frequency_hz});
  forest.constant("lmn", lmn).constant("uvw", uvw).node("x", "VisPhaseShift", {"lmn", "uvw"}, {{"n_minus", n_minus}});
  const ResultPtr x = forest.evaluate("x");
  expect_ok(x);
  return value_at(x->value, 0);
}

TEST(VisPhaseShiftNode, IsExactForAMillionRadians) {
  // l, m, u, v, w and nu as the nearest doubles; the phase 1004786.50389... rad reduced with Python's fractions.
  expect_near(phase(direction(0.1, -0.2), array({3}, {123456.789, -98765.4321, 5432.1}), 1.5e9),
              {-0.070023639918743774, -0.997545332229332837}, 1e-15);
}

TEST(VisPhaseShiftNode, HasThePlusSign) {
  // A quarter of a wavelength at l = 1: exp(+i pi/2).
  expect_near(phase(array({3}, {1, 0, 0}), array({3}, {0.25, 0, 0}), 299792458), {0, 1}, 1e-15);
}

TEST(VisPhaseShiftNode, IsOneAtThePhaseCentreUnlessFringesRun) {
  const StateArray centre = array({3}, {0, 0, 1}), uvw = array({3}, {1e5, -2e5, 0.25});
  expect_near(phase(centre, uvw, 299792458), {1, 0}, 0);
  expect_near(phase(centre, uvw, 299792458, 0), {0, 1}, 1e-15);
}

TEST(VisPhaseShiftNode, OfStationsGivesThatOfTheirBaseline) {
  const StateArray lmn = direction(0.01, 0.02);
  const Complex<double> p = phase(lmn, array({3}, {1000, 200, 50}), 1.4e9),
                        q = phase(lmn, array({3}, {300, -100, 70}), 1.4e9);
  // Two and three roundings of u l + v m + w (n-1) and of the phasors.
  expect_near(p * conj(q), phase(lmn, array({3}, {700, 300, -20}), 1.4e9), 2e-15);
}

TEST(VisPhaseShiftNode, TakesStacksAndLeavesRatesOut) {
  TestForest forest;
  forest.constant("lmn", array({2, 3}, {0, 0, 1, 1, 0, 0})).constant("uvw", array({2, 3}, {0.5, 0, 0, 9, 9, 9}));
  forest.request.cells = cells({5e9}, {299792458});
  const ResultPtr x = forest.node("x", "VisPhaseShift", {"lmn", "uvw"}).evaluate("x");
  ASSERT_TRUE((x->value.dims() == TensorShape{2}));
  expect_near(value_at(x->value, 0), {1, 0}, 0);
  expect_near(value_at(x->value, 1), {-1, 0}, 1e-15);
}

TEST(VisPhaseShiftNode, RefusesOtherShapes) {
  TestForest forest;
  forest.constant("lm", array({2}, {0, 0})).constant("uvw", array({3}, {1, 2, 3}));
  EXPECT_THROW(forest.node("x", "VisPhaseShift", {"lm", "uvw"}).evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
