// Shapelets against Gaussians, and against the Fourier transform of what they are on the sky, by quadrature.
#include <cmath>

#include "runtime/math/conventions.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr double kHz = 1.5e8;
const double kBetaPerAxis = 1 / std::sqrt(8 * std::log(2.0));

struct Model {
  std::vector<std::int64_t> dims;
  std::vector<double> coefficients, axes, directions = {};
};

TestForest seen(const Model& model, const std::vector<double>& uvw_m) {
  TestForest forest;
  forest.request.cells = cells({5e9}, {kHz});
  forest.constant("coefficients", array(model.dims, model.coefficients));
  forest.constant("axes", array({3}, model.axes));
  forest.constant("uvw", array({3}, uvw_m));
  std::vector<std::string> children{"coefficients", "axes", "uvw"};
  if (!model.directions.empty()) {
    forest.constant("directions", array({2, 3}, model.directions));
    children.emplace_back("directions");
  }
  forest.node("x", "Shapelets", children);
  return forest;
}

Complex<double> value(const Model& model, const std::vector<double>& uvw_m) {
  TestForest forest = seen(model, uvw_m);
  const ResultPtr x = forest.evaluate("x");
  expect_ok(x);
  return value_at(x->value, 0);
}

/// H_n(x) by its sum: n! sum_m (-1)^m (2x)^(n - 2m) / (m! (n - 2m)!).
double hermite(int n, double x) {
  double sum = 0;
  for (int m = 0; 2 * m <= n; ++m)
    sum += (m % 2 == 0 ? 1 : -1) * std::pow(2 * x, n - 2 * m) / (std::tgamma(m + 1) * std::tgamma(n - 2 * m + 1));
  return std::tgamma(n + 1) * sum;
}
double shapelet(int n, double x) {
  return hermite(n, x) * std::exp(-x * x / 2) / std::sqrt(std::pow(2, n) * std::tgamma(n + 1));
}

TEST(ShapeletsNode, OfTheFirstFunctionAreAGaussian) {
  const std::vector<double> axes{4e-3, 1e-3, 0.7}, uvw_m{130, -270, 55};
  TestForest forest = seen({{1, 1}, {1}, axes}, uvw_m);
  forest.node("gaussian", "SourceShape", {"axes", "uvw"});
  const Complex<double> x = value_at(forest.evaluate("x")->value, 0);
  EXPECT_NEAR(x.re, value_at(forest.evaluate("gaussian")->value, 0).re, 1e-14);
  EXPECT_EQ(x.im, 0);
}

TEST(ShapeletsNode, AreTheTransformOfTheirBrightness) {
  const Model model{{3, 4}, {1, 0.3, -0.2, 0.7, -0.4, 0.1, 0.5, 0.05, 0.2, -0.6, 0.15, 0.33}, {4e-3, 2.5e-3, 0.4}};
  const std::vector<double> uvw_m{61, -143, 27};
  const double u = uvw_m[0] * kHz / kSpeedOfLight_m_s, v = uvw_m[1] * kHz / kSpeedOfLight_m_s;
  const double beta[2] = {model.axes[0] * kBetaPerAxis, model.axes[1] * kBetaPerAxis}, step = 0.05;
  Complex<double> sum{0, 0};
  // Where positions count along the axes from the middle, in units of beta: the first one 0.4 rad east of north, the
  // second 90 degrees before it.
  for (double x = -9; x <= 9; x += step)
    for (double y = -9; y <= 9; y += step) {
      double brightness = 0;
      for (int j = 0; j < 3; ++j)
        for (int k = 0; k < 4; ++k)
          brightness += model.coefficients[static_cast<std::size_t>(4 * j + k)] * shapelet(j, x) * shapelet(k, y);
      const double first = x * beta[0], second = y * beta[1], angle = model.axes[2];
      const double l = first * std::sin(angle) - second * std::cos(angle);
      const double m = first * std::cos(angle) + second * std::sin(angle);
      const double phase = 2 * kPi * (u * l + v * m);
      sum += Complex<double>(std::cos(phase), std::sin(phase)) * (brightness * step * step / (2 * kPi));
    }
  const Complex<double> found = value(model, uvw_m);
  EXPECT_NEAR(found.re, sum.re, 1e-12);
  EXPECT_NEAR(found.im, sum.im, 1e-12);
  EXPECT_GT(std::abs(found.im), 0.05);
}

