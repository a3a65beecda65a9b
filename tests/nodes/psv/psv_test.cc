// The PSV node: its children in all their forms, its two paths, its derivatives and its errors. The kernel's accuracy
// is the subject of kernel_test.cc.
#include <gtest/gtest.h>

#include <complex>
#include <random>

#include "tests/support/forest_fixture.h"

namespace rimetree {
namespace {

using test::array;
using test::complex_array;
using test::TestForest;
using Big = std::complex<long double>;
constexpr long double kTau = 6.283185307179586476925286766559005768L;

// Three sources and a baseline, as plain numbers.
struct Scene {
  std::vector<double> l{0.01, -0.02, 0.015}, m{0.02, 0.01, -0.03};
  std::vector<double> uvw{300, -200, 50}, rates{0.02, 0.03, -0.01};
  std::vector<std::complex<double>> brightness{1.1,         {0.2, 0.1}, {0.2, -0.1}, 0.9,  2.0,         {0.1, 0.3},
                                               {0.1, -0.3}, 1.8,        0.5,         0.05, {0.05, 0.0}, 0.6};
  double n(int s) const { return std::sqrt(1 - l[s] * l[s] - m[s] * m[s]); }

  StateArray lmn() const {
    std::vector<double> values;
    for (int s = 0; s < 3; ++s) values.insert(values.end(), {l[s], m[s], n(s)});
    return array({3, 3}, values);
  }
  StateArray matrices(const std::vector<std::complex<double>>& values, std::vector<std::int64_t> shape) const {
    std::vector<double> parts;
    for (const auto z : values) parts.insert(parts.end(), {z.real(), z.imag()});
    return {std::move(shape), NumberType::complex, parts};
  }
  StateArray uvw_with_rates() const { return array({2, 3}, {uvw[0], uvw[1], uvw[2], rates[0], rates[1], rates[2]}); }
  // Fringe, and with smearing the two sincs for a cell of 10 s and 1 MHz.
  Big factor(int s, double frequency_hz, bool smeared, int n_minus = 1) const {
    const long double n_offset = std::sqrt(1.0L - (long double)l[s] * l[s] - (long double)m[s] * m[s]) - n_minus;
    const auto along = [&](const std::vector<double>& x) {
      return (x[0] * (long double)l[s] + x[1] * (long double)m[s] + x[2] * n_offset) / 299792458.0L;
    };
    Big value = std::polar(1.0L, kTau * along(uvw) * frequency_hz);
    const auto sinc = [](long double x) { return x == 0 ? 1 : std::sin(x) / x; };
    if (smeared) value *= sinc(kTau / 2 * along(uvw) * 1e6L) * sinc(kTau / 2 * along(rates) * frequency_hz * 10);
    return value;
  }
};

std::vector<std::complex<double>> random_matrices(int count, unsigned seed) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0, 0.4);
  std::vector<std::complex<double>> values(4 * count);
  for (int i = 0; i < 4 * count; ++i) values[i] = {normal(random) + (i % 4 == 0 || i % 4 == 3), normal(random)};
  return values;
}

void expect_visibility(const Result& result, std::size_t element, std::size_t t, std::size_t f, Big expected,
                       double tolerance = 1e-13) {
  const Complex<double> got = test::value_at(result.value, element, t, f);
  EXPECT_NEAR(got.re, static_cast<double>(expected.real()), tolerance) << "element " << element << " channel " << f;
  EXPECT_NEAR(got.im, static_cast<double>(expected.imag()), tolerance) << "element " << element << " channel " << f;
}

TEST(Psv, SumsSourcesWithAndWithoutSmearing) {
  const Scene scene;
  for (const bool smeared : {false, true}) {
    TestForest forest;
    forest.constant("lmn", scene.lmn()).constant("b", scene.matrices(scene.brightness, {3, 2, 2}));
    forest.constant("uvw", smeared ? scene.uvw_with_rates() : array({3}, scene.uvw));
    forest.node("v", "PSV", {"lmn", "b", "uvw"});
    const ResultPtr result = forest.evaluate("v");
    test::expect_ok(result);
    EXPECT_EQ(result->value.dims(), (TensorShape{2, 2}));
    const double frequencies[] = {1.0e9, 1.1e9, 1.2e9};
    for (std::size_t f = 0; f < 3; ++f)
      for (std::size_t e = 0; e < 4; ++e) {
        Big expected = 0;
        for (int s = 0; s < 3; ++s)
          expected += Big(scene.brightness[4 * s + e]) * scene.factor(s, frequencies[f], smeared);
        expect_visibility(*result, e, smeared ? 1 : 0, f, expected);
      }
  }
}

