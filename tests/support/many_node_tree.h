// The measurement equation as many small nodes, as `rimetree.sky_trees.many_node_tree` writes it, for tests and counts
// that need a tree but no Measurement Set: each baseline's UVW is a Constant.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/forest/forest.h"

namespace rimetree::testing {

struct ManyNodeTree {
  std::size_t n_baseline = 28, n_source = 10, n_time = 8, n_channel = 64;

  /// Nodes V:b for every baseline b, each the sum of a phase, a smearing factor and a brightness over the sources.
  std::vector<NodeSpec> specs() const;
  static std::string root(std::size_t baseline) { return "V:" + std::to_string(baseline); }
  /// The cells of the n-th time-slot group.
  std::shared_ptr<const Cells> cells(std::size_t n = 0) const;
};

inline std::vector<NodeSpec> ManyNodeTree::specs() const {
  std::vector<NodeSpec> all;
  const auto add = [&](std::string name, const char* class_name, std::vector<std::pair<std::string, std::string>> from,
                       std::map<std::string, StateValue> state = {}) {
    all.push_back({std::move(name), class_name, std::move(state), std::move(from), "many_node_tree.h:1"});
  };
  const auto constant = [&](const std::string& name, std::vector<std::int64_t> shape, std::vector<double> values,
                            std::int64_t cells_rank = 0) {
    add(name, "Constant", {},
        {{"value", StateArray{std::move(shape), NumberType::real, std::move(values)}}, {"cells_rank", cells_rank}});
  };
  const auto join = [](const char* stem, std::size_t i) { return stem + (":" + std::to_string(i)); };
  for (std::size_t s = 0; s < n_source; ++s) {
    const double l = 0.01 * std::sin(1.0 + 3.0 * double(s)), m = 0.01 * std::cos(2.0 + 5.0 * double(s));
    constant(join("lmn", s), {3}, {l, m, std::sqrt(1 - l * l - m * m)});
    constant(join("stokes", s), {4}, {1.0 + 0.1 * double(s), 0.1, -0.05, 0.02});
    add(join("B", s), "Stokes", {{"", join("stokes", s)}});
  }
  for (std::size_t b = 0; b < n_baseline; ++b) {
    std::vector<double> uvw;  // [2, 3, time]
    for (int part = 0; part < 6; ++part)
      for (std::size_t t = 0; t < n_time; ++t)
        uvw.push_back((part < 3 ? 1000.0 : 0.05) * std::sin(double(7 * b) + part + 0.001 * double(t)));
    constant(join("uvw", b), {2, 3, std::int64_t(n_time)}, std::move(uvw), 1);
    std::vector<std::pair<std::string, std::string>> terms;
    for (std::size_t s = 0; s < n_source; ++s) {
      const std::string k = join("K", b) + join("", s), smear = join("smear", b) + join("", s);
      const std::string v = root(b) + join("", s);
      add(k, "VisPhaseShift", {{"lmn", join("lmn", s)}, {"uvw", join("uvw", b)}});
      add(smear, "TFSmearFactor", {{"lmn", join("lmn", s)}, {"uvw", join("uvw", b)}});
      add(v, "MatrixMultiply", {{"", k}, {"", smear}, {"", join("B", s)}});
      terms.emplace_back("", v);
    }
    add(root(b), "Add", std::move(terms));
  }
  return all;
}

inline std::shared_ptr<const Cells> ManyNodeTree::cells(std::size_t n) const {
  AxisGrid time, frequency;
  for (std::size_t t = 0; t < n_time; ++t) {
    time.centre.push_back(5e9 + 10.0 * double(n * n_time + t));
    time.width.push_back(10);
  }
  for (std::size_t f = 0; f < n_channel; ++f) {
    frequency.centre.push_back(1e9 + 1e6 * double(f));
    frequency.width.push_back(1e6);
  }
  return std::make_shared<const Cells>(Cells::time_frequency(std::move(time), std::move(frequency)));
}

}  // namespace rimetree::testing
