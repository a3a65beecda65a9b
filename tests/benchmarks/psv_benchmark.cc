// Speed of the PSV kernel on one core, in source-visibilities (one source, baseline, time and channel with all four
// correlations) per second, and as a fraction of the core's measured multiply-add peak, counting the useful ones only:
// 6 per source-visibility for Stokes I, 12 for all Stokes. The kernel may exceed that: it needs fewer.
//
// Every case is first checked against the extended-precision oracle; a wrong answer has no speed.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <memory>
#include <random>
#include <string>

#include "nodes/psv/kernel.h"
#include "runtime/multiply_add_peak.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

template <class T>
inline constexpr double kTolerance = sizeof(T) == 8 ? 1e-12 : 1e-6;

/// A case with everything the kernel takes, prepared as the PSV node prepares it once per version of the sky.
template <class T>
struct Prepared {
  explicit Prepared(const CaseOptions& o)
      : test_case(o),
        sky(psv::pack_sky<T>(test_case.sky_input())),
        channels(psv::analyse_channels(test_case.frequency.data(), test_case.width.data(), test_case.n_channel())),
        jones{test_case.n_pair, test_case.jones_pairs.data(), o.jones >= JonesKind::kVarying},
        workspace(sky, channels, jones),
        values(test_case.n_row() * 4 * test_case.n_channel()) {
    for (std::size_t r = 0; r < test_case.n_row(); ++r) row.push_back(values.data() + r * 4 * test_case.n_channel());
  }

  void evaluate() {
    psv::evaluate_rows(sky, channels, test_case.psv_rows(), jones, 0, test_case.n_row(), workspace,
                       {row.data(), std::ptrdiff_t(test_case.n_channel())});
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
        worst = std::max(worst, double(std::abs(oracle::Number(z.re, z.im) - expected.e[e])));
      }
    }
    return worst / test_case.total_flux();
  }

  double source_visibilities() const {
    return double(sky.n_source) * double(test_case.n_row()) * double(test_case.n_channel());
  }
  double multiply_adds() const { return psv::multiply_adds(sky, channels, test_case.psv_rows(), jones); }

  Case test_case;
  psv::Sky<T> sky;
  psv::Channels channels;
  psv::JonesTerms jones;
  psv::Workspace<T> workspace;
  std::vector<Complex<double>> values;
  std::vector<Complex<double>*> row;
};

template <class T>
double peak() {
  static const MultiplyAddPeak measured = multiply_add_peak();
  return sizeof(T) == 8 ? measured.double_per_second : measured.single_per_second;
}

template <class T>
void measure(benchmark::State& state, const CaseOptions& o) {
  Prepared<T> run(o);
  run.evaluate();
  const double error = run.error();
  if (!(error <= kTolerance<T>)) {
    state.SkipWithError(
        ("wrong answer: off by " + std::to_string(error / kTolerance<T>) + " times the tolerance").c_str());
    return;
  }
  for (auto _ : state) run.evaluate();
  const double n = double(state.iterations());
  state.counters["svis/s"] = benchmark::Counter(n * run.source_visibilities(), benchmark::Counter::kIsRate);
  state.counters["peak"] = benchmark::Counter(n * run.multiply_adds() / peak<T>(), benchmark::Counter::kIsRate);
  state.counters["error"] = error;
  state.counters["bytes"] = double(run.workspace.bytes() + run.values.size() * sizeof(run.values[0]));
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

void add_grid() {
  for (const bool full : {false, true}) {
    CaseOptions base;
    base.n_channel = 64;
    base.polarisation = full ? Polarisation::kFull : Polarisation::kUnpolarised;
    const std::string stokes = full ? "IQUV" : "I";
    const auto add_sources = [&](const std::string& name, CaseOptions o, std::initializer_list<std::size_t> counts) {
      for (const std::size_t n : counts) {
        o.n_source = n;
        add(stokes + "/" + name + "/sources:" + std::to_string(n), o);
      }
    };
    add_sources("plain", base, {1, 10, 100, 1000, 10000});
    CaseOptions o = base;
    o.smearing = true;
    add_sources("smearing", o, {10, 1000, 10000});
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
    o.n_channel = 32768;
    add_sources("32768 channels", o, {10});
    o = base;
    o.jones = JonesKind::kMatrix;
    add_sources("one 2x2 term", o, {100});
    o.jones = JonesKind::kVarying;
    add_sources("two terms that vary in frequency", o, {10});
    o.jones = JonesKind::kAntennas;
    add_sources("one 2x2 term per antenna that varies in frequency", o, {100});
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