TEST(Psv, ScalarBrightnessIsUnpolarisedAndOneSourceNeedsNoSourceAxis) {
  const Scene scene;
  TestForest forest;
  forest.constant("lmn", array({3}, {scene.l[0], scene.m[0], scene.n(0)})).constant("b", 2.5);
  forest.constant("uvw", array({3}, scene.uvw)).node("v", "PSV", {"lmn", "b", "uvw"});
  const ResultPtr result = forest.evaluate("v");
  test::expect_ok(result);
  expect_visibility(*result, 0, 0, 0, 2.5L * scene.factor(0, 1e9, false));
  expect_visibility(*result, 3, 0, 0, 2.5L * scene.factor(0, 1e9, false));
  expect_visibility(*result, 1, 0, 0, 0);
}

TEST(Psv, WithoutFringeStoppingTheFullPathCounts) {
  const Scene scene;
  TestForest forest;
  forest.constant("lmn", scene.lmn()).constant("b", array({3}, {1, 0, 0})).constant("uvw", array({3}, scene.uvw));
  forest.node("v", "PSV", {"lmn", "b", "uvw"}, {{"n_minus", std::int64_t{0}}});
  const ResultPtr result = forest.evaluate("v");
  test::expect_ok(result);
  expect_visibility(*result, 0, 0, 2, scene.factor(0, 1.2e9, false, 0));
}

// Jones terms, the innermost pair first; one pair of matrices, one of scalars.
class PsvJones : public ::testing::Test {
 protected:
  PsvJones() {
    forest.constant("lmn", scene.lmn()).constant("b", scene.matrices(scene.brightness, {3, 2, 2}));
    forest.constant("uvw", scene.uvw_with_rates());
    forest.constant("jp", scene.matrices(jp, {3, 2, 2})).constant("jq", scene.matrices(jq, {3, 2, 2}));
    forest.constant("sp", scene.matrices(scalar_p, {3})).constant("sq", scene.matrices(scalar_q, {3}));
    forest.node("jqh", "ConjTranspose", {"jq"}).node("sqh", "Conj", {"sq"});
  }
  Big expected(std::size_t e, double frequency_hz) const {
    const std::size_t i = e / 2, j = e % 2;
    Big sum = 0;
    for (std::size_t s = 0; s < 3; ++s) {
      Big sandwich = 0;
      for (std::size_t a = 0; a < 2; ++a)
        for (std::size_t b = 0; b < 2; ++b)
          sandwich += Big(jp[4 * s + 2 * i + a]) * Big(scene.brightness[4 * s + 2 * a + b]) *
                      std::conj(Big(jq[4 * s + 2 * j + b]));
      sum += Big(scalar_p[s]) * std::conj(Big(scalar_q[s])) * sandwich *
             scene.factor(static_cast<int>(s), frequency_hz, true);
    }
    return sum;
  }
  void expect_all(const Result& result) const {
    for (std::size_t e = 0; e < 4; ++e) {
      expect_visibility(result, e, 0, 0, expected(e, 1.0e9));
      expect_visibility(result, e, 1, 2, expected(e, 1.2e9));
    }
  }

  Scene scene;
  std::vector<std::complex<double>> jp = random_matrices(3, 1), jq = random_matrices(3, 2);
  std::vector<std::complex<double>> scalar_p{{0.9, 0.1}, {1.1, -0.2}, {1.0, 0.3}};
  std::vector<std::complex<double>> scalar_q{{1.2, 0.0}, {0.8, 0.2}, {0.7, -0.3}};
  TestForest forest;
};

TEST_F(PsvJones, PairsApplyFromTheBrightnessOutwards) {
  forest.node("v", "PSV", {"lmn", "b", "uvw", "", "jp", "jqh", "sp", "sqh"});
  const ResultPtr result = forest.evaluate("v");
  test::expect_ok(result);
  expect_all(*result);
}

