// PSV nodes of a small array whose children vary, or depend on unknowns, in various places.
#pragma once

#include <algorithm>
#include <random>

#include "memory/simulated_device.h"
#include "tests/support/chosen_device.h"

namespace rimetree::test::psv_unknowns {

inline constexpr int kSources = 4, kTimes = 2, kChannels = 3, kAntennas = 3;

/// Random numbers base + spread * (-1 .. 1), [dims][time or 1][channel or 1].
struct Random {
  double base, spread;
  bool complex = false;
  StateArray operator()(unsigned seed, std::vector<std::int64_t> dims, bool in_time = false,
                        bool in_frequency = false) const {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> uniform(-1, 1);
    dims.push_back(in_time ? kTimes : 1);
    dims.push_back(in_frequency ? kChannels : 1);
    std::vector<double> values;
    std::int64_t n = complex ? 2 : 1;
    for (const std::int64_t extent : dims) n *= extent;
    for (std::int64_t i = 0; i < n; ++i) values.push_back(base + spread * uniform(random));
    return {dims, complex ? NumberType::complex : NumberType::real, values};
  }
};

/// kGains: one number of both antennas.
enum class Unknown { kNone, kFluxes, kDirections, kShapes, kJones, kBaselines, kGains };
enum class Varies { kNothing, kDirections, kFluxes, kShapes, kJones };

/// The baselines of an array that sees four sources, Gaussians among them, through antennas' Jones terms. Of the
/// unknowns each moves one source or one antenna.
struct Scene {
  explicit Scene(Unknown unknown, Varies varies = Varies::kNothing, bool jones = true) {
    const bool lmn_in_time = varies == Varies::kDirections, flux_in_time = varies == Varies::kFluxes;
    stack("lmn", Random{0.3, 0.05}(1, {kSources, 3}, lmn_in_time), Random{0, 1e-3}, unknown == Unknown::kDirections);
    stack("b", Random{1, 0.5, true}(2, {kSources, 2, 2}, flux_in_time, flux_in_time), Random{0, 1, true},
          unknown == Unknown::kFluxes);
    stack("shape", Random{1e-3, 5e-4}(3, {kSources, 3}, varies == Varies::kShapes), Random{0, 1e-4},
          unknown == Unknown::kShapes);
    tree.parm("g", 1.1);
    for (int a = 0; a < kAntennas; ++a) {
      const std::string own = std::to_string(a);
      stack("e" + own, Random{0.5, 0.5, true}(10 + a, {kSources, 2, 2}, varies == Varies::kJones), Random{0, 1, true},
            unknown == Unknown::kJones);
      tree.constant("s_fixed" + own, Random{1, 0.2}(20 + a, {kSources}), 2);
      const bool gains = unknown == Unknown::kGains;
      tree.node("s" + own, gains ? "Multiply" : "Identity",
                gains ? TestForest::Children{"s_fixed" + own, "g"} : TestForest::Children{"s_fixed" + own});
      tree.node("eh" + own, "ConjTranspose", {"e" + own});
    }
    for (int p = 0; p < kAntennas; ++p)
      for (int q = p + 1; q < kAntennas; ++q) {
        const std::string own = std::to_string(p) + std::to_string(q), left = std::to_string(p);
        StateArray uvw = Random{0, 100}(30 + 10 * p + q, {2, 3}, true);
        std::vector<double> numbers = uvw.data.vector();
        for (std::size_t i = 3 * kTimes; i < numbers.size(); ++i) numbers[i] *= 1e-4;  // rates
        uvw.data = numbers;
        tree.constant("uvw0" + own, uvw, 2);
        tree.parm("stretch" + own, 1);
        tree.node("uvw" + own, unknown == Unknown::kBaselines ? "Multiply" : "Identity",
                  unknown == Unknown::kBaselines ? TestForest::Children{"uvw0" + own, "stretch" + own}
                                                 : TestForest::Children{"uvw0" + own});
        TestForest::Children children{"lmn", "b", "uvw" + own, "shape"};
        if (jones)
          children.insert(children.end(), {"s" + left, "s" + std::to_string(q), "e" + left, "eh" + std::to_string(q)});
        tree.node("v" + own, "PSV", children);
        roots.push_back("v" + own);
      }
    tree.request.derivatives = unknown != Unknown::kNone;
  }
  /// A child that unknowns may move: two of its sources by one each.
  void stack(const std::string& name, const StateArray& values, const Random& direction, bool moves) {
    tree.constant(name + "_fixed", values, 2);
    TestForest::Children sum{name + "_fixed"};
    for (const int source : {0, 2}) {
      const std::string own = name + "_" + std::to_string(source);
      std::vector<std::int64_t> dims(values.shape.begin(), values.shape.end() - 2);
      StateArray along = direction(static_cast<unsigned>(100 + source), dims);
      std::vector<double> numbers = along.data.vector();
      const std::size_t per_source = numbers.size() / kSources;
      for (std::size_t i = 0; i < numbers.size(); ++i)
        if (i / per_source != static_cast<std::size_t>(source)) numbers[i] = 0;
      along.data = numbers;
      tree.constant(own + "_along", along, 2).parm("p_" + own, 0.1);
      tree.node(own + "_shift", "Multiply", {own + "_along", "p_" + own});
      sum.push_back(own + "_shift");
    }
    tree.node(name, moves ? "Add" : "Identity", moves ? sum : TestForest::Children{sum.front()});
  }

  TestForest tree;
  std::vector<std::string> roots;
};

struct Trial {
  Trial(const Scene& scene, const std::string& device, std::size_t budget_bytes = 0)
      : Trial(scene, scene.tree.specs(), device, budget_bytes) {}
  /// The scene's roots in another forest.
  Trial(const Scene& scene, const std::vector<NodeSpec>& specs, const std::string& device, std::size_t budget_bytes = 0)
      : forest(Forest::build(specs, registry())), request(scene.tree.request) {
    EvaluatorOptions options;
    options.threads = 1;
    options.device = {device, budget_bytes};
    options.placement = PlacementRule{1, false};
    evaluator = std::make_unique<Evaluator>(forest, options);
    for (const std::string& name : scene.roots) roots.push_back(forest->find(name));
  }
  std::vector<ResultPtr> evaluate() { return evaluator->evaluate(request, roots); }
  DeviceReport report() { return evaluator->devices().front()->report(); }
  memory::SimulatedDevice& device(std::size_t i = 0) {
    return dynamic_cast<memory::SimulatedDevice&>(evaluator->devices()[i]->device());
  }
  bool notes(const std::string& text) const { return has(evaluator->notes().list(), text); }
  bool warns(const std::string& text) const { return has(evaluator->warnings().list(), text); }
  static bool has(const std::vector<std::string>& list, const std::string& text) {
    return std::any_of(list.begin(), list.end(), [&](const auto& one) { return one.find(text) != std::string::npos; });
  }

  std::shared_ptr<Forest> forest;
  std::unique_ptr<Evaluator> evaluator;
  std::vector<int> roots;
  Request request;
};

}  // namespace rimetree::test::psv_unknowns
