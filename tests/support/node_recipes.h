// For each node class what children it takes, for the tests that walk the registry. It is derived from what the class
// says of its children; only classes that need numbers of a certain range, or state, have a recipe here.
#pragma once

#include <unistd.h>

#include <cctype>
#include <cstdio>
#include <fstream>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {

/// A child that a class accepts: values are unit * (base + spread * uniform(-1, 1)), in both parts if complex.
struct ChildRecipe {
  std::vector<std::int64_t> dims;  // -1: number of sources
  double base = 1.5, spread = 0.5;
  bool complex = false;
  bool differentiable = true;
  double step = 1;  // size of a perturbation of which the result is a smooth function
  double unit = 1;
};

enum class FlagRule { propagates, own };

struct Recipe {
  std::vector<ChildRecipe> children;
  TestForest::Fields state;
  FlagRule flags = FlagRule::propagates;
  bool counts_cells = false;  // a child counts on the cells on which it varies: length 1 is not the same as all alike
};

inline const ChildRecipe kReal{{}}, kMatrix{{2, 2}, 1.5, 0.5, true}, kAny{{2, 3}, 1.5, 0.5, true};
inline const ChildRecipe kUnitInterval{{}, 0, 0.6};
// Small angles and short baselines, so that phases stay smooth on the scale of the perturbations.
inline const ChildRecipe kLmn{{-1, 3}, 0.3, 0.05, false, true, 1e-2}, kUvw{{3}, 0, 3, false, true, 1e-2},
    kUvwRates{{2, 3}, 0, 3, false, true, 1e-2}, kShape{{-1, 3}, 0.01, 0.005, false, true, 1e-2},
    kStokes{{-1, 4}, 1, 0.3}, kHorizon{{3, 3}, 0.4, 0.1, false, true, 1e-2};
inline const StateValue kOne = std::int64_t{1};
inline const TestForest::Fields kBaseline{{"station_1_index", std::int64_t{0}}, {"station_2_index", kOne}};

/// Twenty samples of three channels and two inputs, a byte each; gone when the tests are over.
inline std::string voltages_file() {
  struct File {
    const std::string name = ::testing::TempDir() + "rimetree-voltages-" + std::to_string(getpid());
    File() {
      std::ofstream file(name, std::ios::binary);
      for (int k = 0; k < 20 * 3 * 2; ++k) file.put(static_cast<char>(37 * k + k / 7));
    }
    ~File() { std::remove(name.c_str()); }
  };
  static const File file;
  return file.name;
}

inline std::map<std::string, Recipe> written_recipes() {
  std::map<std::string, Recipe> r;
  for (const char* name : {"Asin", "Acos"}) r[name] = {{kUnitInterval}};
  for (const char* name : {"Sum", "Mean"})
    r[name] = {{kMatrix, kMatrix}, {{"reduction_axes", std::vector<std::string>{"time"}}}, FlagRule::own};
  for (const char* name : {"Max", "Min"}) r[name] = {{ChildRecipe{{2}}}, {}, FlagRule::own};
  for (const char* name : {"ChiSquare", "LogLikelihood"}) r[name] = {{kMatrix, kReal}, {}, FlagRule::own, true};
  r["Condeq"] = {{kAny, ChildRecipe{{2, 3}, 1.5, 0.5, true}, ChildRecipe{{}, 1.5, 0.5, false, false}}};
  r["Constant"] = {{}, {{"value", 1.5}}};
  r["Parm"] = {{}, {{"value", 1.5}}};
  r["Grid"] = {{}, {{"axis", std::string("freq")}}};
  r["Matrix22"] = {{kReal, kReal, ChildRecipe{{}, 1, 1, true}, kReal}};
  r["MatrixMultiply"] = {{ChildRecipe{{-1}, 1, 0.5, true}, ChildRecipe{{-1, 2, 2}, 1, 1, true}, kMatrix, kReal}};
  r["MatrixInvert22"] = {{ChildRecipe{{-1, 2, 2}, 0, 1, true, true, 1e-2}}};
  r["Selector"] = {{kAny}, {{"index", array({2}, {1, -1})}}};
  r["LMN"] = {{ChildRecipe{{-1, 2}}, ChildRecipe{{2}}}};
  r["UVW"] = {{ChildRecipe{{2}, 0.5}, ChildRecipe{{3}, 0, 10}, ChildRecipe{{3}, 0, 10}}, {{"include_deriv", true}}};
  r["VisPhaseShift"] = {{kLmn, kUvwRates}};
  r["TFSmearFactor"] = {{kLmn, kUvwRates}};
  r["DishBeam"] = {{kLmn, ChildRecipe{{}, 0.4, 0.1, false, true, 0.1}},
                   {{"profile", std::string("airy")}, {"ref_freq_hz", 1e9}, {"blockage", 0.3}}};
  r["ArrayFactor"] = {{kLmn, kHorizon, ChildRecipe{{4, 3}, 0, 3, false, true, 1e-2}, ChildRecipe{{4}}}};
  r["CrossedDipoles"] = {{kLmn, ChildRecipe{{2}, 0.5, 0.3}, kHorizon},
                         {{"length", std::string("half-wave")}, {"height_m", 0.03}}};
  r["Interpolate"] = {{ChildRecipe{{3, 2, 2}, 1.5, 0.5, true}, ChildRecipe{{-1, 2}, 0.5, 0.3, false, true, 0.1}}};
  r["SourceShape"] = {{kShape, kUvw}};
  r["Shapelets"] = {{ChildRecipe{{-1, 3, 4}, 0, 0.5}, kShape, kUvw, ChildRecipe{{2, 3}, 0.5, 0.5}}};
  r["Spectrum"] = {{kStokes, ChildRecipe{{-1, 2}, 0, 0.8}, ChildRecipe{{-1}, 1.2, 0.1, false, true, 0.1, 1e9},
                    ChildRecipe{{}, 0.5, 0.1, false, true, 0.1}}};
  r["ZeroFlagger"] = {{kAny}, {{"oper", std::string("EQ")}}};
  r["MergeFlags"] = {{kAny, kReal}};
  r["Voltages"] = {{}, {{"source", std::vector<std::string>{voltages_file()}}, {"n_input", std::int64_t{3}}}};
  r["Correlation"] = {{ChildRecipe{{78}, 1.5, 0.5, true, false}}, kBaseline};
  r["Spigot"] = {{}, kBaseline};
  r["Sink"] = {{kMatrix}, kBaseline, FlagRule::own};
  r["VisDataMux"] = {{kReal, kReal, kReal}, {}, FlagRule::own};
  r["PSV"] = {{kLmn, ChildRecipe{{-1, 2, 2}, 1, 0.5, true}, kUvwRates, kShape, ChildRecipe{{-1, 2, 2}, 1, 0.5, true},
               ChildRecipe{{-1, 2, 2}, 1, 0.5, true}}};
  return r;
}