TEST_F(PsvJones, TermsThatVaryOnCellsGiveTheSame) {
  // Multiplied by a node that is 1 on every cell, they take the kernel's path for varying terms.
  forest.node("t", "Time").node("f", "Freq").node("tf", "Multiply", {"t", "f"}).node("one", "Divide", {"tf", "tf"});
  forest.node("jp_tf", "Multiply", {"jp", "one"}).node("sqh_tf", "Multiply", {"sqh", "one"});
  forest.node("v", "PSV", {"lmn", "b", "uvw", "", "jp_tf", "jqh", "sp", "sqh_tf"});
  const ResultPtr result = forest.evaluate("v", 2);
  test::expect_ok(result);
  expect_all(*result);
}

TEST_F(PsvJones, ASkyThatVariesInTimeTakesTheGeneralPath) {
  forest.node("t", "Time").node("zero", "Subtract", {"t", "t"});
  forest.node("lmn_t", "Add", {"lmn", "zero"});
  forest.node("v", "PSV", {"lmn_t", "b", "uvw", "", "jp", "jqh", "sp", "sqh"});
  const ResultPtr result = forest.evaluate("v");
  test::expect_ok(result);
  expect_all(*result);
}

TEST(Psv, BaselinesOfABatchDoNotDisturbEachOther) {
  const Scene scene;
  TestForest forest;
  forest.constant("lmn", scene.lmn()).constant("b", array({3}, {1, 2, 0.5}));
  std::vector<NodeSpec> specs;
  for (int i = 0; i < 7; ++i) {
    const double scale = 1 + i;
    forest.constant("uvw" + std::to_string(i),
                    array({3}, {scene.uvw[0] * scale, scene.uvw[1] * scale, scene.uvw[2] * scale}));
    forest.node("v" + std::to_string(i), "PSV", {"lmn", "b", "uvw" + std::to_string(i)});
  }
  const auto built = Forest::build(forest.specs(), test::registry());
  Evaluator evaluator(built, {.threads = 3});
  std::vector<int> roots;
  for (int i = 0; i < 7; ++i) roots.push_back(built->find("v" + std::to_string(i)));
  const auto results = evaluator.evaluate(forest.request, roots);
  EXPECT_EQ(evaluator.timing().classes.at("PSV").batches, 1u);
  for (int i = 0; i < 7; ++i) {
    Scene scaled = scene;
    for (double& x : scaled.uvw) x *= 1 + i;
    Big expected = 0;
    for (int s = 0; s < 3; ++s) expected += Big(s == 0 ? 1 : s == 1 ? 2 : 0.5) * scaled.factor(s, 1.1e9, false);
    expect_visibility(*results[static_cast<std::size_t>(i)], 0, 0, 1, expected);
  }
}

TEST(Psv, SinglePrecisionIsWithinItsTolerance) {
  const Scene scene;
  TestForest forest;
  forest.constant("lmn", scene.lmn()).constant("b", array({3}, {1, 2, 0.5})).constant("uvw", scene.uvw_with_rates());
  forest.node("v", "PSV", {"lmn", "b", "uvw"});
  forest.request.precision = Precision::single;
  const ResultPtr result = forest.evaluate("v");
  test::expect_ok(result);
  Big expected = 0;
  for (int s = 0; s < 3; ++s) expected += Big(s == 0 ? 1 : s == 1 ? 2 : 0.5) * scene.factor(s, 1.2e9, true);
  expect_visibility(*result, 0, 0, 2, expected, 1e-6 * 3.5);
  Big exact_in_double = expected;
  EXPECT_GT(std::abs(test::value_at(result->value, 0, 0, 2).re - static_cast<double>(exact_in_double.real())), 1e-14);
}

