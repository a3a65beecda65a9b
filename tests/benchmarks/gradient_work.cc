// One evaluation of a chi-square, or of it and its gradient, at unknowns that have all changed, whose machine
// instructions gradient_cost_test.cc counts: what is counted happens inside measured().
//
//   gradient_work WORK value|gradient [TIMES]     TIMES: how often it is done, as a slowdown would
//   WORK: psv, psv-smearing, psv-jones (terms that are the same at all channels), psv-bandpass (that vary), tree
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/many_node_tree.h"
#include "tests/support/project_plugins.h"

using namespace rimetree;

// Found by its name in the program.
extern "C" __attribute__((noinline)) void measured(const std::function<void()>& work) { work(); }

namespace {

class Specs {
 public:
  std::vector<NodeSpec> all;
  std::vector<std::string> unknowns;

  void add(const std::string& name, const char* class_name, const std::vector<std::string>& children,
           std::map<std::string, StateValue> state = {}) {
    std::vector<std::pair<std::string, std::string>> from;
    for (const std::string& child : children) from.emplace_back("", child);
    all.push_back({name, class_name, std::move(state), std::move(from), "gradient_work.cc:1"});
  }
  void constant(const std::string& name, StateArray value, std::int64_t cells_rank = 0) {
    add(name, "Constant", {}, {{"value", std::move(value)}, {"cells_rank", cells_rank}});
  }
  std::string number(const std::string& name, double value) {
    constant(name, {{}, NumberType::real, {value}});
    return name;
  }
  std::string unknown(const std::string& name, double value) {
    add(name, "Parm", {}, {{"value", StateArray{{}, NumberType::real, {value}}}, {"solvable", true}});
    unknowns.push_back(name);
    return name;
  }
  /// A chi-square of models against data that are nearly zero.
  void chi_square(const std::vector<std::string>& models, std::int64_t n_time, std::int64_t n_channel) {
    const auto n = static_cast<std::size_t>(8 * n_time * n_channel);
    std::vector<std::string> residuals;
    for (const std::string& model : models) {
      constant("data:" + model, {{2, 2, n_time, n_channel}, NumberType::complex, std::vector<double>(n, 0.1)}, 2);
      residuals.push_back("r:" + model);
      add(residuals.back(), "Condeq", {"data:" + model, model});
    }
    add("chi2", "ChiSquare", residuals);
  }
};

const testing::ManyNodeTree kSmall{.n_baseline = 40, .n_source = 10, .n_time = 4, .n_channel = 16};

/// Positions and fluxes of sources, in nodes lmn and B.
void add_sky(Specs& specs, std::size_t n_source) {
  std::vector<std::string> lmn, stokes;
  const std::string n = specs.number("n", 0.999), zero = specs.number("zero", 0);
  for (std::size_t s = 0; s < n_source; ++s) {
    const std::string k = std::to_string(s);
    lmn.insert(lmn.end(), {specs.unknown("l" + k, 0.01 * std::sin(1.0 + 3.0 * double(s))),
                           specs.unknown("m" + k, 0.01 * std::cos(2.0 + 5.0 * double(s))), n});
    stokes.insert(stokes.end(), {specs.unknown("I" + k, 1 + 0.1 * double(s % 7)), zero, zero, zero});
  }
  const auto dims = [n_source](double columns) {
    return std::map<std::string, StateValue>{{"dims", StateArray{{2}, NumberType::real, {double(n_source), columns}}}};
  };
  specs.add("lmn", "Composer", lmn, dims(3));
  specs.add("stokes", "Composer", stokes, dims(4));
  specs.add("B", "Stokes", {"stokes"});
}

/// The coordinates of baseline `b`, in a node of this name.
std::string add_uvw(Specs& specs, std::size_t b, bool smearing) {
  std::vector<double> uvw;
  for (int part = 0; part < (smearing ? 6 : 3); ++part)
    for (int t = 0; t < 4; ++t) uvw.push_back((part < 3 ? 3000.0 : 0.2) * std::sin(double(7 * b) + part + 0.001 * t));
  StateArray value{{3, 4, 1}, NumberType::real, uvw};
  if (smearing) value.shape = {2, 3, 4, 1};
  const std::string name = "uvw" + std::to_string(b);
  specs.constant(name, std::move(value), 2);
  return name;
}

Specs psv(bool smearing) {
  Specs specs;
  std::vector<std::string> models;
  add_sky(specs, 100);
  for (std::size_t b = 0; b < 16; ++b) {
    models.push_back("V" + std::to_string(b));
    specs.add(models.back(), "PSV", {"lmn", "B", add_uvw(specs, b, smearing)});
  }
  specs.chi_square(models, 4, 64);
  return specs;
}

/// Sources behind a matrix for each antenna and source, times an unknown gain of the antenna.
Specs psv_jones(bool bandpass) {
  constexpr std::size_t kAntennas = 8, kSources = 40;
  Specs specs;
  std::vector<std::string> models;
  add_sky(specs, kSources);
  for (std::size_t p = 0; p < kAntennas; ++p) {
    const std::string k = std::to_string(p);
    StateArray term{{kSources, 2, 2}, NumberType::complex, {}};
    if (bandpass) term.shape.insert(term.shape.end(), {1, 64});
    std::vector<double> numbers;
    for (std::size_t i = 0; i < 8 * kSources * (bandpass ? 64 : 1); ++i)
      numbers.push_back(std::sin(1.0 + 0.7 * double(p) + 0.1 * double(i)));
    term.data = numbers;
    specs.constant("term" + k, std::move(term), bandpass ? 2 : 0);
    specs.add("gain" + k, "ToComplex", {specs.unknown("re" + k, 1.0), specs.unknown("im" + k, 0.1)});
    specs.add("J" + k, "Multiply", {"term" + k, "gain" + k});
    specs.add("JH" + k, "ConjTranspose", {"J" + k});
  }
  for (std::size_t p = 0; p < kAntennas; ++p)
    for (std::size_t q = p + 1; q < kAntennas; ++q) {
      models.push_back("V" + std::to_string(models.size()));
      specs.add(
          models.back(), "PSV",
          {"lmn", "B", add_uvw(specs, models.size(), true), "", "J" + std::to_string(p), "JH" + std::to_string(q)});
    }
  specs.chi_square(models, 4, 64);
  return specs;
}

/// Fluxes of the sources of many small nodes.
Specs tree() {
  Specs specs;
  for (NodeSpec& spec : kSmall.specs()) {
    if (spec.name.rfind("stokes:", 0) != 0) {
      specs.all.push_back(std::move(spec));
      continue;
    }
    const auto& value = std::get<StateArray>(spec.state.at("value")).data;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < 4; ++i) parts.push_back(specs.unknown(spec.name + ":" + std::to_string(i), value[i]));
    specs.add(spec.name, "Composer", parts);
  }
  std::vector<std::string> models;
  for (std::size_t b = 0; b < kSmall.n_baseline; ++b) models.push_back(testing::ManyNodeTree::root(b));
  specs.chi_square(models, std::int64_t(kSmall.n_time), std::int64_t(kSmall.n_channel));
  return specs;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string work = argv[1];
  const bool gradient = std::string(argv[2]) == "gradient";
  const int times = argc > 3 ? std::atoi(argv[3]) : 1;
  test::load_project_plugins();
  const bool jones = work == "psv-jones" || work == "psv-bandpass";
  const Specs specs = work == "tree" ? tree() : jones ? psv_jones(work == "psv-bandpass") : psv(work == "psv-smearing");
  const auto forest = Forest::build(specs.all);
  Evaluator evaluator(forest, {.threads = 1, .as_written = work == "tree"});
  testing::ManyNodeTree cells = kSmall;
  if (work != "tree") cells.n_channel = 64;
  Request request;
  request.cells = cells.cells();
  const int root = forest->find("chi2");
  const auto evaluate = [&](const auto& perform) {
    for (const std::string& name : specs.unknowns) {
      const int node = forest->find(name);
      StateArray value = forest->node(node).state().array("value");
      std::vector<double> numbers = value.data.vector();
      numbers[0] *= 1 + 1e-6;
      value.data = numbers;
      forest->set_state(node, {{"value", std::move(value)}});
    }
    perform([&] {
      const bool good = gradient ? evaluator.value_and_gradient(request, root).value->ok()
                                 : evaluator.evaluate(request, std::vector<int>{root}).front()->ok();
      if (!good) std::exit(1);
    });
  };
  evaluate([](const std::function<void()>& work) { work(); });  // what happens only the first time is left out
  for (int i = 0; i < times; ++i) evaluate(measured);
  std::printf("\nunknowns %zu\n", specs.unknowns.size());
}