TEST(ShapeletsNode, AreDrawnAtTheSource) {
  const double c = std::cos(0.3), s = std::sin(0.3);
  Model model{{2, 2}, {1, 0.5, -0.25, 0.125}, {4e-3, 2e-3, 0.2}};
  const std::vector<double> uvw_m{40, 70, -90};
  // The same baseline as a source to the north of the centre sees it.
  const Complex<double> expected = value(model, {40, c * 70 + s * 90, 0});
  model.directions = {1, 0, 0, 0, c, -s};
  EXPECT_NEAR(value(model, uvw_m).re, expected.re, 1e-14);
  EXPECT_NEAR(value(model, uvw_m).im, expected.im, 1e-14);
}

TEST(ShapeletsNode, OfSeveralSourcesAreThoseOfEach) {
  const double c = std::cos(0.3), s = std::sin(0.3);
  const Model each[] = {{{2, 3}, {1, 0.5, -0.25, 0.125, 0.3, -0.7}, {4e-3, 2e-3, 0.2}, {1, 0, 0, 0, c, -s}},
                        {{2, 3}, {0.2, -0.4, 1, 0.6, -0.1, 0.9}, {3e-3, 1e-3, -0.5}, {c, 0, -s, 0, 1, 0}}};
  const std::vector<double> uvw_m{40, 70, -90};
  TestForest forest = seen({{2, 3}, each[0].coefficients, each[0].axes}, uvw_m);
  const auto both = [&](std::vector<double> Model::*part) {
    std::vector<double> values = each[0].*part;
    values.insert(values.end(), (each[1].*part).begin(), (each[1].*part).end());
    return values;
  };
  forest.constant("all", array({2, 2, 3}, both(&Model::coefficients)));
  forest.constant("all axes", array({2, 3}, both(&Model::axes)));
  forest.constant("all directions", array({2, 2, 3}, both(&Model::directions)));
  forest.node("xs", "Shapelets", {"all", "all axes", "uvw", "all directions"});
  const ResultPtr found = forest.evaluate("xs");
  expect_ok(found);
  for (std::size_t source : {0, 1}) {
    const Complex<double> one = value(each[source], uvw_m), other = value_at(found->value, source);
    EXPECT_EQ(other.re, one.re);
    EXPECT_EQ(other.im, one.im);
  }
}

TEST(ShapeletsNode, OfHighOrdersAreFiniteFarOut) {
  Model model{{81, 81}, std::vector<double>(81 * 81, 0.0), {4e-3, 2e-3, 0}};
  model.coefficients[81 * 80 + 80] = 1;
  // A turning point of both functions, and far beyond it.
  const double metres = std::sqrt(161.0) / (2 * kPi * 4e-3 * kBetaPerAxis) * kSpeedOfLight_m_s / kHz;
  EXPECT_GT(std::abs(value(model, {0, metres, 0}).re), 0.01);
  EXPECT_EQ(value(model, {1e6, 1e6, 0}).re, 0);
  EXPECT_NEAR(value(model, {0, 0, 0}).re, std::pow(hermite(80, 0), 2) / (std::pow(2.0, 80) * std::tgamma(81)), 1e-12);
}

TEST(ShapeletsNode, RefusesOtherShapes) {
  EXPECT_THROW(seen({{4}, {1, 1, 1, 1}, {1, 1, 0}}, {0, 0, 0}).evaluate("x"), ForestError);
  EXPECT_THROW(seen({{1, 2, 2}, {1, 1, 1, 1}, {1, 1, 0}}, {0, 0, 0}).evaluate("x"), ForestError);
  EXPECT_THROW(seen({{0, 2}, {}, {1, 1, 0}}, {0, 0, 0}).evaluate("x"), ForestError);
  TestForest forest = seen({{1, 1}, {1}, {1, 1, 0}}, {0, 0, 0});
  forest.constant("directions", array({2, 2, 3}, std::vector<double>(12, 0.5)));
  forest.node("y", "Shapelets", {"coefficients", "axes", "uvw", "directions"});
  EXPECT_THROW(forest.evaluate("y"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