// Derivatives with respect to one parameter that enters at the place given, against central differences in the value.
class PsvDerivative : public ::testing::TestWithParam<std::string> {
 protected:
  // The forest with the parameter at `value`; derivatives on or off.
  ResultPtr evaluate(double value, bool derivatives) {
    const Scene scene;
    TestForest forest;
    forest.parm("p", value).constant("zero", 0.0).constant("one", 1.0);
    const std::string place = GetParam();
    // l moves by 0.01 p with n following, fluxes scale by (1 + p), and so on.
    forest.constant("l1", 0.01)
        .constant("m1", 0.02)
        .constant("c", place == "direction" ? 1e-5 : 0.01)
        .node("cp", "Multiply", {"c", "p"});
    forest.node("l", "Add", {"l1", place == "direction" ? "cp" : "zero"});
    forest.node("l2", "Sqr", {"l"}).node("m2", "Sqr", {"m1"}).node("lm2", "Add", {"l2", "m2"});
    forest.node("n2", "Subtract", {"one", "lm2"}).node("n", "Sqrt", {"n2"});
    forest.node("lmn1", "Composer", {"l", "m1", "n"}, {{"dims", array({1}, {3})}});
    const bool everywhere = place == "brightness_and_terms";
    forest.node("scale", "Add", {"one", place == "brightness" || everywhere ? "p" : "zero"});
    forest.constant("b0", scene.matrices({1.1, {0.2, 0.1}, {0.2, -0.1}, 0.9}, {2, 2}))
        .node("b", "Multiply", {"b0", "scale"});
    forest.constant("uvw0", array({2, 3}, {3000, -2000, 500, 0.2, 0.3, -0.1}));
    forest.node("stretch", "Add", {"one", place == "baseline" ? "cp" : "zero"})
        .node("uvw", "Multiply", {"uvw0", "stretch"});
    forest.constant("shape0", array({3}, {4e-5, 2e-5, 0.7}))
        .node("size", "Add", {"one", place == "shape" ? "p" : "zero"});
    forest.node("shape", "Multiply", {"shape0", "size"});
    for (const std::string antenna : {"p", "q"})
      for (const std::string term : {"inner", "outer"}) {
        const std::string name = "j_" + term + "_" + antenna;
        forest.constant(name + "0", scene.matrices(random_matrices(1, antenna == "p" ? 3 : 4), {2, 2}));
        forest.node(name + "_g", "Add", {"one", place == term || everywhere ? "p" : "zero"});
        forest.node(name, "Multiply", {name + "0", name + "_g"});
        if (antenna == "q") forest.node(name + "h", "ConjTranspose", {name});
      }
    TestForest::Children children{"lmn1", "b", "uvw", "shape"};
    // Brightness is tested without Jones terms: there MeqTrees' own derivative is zero.
    if (place != "brightness") children.insert(children.end(), {"j_inner_p", "j_inner_qh", "j_outer_p", "j_outer_qh"});
    forest.node("v", "PSV", children);
    forest.request.derivatives = derivatives;
    return forest.evaluate("v");
  }
};

TEST_P(PsvDerivative, AgreesWithDifferences) {
  const ResultPtr result = evaluate(0.3, true);
  test::expect_ok(result);
  ASSERT_EQ(result->derivatives.size(), 1u);
  // Fourth-order differences: with h = 1e-3 their error is of order h^4 = 1e-12 of the scale of the fifth derivative.
  const double h = 1e-3;
  const ResultPtr p1 = evaluate(0.3 + h, false), p2 = evaluate(0.3 + 2 * h, false);
  const ResultPtr m1 = evaluate(0.3 - h, false), m2 = evaluate(0.3 - 2 * h, false);
  double largest = 0;
  for (std::size_t e = 0; e < 4; ++e)
    for (std::size_t f = 0; f < 3; ++f) {
      const auto at = [&](const ResultPtr& r) { return test::value_at(r->value, e, 1, f); };
      const Complex<double> expected = ((at(p1) - at(m1)) * 8.0 - (at(p2) - at(m2))) / Complex<double>(12 * h);
      const Complex<double> got = test::value_at(result->derivatives[0].value, e, 1, f);
      test::expect_near(got, expected, 1e-8);
      largest = std::max(largest, abs(got));
    }
  EXPECT_GT(largest, 0.01) << "the derivative must not be trivially zero";
}

INSTANTIATE_TEST_SUITE_P(Places, PsvDerivative,
                         ::testing::Values("direction", "brightness", "baseline", "shape", "inner", "outer",
                                           "brightness_and_terms"),
                         [](const auto& info) { return info.param; });

TEST(Psv, SidesThatDependOnOneUnknownAddUp) {
  const Scene scene;
  const auto derivatives = [&](const std::string& left, const std::string& right) {
    TestForest forest;
    forest.constant("lmn", scene.lmn()).constant("b", array({3}, {1, 2, 0.5})).constant("uvw", scene.uvw_with_rates());
    forest.parm("x", 1.0).parm("y", 1.0).constant("beam", array({3}, {0.5, 0.25, 2}));
    forest.node("j_p", "Multiply", {"beam", left}).node("j_q", "Multiply", {"beam", right});
    forest.node("j_qh", "ConjTranspose", {"j_q"}).node("v", "PSV", {"lmn", "b", "uvw", "", "j_p", "j_qh"});
    forest.request.derivatives = true;
    return forest.evaluate("v")->derivatives;
  };
  const auto apart = derivatives("x", "y"), together = derivatives("x", "x");
  ASSERT_EQ(apart.size(), 2u);
  ASSERT_EQ(together.size(), 1u);
  // The same kernels give each side's share: no other path gives the same bits.
  for (std::size_t e = 0; e < 4; ++e)
    for (std::size_t f = 0; f < 3; ++f) {
      const Complex<double> sum = test::value_at(apart[0].value, e, 1, f) + test::value_at(apart[1].value, e, 1, f);
      const Complex<double> got = test::value_at(together[0].value, e, 1, f);
      EXPECT_EQ(got.re, sum.re);
      EXPECT_EQ(got.im, sum.im);
    }
}

