// Forests that compare PSV's model with data, on a device or on the host: the same numbers each time.
#pragma once

#include <map>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "memory/simulated_device.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {

/// What there is to compare.
struct SceneOptions {
  int n_source = 5, n_baseline = 4;
  bool positions = true, fluxes = true;  ///< are unknowns
  bool polarised = true, spectra = false, shapes = false, smearing = false;
  bool jones = false;       ///< fixed terms, a matrix for each source and antenna
  int n_term = 1;           ///< sums that the model adds up
  bool fixed_term = false;  ///< and one without unknowns
  bool weights = false;     ///< of random size, some zero, some unsound
  bool flags = false;       ///< some rows are flagged, and NaN; one baseline has no data at all
  std::string objective = "ChiSquare";
};

/// A forest whose root is "chi2". The condition equations are r0, r1, ..
class ComparisonScene {
 public:
  static constexpr int kTimes = 3, kChannels = 5;

  ComparisonScene(const SceneOptions& options, const std::string& device, std::int64_t budget_bytes = 0)
      : options_(options) {
    forest.request.cells = cells({5e9, 5e9 + 10, 5e9 + 20}, {1.00e9, 1.01e9, 1.02e9, 1.03e9, 1.05e9}, 10, 1e7);
    forest.constant("zero", 0.0).constant("reference", 1.02e9);
    const int n_sum = options.n_term + (options.fixed_term ? 1 : 0);
    for (int k = 0; k < n_sum; ++k) sky(k, k < options.n_term);
    std::vector<std::string> residuals;
    for (int b = 0; b < options.n_baseline; ++b) residuals.push_back(baseline(std::to_string(b), n_sum));
    forest.node("chi2", options.objective, residuals);
    forest.node("device", "DeviceMemory", {}, {{"device", device}, {"budget_bytes", budget_bytes}});
    built = Forest::build(forest.specs(), registry());
    evaluator = std::make_unique<Evaluator>(built, EvaluatorOptions{.threads = 1});
  }
  ValueAndGradient evaluate() { return evaluator->value_and_gradient(forest.request, built->find("chi2")); }
  bool was_compared() const {
    for (const std::string& note : evaluator->notes().list())
      if (note.find("chi-square and its derivatives") != std::string::npos) return true;
    return false;
  }
  memory::SimulatedDevice& device(std::size_t i = 0) {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices()[i]->device());
  }
  void set(const std::string& parm, double value) { built->set_state(built->find(parm), {{"value", value}}); }

  TestForest forest;
  std::shared_ptr<Forest> built;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<std::string> unknowns;
  std::map<std::string, double> value;  ///< of the unknowns at first

 private:
  double random(double centre, double spread) { return centre + spread * uniform_(engine_); }
  std::string number(const std::string& name, double value, bool unknown) {
    if (unknown) {
      forest.parm(name, value);
      unknowns.push_back(name);
      this->value[name] = value;
    } else {
      forest.constant(name, value);
    }
    return name;
  }

  void sky(int term, bool unknown) {
    TestForest::Children lmn, stokes, slopes, shapes;
    const std::string t = std::to_string(term);
    for (int s = 0; s < options_.n_source; ++s) {
      const std::string k = t + "_" + std::to_string(s);
      const bool moves = unknown && options_.positions, varies = unknown && options_.fluxes;
      const double l = random(0, 0.02), m = random(0, 0.02);
      lmn.insert(lmn.end(), {number("l" + k, l, moves), number("m" + k, m, moves),
                             number("n" + k, std::sqrt(1 - l * l - m * m), false)});
      stokes.push_back(number("I" + k, random(2, 0.5), varies));
      for (const std::string name : {"Q", "U", "V"})
        stokes.push_back(options_.polarised ? number(name + k, random(0, 0.5), varies) : "zero");
      slopes.push_back(number("slope" + k, random(-0.7, 0.2), varies && options_.spectra));
      for (const char* axis : {"major", "minor"})
        shapes.push_back(s % 2 ? number(axis + k, random(2e-5, 5e-6), varies && options_.shapes) : "zero");
      shapes.push_back(s % 2 ? number("angle" + k, random(0.5, 0.1), varies && options_.shapes) : "zero");
    }
    const auto dims = [&](double columns) {
      return TestForest::Fields{{"dims", array({2}, {double(options_.n_source), columns})}};
    };
    forest.node("lmn" + t, "Composer", lmn, dims(3)).node("stokes0_" + t, "Composer", stokes, dims(4));
    if (options_.spectra)
      forest.node("slopes" + t, "Composer", slopes, dims(1))
          .node("stokes" + t, "Spectrum", {"stokes0_" + t, "slopes" + t, "reference"});
    forest.node("B" + t, "Stokes", {(options_.spectra ? "stokes" : "stokes0_") + t});
    if (options_.shapes) forest.node("shape" + t, "Composer", shapes, dims(3));
    if (!options_.jones) return;
    for (const char* side : {"p", "q"}) {
      std::vector<Complex<double>> values;
      for (int i = 0; i < 4 * options_.n_source; ++i) values.push_back({random(0.5, 0.5), random(0, 0.5)});
      forest.constant(side + t, complex_array({options_.n_source, 2, 2}, values));
    }
  }

  std::string baseline(const std::string& b, int n_sum) {
    std::vector<double> uvw;
    for (int i = 0; i < (options_.smearing ? 6 : 3); ++i)
      for (int t = 0; t < kTimes; ++t) uvw.push_back(random(0, i < 3 ? 3000 : 0.2));
    if (options_.flags && b == "1") uvw[1] = std::nan("");
    std::vector<std::int64_t> shape{3, kTimes, 1};
    if (options_.smearing) shape.insert(shape.begin(), 2);
    forest.constant("uvw" + b, array(shape, uvw), 2);
    std::vector<Complex<double>> data;
    for (int i = 0; i < 4 * kTimes * kChannels; ++i) data.push_back({random(0, 3), random(0, 3)});
    if (options_.flags && b == "1") data[2] = {std::nan(""), 0};
    forest.constant("data" + b, complex_array({2, 2, kTimes, kChannels}, data), 2);
    std::string datum = "data" + b;
    if (options_.flags) {
      std::vector<double> bits(4 * kTimes * kChannels, 0);
      for (int e = 0; e < 4; ++e)
        for (int f = 0; f < kChannels; ++f) bits[(e * kTimes + 1) * kChannels + f] = b == "1" ? 1 : 0;
      bits[3] = 2;
      forest.flagged("flagged" + b, datum, array({4, kTimes, kChannels}, bits));
      datum = "flagged" + b;
      if (b == "2") {
        datum = "nothing";
        forest.node(datum, "TestMissing", {}, {{"dims", array({2}, {2, 2})}});
      }
    }
    TestForest::Children terms;
    for (int k = 0; k < n_sum; ++k) {
      const std::string t = std::to_string(k);
      TestForest::Children children{"lmn" + t, "B" + t, "uvw" + b, options_.shapes ? "shape" + t : ""};
      if (options_.jones) children.insert(children.end(), {"p" + t, "q" + t});
      terms.push_back("vis" + t + "_" + b);
      forest.node(terms.back(), "PSV", children);
    }
    std::string model = terms.front();
    if (n_sum > 1) {
      model = "sum" + b;
      forest.node(model, "Add", terms);
    }
    TestForest::Children equation{datum, model};
    if (options_.weights) {
      std::vector<double> weights;
      for (int i = 0; i < 4 * kTimes * kChannels; ++i) weights.push_back(random(1, 0.5));
      weights[0] = 0, weights[1] = -1, weights[7] = std::nan("");
      forest.constant("weight" + b, array({2, 2, kTimes, kChannels}, weights), 2);
      equation.push_back("weight" + b);
    }
    forest.node("r" + b, "Condeq", equation, {{"weight_factor", b == "0" ? 2.0 : 1.0}});
    return "r" + b;
  }

  SceneOptions options_;
  std::mt19937_64 engine_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

}  // namespace rimetree::test
