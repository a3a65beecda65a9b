// Trees whose gradients PSV's reverse mode gives, on the host or on a device.
#pragma once

#include <random>
#include <string>
#include <vector>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {

inline constexpr int kReverseSources = 5, kReverseBaselines = 4;

/// What there is in the tree.
struct ReverseOptions {
  bool spectra = false, shapes = false, smearing = false;
  bool stokes_q = true;        ///< Q, U and V are unknowns, not zero
  std::string jones = "none";  ///< "fixed", "solvable"; "antennas": solvable, an antenna's on all of its baselines
  int pairs = 1;               ///< of terms, but of antennas
  bool in_time = false, in_frequency = false;  ///< whether those of antennas vary
  bool scalars = false;                        ///< those of antennas are numbers per source, not matrices
  bool uncorrupted = false;                    ///< the same sources once more, without Jones terms
  bool flags = false;                          ///< some rows are flagged, and NaN
  bool between = false;                        ///< something between models and data, which cannot be compared then
  bool baselines = false;                      ///< (u, v, w) depend on an unknown
};

/// Every kind of terms of antennas, alone and with everything else.
inline std::vector<ReverseOptions> terms_of_antennas() {
  std::vector<ReverseOptions> all;
  for (int bits = 0; bits < 8; ++bits) {
    ReverseOptions options{.jones = "antennas"};
    options.in_time = bits & 1, options.in_frequency = bits & 2, options.scalars = bits & 4;
    all.push_back(options);
    options.flags = options.uncorrupted = true;
    all.push_back(options);
    options.spectra = options.shapes = options.smearing = true;
    all.push_back(options);
    options.flags = false;
    all.push_back(options);
  }
  return all;
}

/// Chi-square of the baselines of three antennas, "chi2", whose models are PSV nodes.
class ReverseTree {
 public:
  explicit ReverseTree(const ReverseOptions& options, const std::string& device = "none", std::int64_t budget_bytes = 0)
      : options_(options) {
    tree.request.cells = cells({5e9, 5e9 + 10, 5e9 + 20}, {1.00e9, 1.01e9, 1.02e9, 1.03e9, 1.05e9}, 10, 1e7);
    sources();
    if (options.jones == "antennas")
      for (int p = 0; p < 3; ++p) antenna(std::to_string(p));
    std::vector<std::string> residuals;
    for (int b = 0; b < kReverseBaselines; ++b) residuals.push_back(baseline(std::to_string(b)));
    tree.node("chi2", "ChiSquare", residuals);
    tree.node("device", "DeviceMemory", {}, {{"device", device}, {"budget_bytes", budget_bytes}});
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
    for (int s = 0; s < kReverseSources; ++s) {
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
      return TestForest::Fields{{"dims", array({2}, {double(kReverseSources), columns})}};
    };
    tree.node("lmn", "Composer", lmn, dims(3)).node("stokes_0", "Composer", stokes, dims(4));
    if (options_.spectra) tree.node("slopes", "Composer", slopes, dims(1));
    if (options_.spectra) tree.node("stokes", "Spectrum", {"stokes_0", "slopes", "reference"});
    tree.node("B", "Stokes", {options_.spectra ? "stokes" : "stokes_0"});
    if (options_.shapes) tree.node("shape", "Composer", shapes, dims(3));
  }

  StateArray random_complex(std::vector<std::int64_t> shape, double centre, double spread) {
    StateArray value{std::move(shape), NumberType::complex, {}};
    std::size_t n = 2;
    for (const std::int64_t extent : value.shape) n *= static_cast<std::size_t>(extent);
    std::vector<double> numbers;
    for (std::size_t i = 0; i < n; ++i) numbers.push_back(random(centre, spread));
    value.data = numbers;
    return value;
  }

  /// J = term (re + i im) and its adjoint, of one antenna.
  void antenna(const std::string& p) {
    std::vector<std::int64_t> shape{kReverseSources};
    if (!options_.scalars) shape.insert(shape.end(), {2, 2});
    shape.insert(shape.end(), {options_.in_time ? 3 : 1, options_.in_frequency ? 5 : 1});
    tree.constant("term" + p, random_complex(shape, 0.5, 0.5), 2);
    tree.node("gain" + p, "ToComplex", {unknown("re" + p, random(1, 0.1)), unknown("im" + p, random(0, 0.1))});
    tree.node("J" + p, "Multiply", {"term" + p, "gain" + p}).node("JH" + p, "ConjTranspose", {"J" + p});
  }

  std::string baseline(const std::string& b) {
    std::vector<double> uvw;
    for (int i = 0; i < (options_.smearing ? 6 : 3); ++i)
      for (int t = 0; t < 3; ++t) uvw.push_back(random(0, i < 3 ? 3000 : 0.2));
    const std::vector<std::int64_t> shape =
        options_.smearing ? std::vector<std::int64_t>{2, 3, 3, 1} : std::vector<std::int64_t>{3, 3, 1};
    tree.constant("uvw" + b, array(shape, uvw), 2);
    std::string place = "uvw" + b;
    if (options_.baselines) tree.node(place = "scaled" + b, "Multiply", {"uvw" + b, unknown("scale" + b, 1.0)});
    TestForest::Children children{"lmn", "B", place, options_.shapes ? "shape" : ""};
    if (options_.jones == "antennas") {
      // All pairs of three, and one with itself.
      const std::string p[] = {"0", "0", "1", "2"}, q[] = {"1", "2", "2", "2"};
      children.insert(children.end(), {"J" + p[std::stoi(b)], "JH" + q[std::stoi(b)]});
    } else if (options_.jones != "none") {
      for (int pair = 0; pair < options_.pairs; ++pair)
        for (const char* side : {"p", "q"}) {
          const std::string name = side + b + std::string(static_cast<std::size_t>(pair), '\'');
          tree.constant("term" + name, random_complex({kReverseSources, 2, 2}, 0.5, 0.5));
          if (options_.jones == "solvable")
            tree.node(name, "Multiply", {"term" + name, unknown("gain" + name, random(1, 0.1))});
          children.push_back(options_.jones == "solvable" ? name : "term" + name);
        }
    }
    tree.node("corrupted" + b, "PSV", children);
    children.resize(4);
    if (options_.uncorrupted) tree.node("clean" + b, "PSV", children);
    tree.node("vis" + b, "Add",
              options_.uncorrupted ? TestForest::Children{"corrupted" + b, "clean" + b}
                                   : TestForest::Children{"corrupted" + b})
        .constant("data" + b, random_complex({2, 2, 3, 5}, 0, 3), 2);
    if (options_.between) tree.node("turned" + b, "Negate", {"vis" + b});
    tree.node("r" + b, "Condeq", {"data" + b, (options_.between ? "turned" : "vis") + b});
    if (!options_.flags) return "r" + b;
    tree.flagged("f" + b, "r" + b, array({1, 3, 1}, {0, b == "1" ? 1.0 : 0.0, b == "2" ? 1.0 : 0.0}));
    return "f" + b;
  }

  ReverseOptions options_;
  std::mt19937_64 engine_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

}  // namespace rimetree::test
