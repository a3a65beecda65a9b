// SourceShape against numerical Fourier integrals over a Gaussian of given full width at half maximum and a disk of
// given scale length, and where they are one half.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr double kUnitWavelengthHz = 299792458.0;  // at this frequency metres are wavelengths

double shape(std::vector<double> numbers, double u, double v) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kUnitWavelengthHz});
  forest.constant("shape", array({static_cast<int>(numbers.size())}, numbers)).constant("uvw", array({3}, {u, v, 7}));
  const ResultPtr x = forest.node("x", "SourceShape", {"shape", "uvw"}).evaluate("x");
  expect_ok(x);
  return value_at(x->value, 0).re;
}

TEST(SourceShapeNode, IsTheFourierTransformOfTheBrightness) {
  const double major = 0.02, minor = 0.01, angle = 0.6, u = 20, v = -15;
  double integral = 0, flux = 0;
  const double step = 2e-4;  // a sum over a Gaussian converges faster than any power of the step
  for (double l = -0.06; l <= 0.06; l += step)
    for (double m = -0.06; m <= 0.06; m += step) {
      const double along = l * std::sin(angle) + m * std::cos(angle),
                   across = l * std::cos(angle) - m * std::sin(angle);
      // Half of the peak at half of the full width: 2^-(2x/width)^2.
      const double brightness = std::exp2(-std::pow(2 * along / major, 2) - std::pow(2 * across / minor, 2));
      flux += brightness;
      integral += brightness * std::cos(6.283185307179586 * (u * l + v * m));
    }
  EXPECT_NEAR(shape({major, minor, angle}, u, v), integral / flux, 1e-9);  // the tails beyond 0.06 are 2^-36
}

TEST(SourceShapeNode, IsOneHalfAtItsHalfWidth) {
  const double width = 0.01, q = 2 * 0.6931471805599453 / (3.141592653589793 * width);
  EXPECT_NEAR(shape({width, width, 0.3}, 0.6 * q, 0.8 * q), 0.5, 1e-15);
}

TEST(SourceShapeNode, TurnsNorthThroughEast) {
  EXPECT_LT(shape({0.01, 0, 0}, 0, 50), 0.5);  // extended north-south: seen by v
  EXPECT_NEAR(shape({0.01, 0, 0}, 50, 0), 1, 1e-15);
  EXPECT_LT(shape({0.01, 0, 1.5707963267948966}, 50, 0), 0.5);  // extended east-west: seen by u
  EXPECT_NEAR(shape({0.01, 0, 1.5707963267948966}, 0, 50), 1, 1e-15);
  EXPECT_LT(shape({0.01, 0, 0.7853981633974483}, 40, 40), 0.5);  // north-east: l and m of the same sign
  EXPECT_NEAR(shape({0.01, 0, 0.7853981633974483}, 40, -40), 1, 1e-15);
}

TEST(SourceShapeNode, IsOneForPoints) {
  EXPECT_EQ(shape({0, 0, 0}, 1e6, 1e6), 1);
  EXPECT_EQ(shape({0, 0, 0, 1}, 1e6, 1e6), 1);
}

TEST(SourceShapeNode, TakesTheProfileThatItIsTold) {
  // An exponential disk has (1 + (2 pi h q)^2)^(-3/2): one half where (2 pi h q)^2 = 2^(2/3) - 1.
  const double h = 0.01, q = std::sqrt(std::cbrt(4.0) - 1) / (6.283185307179586 * h);
  EXPECT_NEAR(shape({h, h, 0.3, 1}, 0.6 * q, 0.8 * q), 0.5, 1e-15);
  EXPECT_EQ(shape({0.01, 0.02, 0.3, 0}, 20, 30), shape({0.01, 0.02, 0.3}, 20, 30));
}

TEST(SourceShapeNode, RefusesAProfileThatThereIsNot) {
  for (const double number : {7.0, -1.0, 0.5, std::nan("")}) {
    TestForest forest;
    forest.constant("shape", array({4}, {0.01, 0.02, 0.3, number})).constant("uvw", array({3}, {20, 30, 7}));
    forest.node("x", "SourceShape", {"shape", "uvw"});
    Evaluator evaluator(Forest::build(forest.specs(), registry()), {.device = {"none", 0}});
    try {
      evaluator.review();
      ADD_FAILURE() << number;
    } catch (const ForestError& error) {
      EXPECT_NE(std::string(error.what()).find("for the number of its profile, expected one of 0"), std::string::npos)
          << error.what();
    }
  }
}

TEST(SourceShapeNode, TakesStacksOfDifferentProfiles) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kUnitWavelengthHz});
  forest.constant("shape", array({3, 4}, {0.01, 0.01, 0, 1, 0, 0, 0, 1, 0.01, 0.01, 0, 0}));
  forest.constant("uvw", array({3}, {20, 30, 7}));
  const ResultPtr x = forest.node("x", "SourceShape", {"shape", "uvw"}).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, shape({0.01, 0.01, 0, 1}, 20, 30));
  EXPECT_EQ(value_at(x->value, 1).re, 1);
  EXPECT_EQ(value_at(x->value, 2).re, shape({0.01, 0.01, 0}, 20, 30));
}

}  // namespace
}  // namespace rimetree::test