struct BadChildren {
  StateArray lmn, brightness, uvw;
  std::vector<StateArray> more;  // shape, then Jones terms
  std::string message;
};

TEST(Psv, ShapesThatDoNotFitAreNamed) {
  const StateArray lmn = array({2, 3}, {0, 0, 1, 0, 0, 1}), b = array({2}, {1, 1}), uvw = array({3}, {1, 2, 3});
  const StateArray shape = array({2, 3}, {0, 0, 0, 0, 0, 0});
  const std::vector<BadChildren> cases{
      {array({2}, {0, 0}), b, uvw, {}, "\"lmn\" has dimensions [2], expected [S,3] or [3]"},
      {lmn, array({3}, {1, 1, 1}), uvw, {}, "\"brightness\" has dimensions [3]; expected [2] or [2,2,2]"},
      {lmn, b, array({2}, {1, 1}), {}, "\"uvw\" has dimensions [2], expected [3] or [2,3]"},
      {lmn, b, uvw, {array({3}, {0, 0, 0})}, "\"shape\" has dimensions [3]; expected [2,3]"},
      {lmn, b, uvw, {shape, b}, "come in pairs J_p, J_q^H, but there are 1"},
      {lmn,
       b,
       uvw,
       {shape, b, array({5}, {1, 1, 1, 1, 1})},
       "\"jones\" has dimensions [5], expected [2], [2,2,2], [] or [2,2]"}};
  for (const BadChildren& bad : cases) {
    TestForest forest;
    forest.constant("lmn", bad.lmn).constant("b", bad.brightness).constant("uvw", bad.uvw);
    TestForest::Children children{"lmn", "b", "uvw"};
    for (std::size_t i = 0; i < bad.more.size(); ++i) {
      children.push_back("more" + std::to_string(i));
      forest.constant(children.back(), bad.more[i]);
    }
    forest.node("v", "PSV", children);
    try {
      Forest::build(forest.specs(), test::registry());
      ADD_FAILURE() << "no error: " << bad.message;
    } catch (const ForestError& error) {
      EXPECT_NE(std::string(error.what()).find(bad.message), std::string::npos) << error.what();
    }
  }
}

TEST(Psv, ARequestWithoutFrequenciesFails) {
  TestForest forest;
  forest.constant("lmn", array({3}, {0, 0, 1})).constant("b", 1.0).constant("uvw", array({3}, {1, 2, 3}));
  forest.node("v", "PSV", {"lmn", "b", "uvw"});
  forest.request.cells = test::cells({5e9}, {});
  const ResultPtr result = forest.evaluate("v");
  ASSERT_EQ(result->status, Result::Status::failed);
  EXPECT_NE(result->failures[0].message.find("no freq axis"), std::string::npos) << result->failures[0].message;
}

TEST(Psv, LargeCellsAreWarnedOfOnce) {
  TestForest forest;
  forest.constant("lmn", array({3}, {0.1, 0, std::sqrt(0.99)})).constant("b", 1.0);
  forest.constant("uvw", array({2, 3}, {30000, 0, 0, 200, 0, 0})).node("v", "PSV", {"lmn", "b", "uvw"});
  forest.request.cells = test::cells({5e9}, {1e9}, 10, 5e7);
  const auto built = Forest::build(forest.specs(), test::registry());
  Evaluator evaluator(built);
  evaluator.evaluate(forest.request, "v");
  evaluator.forget();
  evaluator.evaluate(forest.request, "v");
  const auto warnings = evaluator.warnings().list();
  ASSERT_EQ(warnings.size(), 1u);
  EXPECT_NE(warnings[0].find("rad over an exposure"), std::string::npos) << warnings[0];
}

}  // namespace
}  // namespace rimetree
