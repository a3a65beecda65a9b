// Forests that solve for Jones matrices on top of PSV's visibilities, on a device or on the host: the same numbers each
// time.
#pragma once

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "memory/simulated_device.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {

/// What there is to solve.
struct GainOptions {
  int n_antenna = 5, n_channel = 9;
  bool full = false;         ///< matrices with eight real unknowns, or diagonal ones with four
  int n_term = 1;            ///< directions, each with gains of its own
  bool fixed_term = false;   ///< and one without
  bool tiles = false;        ///< gains of two times each
  bool weights = false;      ///< of random size, some zero, some unsound
  bool flags = false;        ///< some cells are flagged, some data not finite; one baseline has no data at all
  bool known_model = false;  ///< visibilities that are constants, instead of PSV's
  double robust_dof = 0;
  std::string method = "auto";
  int iterations = 30;
};

/// A forest whose root is the Solver "solver". The condition equations are "c:0:1", ..
class GainScene {
 public:
  static constexpr int kTimes = 6, kChannels = 9, kSources = 3;
  static constexpr std::size_t kCells = kTimes * kChannels;

  GainScene(const GainOptions& options, const std::string& device, std::int64_t budget_bytes = 0, int threads = 1)
      : options_(options) {
    std::vector<double> times, channels;
    for (int t = 0; t < kTimes; ++t) times.push_back(5e9 + 10 * t);
    for (int f = 0; f < options.n_channel; ++f) channels.push_back(1e9 + 1e7 * f);
    forest.request.cells = cells(times, channels, 10, 1e7);
    forest.constant("zero", 0.0);
    for (int d = 0; d < n_direction(); ++d) direction(std::to_string(d), d < options.n_term);
    std::vector<std::string> condeqs;
    for (int p = 0; p < options.n_antenna; ++p)
      for (int q = p + 1; q < options.n_antenna; ++q) condeqs.push_back(baseline(p, q));
    forest.node("solver", "Solver", condeqs,
                {{"robust_dof", options.robust_dof},
                 {"method", options.method},
                 {"tolerance", 1e-12},
                 {"sigma_tolerance", 1e-12},
                 {"iterations", std::int64_t{options.iterations}}});
    forest.node("device", "DeviceMemory", {}, {{"device", device}, {"budget_bytes", budget_bytes}});
    built = Forest::build(forest.specs(), registry());
    evaluator =
        std::make_unique<Evaluator>(built, EvaluatorOptions{.threads = threads, .placement = PlacementRule{1, false}});
  }
  /// The report of a fit from the first values on.
  SolveReport solve() {
    evaluator->solves().reports.clear();
    expect_ok(evaluator->evaluate(forest.request, "solver"));
    return evaluator->solves().reports.empty() ? SolveReport() : evaluator->solves().reports.front();
  }
  bool was_summed_on_devices() const {
    for (const std::string& note : evaluator->notes().list())
      if (note.find("Solver: sums over data on ") == 0 || note.find("Solver: normal equations on ") == 0) return true;
    return false;
  }
  memory::SimulatedDevice& device(std::size_t i = 0) {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices()[i]->device());
  }
  void restart() {
    for (const std::string& name : unknowns) built->set_state(built->find(name), {{"value", start(name)}});
  }
  int n_direction() const { return options_.n_term + (options_.fixed_term ? 1 : 0); }
  int n_baseline() const { return options_.n_antenna * (options_.n_antenna - 1) / 2; }

  TestForest forest;
  std::shared_ptr<Forest> built;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<std::string> unknowns;

 private:
  std::size_t n_cell() const { return kTimes * static_cast<std::size_t>(options_.n_channel); }
  double random(double centre, double spread) { return centre + spread * uniform_(engine_); }
  /// Real parts on the diagonal begin at 1, all else at 0.
  static double start(const std::string& name) { return name.ends_with("_0r") || name.ends_with("_3r") ? 1 : 0; }

  void direction(const std::string& d, bool solvable) {
    std::vector<double> lmn, flux;
    for (int s = 0; s < kSources; ++s) {
      const double l = random(0, 0.01), m = random(0, 0.01);
      lmn.insert(lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
      flux.insert(flux.end(), {random(5, 1), random(0.5, 0.2), random(0.3, 0.2), random(0, 0.1)});
    }
    forest.constant("lmn" + d, array({kSources, 3}, lmn)).constant("stokes" + d, array({kSources, 4}, flux));
    forest.node("B" + d, "Stokes", {"stokes" + d});
    for (int p = 0; solvable && p < options_.n_antenna; ++p) {
      const std::string name = "G" + d + "_" + std::to_string(p);
      TestForest::Children elements;
      for (int e = 0; e < 4; ++e) {
        if (!options_.full && (e == 1 || e == 2)) {
          elements.push_back("zero");
          continue;
        }
        const std::string element = name + "_" + std::to_string(e);
        parm(element + "r"), parm(element + "i");
        forest.node(element, "ToComplex", {element + "r", element + "i"});
        elements.push_back(element);
      }
      forest.node(name, "Matrix22", elements).node(name + "H", "ConjTranspose", {name});
    }
  }

  void parm(const std::string& name) {
    // The prior holds the phase that is common to all antennas.
    TestForest::Fields state{
        {"value", start(name)}, {"solvable", true}, {"prior_mean", start(name)}, {"prior_sigma", 0.1}};
    if (options_.tiles) {
      std::vector<double> edges;
      for (int t = 0; t <= kTimes; t += 2) edges.push_back(5e9 - 5 + 10 * t);
      state["time_edges_s"] = array({static_cast<std::int64_t>(edges.size())}, edges);
    }
    forest.node(name, "Parm", {}, state);
    unknowns.push_back(name);
  }

  std::string baseline(int p, int q) {
    const std::string pq = std::to_string(p) + ":" + std::to_string(q);
    std::vector<double> uvw;
    for (int i = 0; i < 3 * kTimes; ++i) uvw.push_back(random(0, 10));
    forest.constant("uvw" + pq, array({3, kTimes, 1}, uvw), 2);
    TestForest::Children terms;
    for (int d = 0; d < n_direction(); ++d) {
      const std::string k = std::to_string(d), m = "M" + k + ":" + pq, v = "V" + k + ":" + pq;
      if (options_.known_model)
        forest.constant(m, complex_array({2, 2, kTimes, options_.n_channel}, visibilities()), 2);
      else
        forest.node(m, "PSV", {"lmn" + k, "B" + k, "uvw" + pq});
      terms.push_back(d < options_.n_term ? v : m);
      if (d < options_.n_term)
        forest.node(v, "MatrixMultiply",
                    {"G" + k + "_" + std::to_string(p), m, "G" + k + "_" + std::to_string(q) + "H"});
    }
    std::string model = terms.front();
    if (terms.size() > 1) forest.node(model = "V:" + pq, "Add", terms);
    TestForest::Children equation{data(pq, p, q), model};
    if (options_.weights) {
      std::vector<double> weights;
      for (std::size_t i = 0; i < 4 * n_cell(); ++i) weights.push_back(random(1, 0.5));
      weights[0] = 0, weights[1] = -1, weights[7] = std::nan("");
      forest.constant("weight" + pq, array({2, 2, kTimes, options_.n_channel}, weights), 2);
      equation.push_back("weight" + pq);
    }
    forest.node("c:" + pq, "Condeq", equation, {{"weight_factor", p == 0 ? 2.0 : 1.0}});
    return "c:" + pq;
  }

  std::vector<Complex<double>> visibilities() {
    std::vector<Complex<double>> values;
    for (std::size_t i = 0; i < 4 * n_cell(); ++i) {
      const bool parallel = i / n_cell() == 0 || i / n_cell() == 3;
      values.push_back({random(parallel ? 15 : 1, 1), random(0, 3)});
    }
    return values;
  }

  /// Gains near 1 times a visibility near that of the sky's, and noise. The name of the node.
  std::string data(const std::string& pq, int p, int q) {
    std::vector<Complex<double>> values;
    for (std::size_t i = 0; i < 4 * n_cell(); ++i) {
      const std::size_t e = i / n_cell();
      const Complex<double> gain{1 + 0.05 * p - 0.03 * q, 0.1 * p - 0.08 * q};
      values.push_back(gain * Complex<double>((e == 0 || e == 3 ? 15.0 : 1.0) * n_direction()) +
                       Complex<double>(random(0, 1), random(0, 1)));
    }
    std::string name = "data" + pq;
    if (options_.flags && p == 0) values[2] = {std::nan(""), 0};
    forest.constant(name, complex_array({2, 2, kTimes, options_.n_channel}, values), 2);
    if (!options_.flags) return name;
    std::vector<double> bits(4 * n_cell(), 0);
    for (std::size_t i = 0; i < bits.size(); ++i) bits[i] = random(0, 1) > 0.6 ? 4 : 0;
    forest.flagged("flagged" + pq, name, array({4, kTimes, options_.n_channel}, bits));
    if (p != 1 || q != 2) return "flagged" + pq;
    forest.node("nothing", "TestMissing", {}, {{"dims", array({2}, {2, 2})}});
    return "nothing";
  }

  GainOptions options_;
  std::mt19937_64 engine_{11};
  std::uniform_real_distribution<double> uniform_{-1, 1};
};

}  // namespace rimetree::test