/// Dimensions of a child from how its class describes them: stacks of sources where it takes them, the first
/// alternative else; letters stand for 2, 3, .. Nothing is said where any will do.
inline std::optional<std::vector<std::int64_t>> described_dims(const std::string& shape) {
  const std::size_t stack = shape.find("[source"), first = stack != std::string::npos ? stack : shape.find('[');
  if (first == std::string::npos) return std::nullopt;
  std::vector<std::int64_t> dims;
  std::istringstream list(shape.substr(first + 1, shape.find(']', first) - first - 1));
  std::int64_t letter = 2;
  for (std::string extent; std::getline(list, extent, ',');)
    dims.push_back(extent == "source" ? -1 : std::isdigit(extent[0]) ? std::stoi(extent) : letter++);
  return dims;
}

/// Complex children, or real ones if the class takes no others: where any dimensions will do a tensor and scalars.
inline Recipe derived_recipe(const std::string& class_name) {
  const NodeClass& node_class = registry().get(class_name);
  for (const bool is_complex : {true, false}) {
    Recipe recipe;
    TestForest tree;
    TestForest::Children names;
    for (const ChildSpec& spec : node_class.children)
      for (int copy = 0; copy < (spec.repeated ? 2 : 1); ++copy) {
        const auto dims = described_dims(spec.shape);
        ChildRecipe child{dims ? *dims : names.empty() ? std::vector<std::int64_t>{2, 3} : std::vector<std::int64_t>{}};
        child.complex = is_complex;
        StateArray value{{}, NumberType::real, {}};
        for (const std::int64_t extent : child.dims) value.shape.push_back(extent < 0 ? 1 : extent);
        std::size_t n = is_complex ? 2 : 1;
        for (const std::int64_t extent : value.shape) n *= static_cast<std::size_t>(extent);
        value.data = std::vector<double>(n, 1.5);
        if (is_complex) value.type = NumberType::complex;
        names.push_back("c" + std::to_string(names.size()));
        tree.constant(names.back(), value);
        recipe.children.push_back(child);
      }
    if (!is_complex || tree.node("x", class_name, names).evaluate("x", 1)->ok()) return recipe;
  }
  return {};
}

inline const Recipe& recipe_of(const std::string& class_name) {
  static const std::map<std::string, Recipe> written = written_recipes();
  static std::map<std::string, Recipe> derived;
  if (const auto it = written.find(class_name); it != written.end()) return it->second;
  if (!derived.contains(class_name)) derived[class_name] = derived_recipe(class_name);
  return derived[class_name];
}

}  // namespace rimetree::test
