// Speed of the PSV kernels on one core, in source-visibilities (one source, baseline, time and channel with all four
// correlations) per second, and as a fraction of the core's measured multiply-add peak, counting the useful ones only:
// 6 per source-visibility for Stokes I, 12 for all Stokes. The kernel may exceed that: it needs fewer.
//
// The grid is that of `rimetree bench psv`, without forest, Python and casacore, so that it runs where these are not.
// Telescopes differ for a kernel by their number of rows only, and are not told apart.
//
// Every case is first checked against the extended-precision oracle; a wrong answer has no speed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "nodes/psv/delay/delay.h"
#include "nodes/psv/kernel.h"
#include "runtime/core/values/largest_error.h"
#include "runtime/python/multiply_add_peak.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

template <class T>
inline constexpr double kTolerance = sizeof(T) == 8 ? 1e-12 : 1e-6;

/// A case, what every method takes, and where the visibilities go.
struct Prepared {
  explicit Prepared(const CaseOptions& o)
      : test_case(o),
        channels(psv::analyse_channels(test_case.frequency.data(), test_case.width.data(), test_case.n_channel())),
        jones{test_case.n_pair, test_case.jones_pairs.data(), o.jones >= JonesKind::kVarying},
        values(test_case.n_row() * 4 * test_case.n_channel()) {
    for (std::size_t r = 0; r < test_case.n_row(); ++r) row.push_back(values.data() + r * 4 * test_case.n_channel());
    output = {row.data(), std::ptrdiff_t(test_case.n_channel())};
  }

  /// Largest error of some visibilities, in units of the total flux.
  double error() const {
    std::mt19937_64 engine(1);
    double worst = 0;
    for (int i = 0; i < 16; ++i) {
      const std::size_t r = engine() % test_case.n_row(), f = engine() % test_case.n_channel();
      const oracle::Matrix expected = test_case.expected_at(r, f);
      for (std::size_t e = 0; e < 4; ++e) {
        const Complex<double> z = row[r][e * test_case.n_channel() + f];
        const double difference = double(std::abs(oracle::Number(z.re, z.im) - expected.e[e]));
        keep_larger(worst, difference);
      }
    }
    return worst / test_case.total_flux();
  }
  double source_visibilities() const {
    return double(test_case.options.n_source) * double(test_case.n_row()) * double(test_case.n_channel());
  }

  Case test_case;
  psv::Channels channels;
  psv::JonesTerms jones;
  std::vector<Complex<double>> values;
  std::vector<Complex<double>*> row;
  psv::Output output;
};

/// The direct sum, prepared as the PSV node prepares it once per version of the sky.
template <class T>
struct Direct : Prepared {
  explicit Direct(const CaseOptions& o)
      : Prepared(o), sky(psv::pack_sky<T>(test_case.sky_input())), workspace(sky, channels, jones) {}
  void evaluate() {
    psv::evaluate_rows(sky, channels, test_case.psv_rows(), jones, 0, test_case.n_row(), workspace, output);
  }
  /// Useful ones per evaluation, the unit in which a core's peak is quoted: four for the phasor, two per plane. A pair
  /// of 2x2 terms takes two complex matrix products of 32; what the terms of one end of a baseline come to does not
  /// count where other baselines share it, and leaves one product.
  double multiply_adds() const {
    const double planes = jones.n_pair > 0 ? 8.0 : double(sky.planes.size());
    const double products = psv::matrices_vary(sky, jones) ? 32.0 : 64.0 * jones.n_pair / double(test_case.n_channel());
    return source_visibilities() * (4 + 2 * planes + products);
  }

  psv::Sky<T> sky;
  psv::Workspace<T> workspace;
};

/// The delay method, planned for these rows; making the tables is not part of the time.
struct Delay : Prepared {
  Delay(const CaseOptions& o, double tolerance)
      : Prepared(o),
        plan(psv::delay::plan_delay(
            {psv::pack_sky<double>(test_case.sky_input()), channels, test_case.psv_rows(), jones}, tolerance)) {
    if (plan.obstacle.empty()) psv::delay::finish_delay_plan(plan);
  }
  void evaluate() {
    if (!workspace) workspace = std::make_unique<psv::delay::DelayWorkspace>(plan);
    psv::delay::evaluate_delay_rows(plan, test_case.psv_rows(), 0, test_case.n_row(), *workspace, output);
  }

  psv::delay::DelayPlan plan;
  std::unique_ptr<psv::delay::DelayWorkspace> workspace;
};

template <class T>
double peak() {
  static const MultiplyAddPeak measured = multiply_add_peak();
  return sizeof(T) == 8 ? measured.double_per_second : measured.single_per_second;
}

/// Checks, then times; false where the answer was wrong.
template <class Run>
bool time(benchmark::State& state, Run& run, double tolerance) {
  run.evaluate();
  const double error = run.error();
  if (!(error <= tolerance)) {
    state.SkipWithError(("wrong answer: off by " + std::to_string(error / tolerance) + " times the tolerance").c_str());
    return false;
  }
  for (auto _ : state) run.evaluate();
  const double n = double(state.iterations());
  state.counters["svis/s"] = benchmark::Counter(n * run.source_visibilities(), benchmark::Counter::kIsRate);
  state.counters["error"] = error;
  return true;
}

