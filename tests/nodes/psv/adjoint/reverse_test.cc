// The PSV node in reverse inside forests: the adjoint kernel and the general path against forward mode.
#include <gtest/gtest.h>

#include <random>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

struct Options {
  bool spectra = false, shapes = false, smearing = false;
  bool stokes_q = true;        ///< Q, U and V are unknowns, not zero
  std::string jones = "none";  ///< "fixed", "solvable"
  bool flags = false;          ///< some rows are flagged, and NaN
};

constexpr int kSources = 5, kBaselines = 4;

class Sky {
 public:
  explicit Sky(const Options& options) : options_(options) {
    tree.request.cells = cells({5e9, 5e9 + 10, 5e9 + 20}, {1.00e9, 1.01e9, 1.02e9, 1.03e9, 1.05e9}, 10, 1e7);
    sources();
    std::vector<std::string> residuals;
    for (int b = 0; b < kBaselines; ++b) residuals.push_back(baseline(std::to_string(b)));
    tree.node("chi2", "ChiSquare", residuals);
  }
  TestForest tree;

 private:
  double random(double centre, double spread) { return centre + spread * uniform_(engine_); }
  std::string unknown(const std::string& name, double value) {
    tree.parm(name, value);
    return name;
  }

  void sources() {
    TestForest::Children lmn, stokes, slopes, shapes;
    tree.constant("n", 0.98).constant("zero", 0.0).constant("reference", 1.02e9);
    for (int s = 0; s < kSources; ++s) {
      const std::string k = std::to_string(s);
      lmn.insert(lmn.end(), {unknown("l" + k, random(0, 0.02)), unknown("m" + k, random(0, 0.02)), "n"});
      stokes.push_back(unknown("I" + k, random(2, 0.5)));
      for (const std::string name : {"Q", "U", "V"})
        stokes.push_back(options_.stokes_q ? unknown(name + k, random(0, 0.5)) : "zero");
      slopes.push_back(unknown("slope" + k, random(-0.7, 0.2)));
      for (const double width : {2e-5, 1e-5})
        shapes.push_back(s % 2 ? unknown("width" + k + std::to_string(shapes.size()), random(width, 1e-6)) : "zero");
      shapes.push_back(s % 2 ? unknown("angle" + k, random(0.5, 0.1)) : "zero");
    }
    const auto dims = [](double columns) {
      return TestForest::Fields{{"dims", array({2}, {double(kSources), columns})}};
    };
    tree.node("lmn", "Composer", lmn, dims(3)).node("stokes_0", "Composer", stokes, dims(4));
    if (options_.spectra) tree.node("slopes", "Composer", slopes, dims(1));
    if (options_.spectra) tree.node("stokes", "Spectrum", {"stokes_0", "slopes", "reference"});
    tree.node("B", "Stokes", {options_.spectra ? "stokes" : "stokes_0"});
    if (options_.shapes) tree.node("shape", "Composer", shapes, dims(3));
  }

  std::string baseline(const std::string& b) {
    std::vector<double> uvw;
    for (int i = 0; i < (options_.smearing ? 6 : 3); ++i)
      for (int t = 0; t < 3; ++t) uvw.push_back(random(0, i < 3 ? 3000 : 0.2));
    const std::vector<std::int64_t> shape =
        options_.smearing ? std::vector<std::int64_t>{2, 3, 3, 1} : std::vector<std::int64_t>{3, 3, 1};
    tree.constant("uvw" + b, array(shape, uvw), 2);
    TestForest::Children children{"lmn", "B", "uvw" + b, options_.shapes ? "shape" : ""};
    if (options_.jones != "none")
      for (const std::string side : {"p", "q"}) {
        StateArray term{{kSources, 2, 2}, NumberType::complex, {}};
        for (int i = 0; i < 8 * kSources; ++i) term.data.push_back(random(0.5, 0.5));
        tree.constant("term" + side + b, term);
        if (options_.jones == "solvable")
          tree.node(side + b, "Multiply", {"term" + side + b, unknown("gain" + side + b, random(1, 0.1))});
        children.push_back(options_.jones == "solvable" ? side + b : "term" + side + b);
      }
    StateArray data{{2, 2, 3, 5}, NumberType::complex, {}};
    for (int i = 0; i < 4 * 15 * 2; ++i) data.data.push_back(random(0, 3));
    tree.node("vis" + b, "PSV", children)
        .constant("data" + b, data, 2)
        .node("r" + b, "Condeq", {"data" + b, "vis" + b});
    if (!options_.flags) return "r" + b;
    tree.flagged("f" + b, "r" + b, array({1, 3, 1}, {0, b == "1" ? 1.0 : 0.0, b == "2" ? 1.0 : 0.0}));
    return "f" + b;
  }

  Options options_;
  std::mt19937_64 engine_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

void check(const Options& options) {
  Sky sky(options);
  TestForest& tree = sky.tree;
  tree.request.derivatives = true;
  const ResultPtr forward = tree.evaluate("chi2", 2);
  expect_ok(forward);
  tree.request.derivatives = false;
  ValueAndGradient reverse = tree.evaluator->value_and_gradient(tree.request, tree.built->find("chi2"));
  expect_ok(reverse.value);
  EXPECT_NEAR(reverse.value->value.real()[0], forward->value.real()[0], 1e-11 * forward->value.real()[0]);
  EXPECT_EQ(reverse.gradient.by_node().size(), forward->derivatives.size());
  for (const Derivative& derivative : forward->derivatives) {
    const double expected = derivative.value.real()[0];
    const std::string& name = tree.built->node(derivative.parameter.parm).name();
    // What is asked for: 1e-10 of each derivative; they are sums of terms of random signs.
    EXPECT_NEAR(reverse.gradient.of(derivative.parameter.parm)[0], expected, 1e-10 * std::abs(expected)) << name;
  }
}

TEST(PsvReverse, AgreesWithForwardMode) {
  check({});
  check({.stokes_q = false});
  check({.smearing = true});
  check({.spectra = true});
  check({.spectra = true, .shapes = true, .smearing = true});
  check({.shapes = true, .stokes_q = false, .flags = true});
}

TEST(PsvReverse, AgreesWithForwardModeWithJonesTerms) {
  for (const std::string jones : {"fixed", "solvable"}) {
    check({.jones = jones});
    check({.spectra = true, .shapes = true, .smearing = true, .jones = jones});
  }
}

}  // namespace
}  // namespace rimetree::test