template <class T>
void measure(benchmark::State& state, const CaseOptions& o) {
  Direct<T> run(o);
  if (!time(state, run, kTolerance<T>)) return;
  const double n = double(state.iterations());
  state.counters["peak"] = benchmark::Counter(n * run.multiply_adds() / peak<T>(), benchmark::Counter::kIsRate);
  state.counters["bytes"] = double(run.workspace.bytes() + run.values.size() * sizeof(run.values[0]));
}

void measure_delay(benchmark::State& state, const CaseOptions& o, double tolerance) {
  Delay run(o, tolerance);
  if (!run.plan.obstacle.empty()) {
    state.SkipWithError(run.plan.obstacle.c_str());
    return;
  }
  time(state, run, tolerance);
}

/// Rows such that one evaluation takes some milliseconds: whole vectors, 32 at least.
void set_rows(CaseOptions& o) {
  const double work = double(o.n_source) * double(o.n_channel) * (o.jones == JonesKind::kNone ? 1 : 20);
  const double rows = std::clamp(2e7 / work, 32.0, 2048.0);
  o.n_time = 16;
  o.n_baseline = std::size_t(rows) / o.n_time;
  // All baselines of 32 antennas at once, as they share terms.
  if (o.jones == JonesKind::kAntennas) o.n_baseline = 496, o.n_time = 1;
}

void add(const std::string& name, CaseOptions o) {
  set_rows(o);
  benchmark::RegisterBenchmark(("psv/" + name + "/double").c_str(), measure<double>, o)->Unit(benchmark::kMillisecond);
  benchmark::RegisterBenchmark(("psv/" + name + "/single").c_str(), measure<float>, o)->Unit(benchmark::kMillisecond);
}

void add_delay(const std::string& name, CaseOptions o) {
  set_rows(o);
  for (const double tolerance : {1e-12, 1e-6})
    benchmark::RegisterBenchmark(("psv/" + name + (tolerance < 1e-9 ? "/1e-12" : "/1e-6")).c_str(), measure_delay, o,
                                 tolerance)
        ->Unit(benchmark::kMillisecond);
}

void add_grid_of(const std::string& stokes, const CaseOptions& base) {
  const auto named = [&](const std::string& name, const CaseOptions& o) {
    return stokes + "/" + name + "/sources:" + std::to_string(o.n_source);
  };
  const auto add_sources = [&](const std::string& name, CaseOptions o, std::initializer_list<std::size_t> counts) {
    for (const std::size_t n : counts) {
      o.n_source = n;
      add(named(name, o), o);
    }
  };
  CaseOptions o = base;
  add_sources("plain", o, {1, 10, 100, 1000, 10000});
  o.smearing = true;
  add_sources("smearing", o, {1, 10, 100, 1000, 10000});
  o.gaussians = true;  // every other source
  add_sources("smearing+gaussians", o, {1000});
  o.smearing = false;
  add_sources("gaussians", o, {1000});
  o = base;
  o.spectra = true;
  add_sources("spectra", o, {1000});
  o = base;
  o.grid = Grid::kRounded;
  add_sources("rounded grid", o, {1000});
  o.grid = Grid::kIrregular;
  add_sources("irregular grid", o, {100});
  o = base;
  o.jones = JonesKind::kMatrix;
  add_sources("one 2x2 term", o, {100});
  o.jones = JonesKind::kVarying;
  add_sources("two terms that vary in frequency", o, {10});
  o.jones = JonesKind::kAntennas;
  add_sources("one 2x2 term per antenna that varies in frequency", o, {100});

  o = base;
  o.n_channel = 32768;
  o.spacing_hz = 2e3;
  add_sources("32768 channels", o, {10, 100});
  for (const bool smearing : {false, true})
    for (const std::size_t n : {10, 100, 1000}) {
      o.n_source = n;
      o.smearing = smearing;
      add_delay(named(smearing ? "32768 channels by delay, smearing" : "32768 channels by delay", o), o);
    }
}

void add_grid() {
  CaseOptions base;
  base.n_channel = 64;
  for (const bool full : {false, true}) {
    base.polarisation = full ? Polarisation::kFull : Polarisation::kUnpolarised;
    add_grid_of(full ? "IQUV" : "I", base);
  }
  base.polarisation = Polarisation::kFew;
  base.n_source = 1000;
  for (const bool smearing : {false, true}) {
    base.smearing = smearing;
    add(std::string("IQUV, one source in five polarised/") + (smearing ? "smearing" : "plain") + "/sources:1000", base);
  }
}

}  // namespace
}  // namespace rimetree::testing

int main(int argc, char** argv) {
  using namespace rimetree;
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 1;
  benchmark::AddCustomContext("instruction set", psv::instruction_set());
  benchmark::AddCustomContext("peak, multiply-adds/s, double", std::to_string(testing::peak<double>()));
  benchmark::AddCustomContext("peak, multiply-adds/s, single", std::to_string(testing::peak<float>()));
  testing::add_grid();
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
