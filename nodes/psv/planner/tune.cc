// Times the variants of the kernels for devices on a typical problem, all baselines of an array and point sources, and
// stores the fastest (tuning.h). Sources are so many that copies are hidden behind arithmetic, as in a run.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <random>

#include "nodes/psv/planner/device_planner.h"
#include "nodes/psv/planner/device_solve.h"
#include "runtime/core/error.h"
#include "runtime/device/device_tuner.h"
#include "runtime/device/tuning_file.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::planner {
namespace {

struct Size {
  std::size_t n_antenna, n_time, n_source, n_channel;
};
constexpr Size kOnGpu{64, 8, 4096, 64};
/// Emulated devices are slow, and only need to show that it works.
constexpr Size kEmulated{5, 2, 8, 9};

/// A sky, polarised or not, over an array, at random but always the same.
class Scene {
 public:
  Scene(const Size& size, bool polarised) : size_(size) {
    std::mt19937_64 engine(1);
    const auto random = [&engine] { return 2.0 * (double(engine() >> 11) / 9007199254740992.0) - 1.0; };
    std::vector<Complex<double>> brightness(4 * size.n_source);
    for (std::size_t s = 0; s < size.n_source; ++s) {
      l_.push_back(0.01 * random()), m_.push_back(0.01 * random());
      n_.push_back(std::sqrt(1 - l_[s] * l_[s] - m_[s] * m_[s]));
      const double i = 2 + random(), q = polarised ? random() : 0, u = polarised ? random() : 0,
                   v = polarised ? random() : 0;
      const Complex<double> b[4] = {i + q, {u, v}, {u, -v}, i - q};
      for (std::size_t e = 0; e < 4; ++e) brightness[e * size.n_source + s] = b[e];
    }
    SkyInput input;
    input.n_source = static_cast<std::ptrdiff_t>(size.n_source);
    input.l = {l_.data(), 1, 0, 0}, input.m = {m_.data(), 1, 0, 0}, input.n = {n_.data(), 1, 0, 0};
    for (std::size_t e = 0; e < 4; ++e) input.brightness[e] = {brightness.data() + e * size.n_source, 1, 0, 0};
    sky_ = pack_sky<double>(input);
    version_ = version_of(sky_);
    std::vector<double> frequency_hz;
    for (std::size_t f = 0; f < size.n_channel; ++f) frequency_hz.push_back(1.4e9 + 1e5 * double(f));
    channels_ = analyse_channels(frequency_hz.data(), nullptr, frequency_hz.size());
    make_rows(random);
  }
  Scene(const Scene&) = delete;
  Scene& operator=(const Scene&) = delete;

  double source_visibilities() const { return double(size_.n_source) * double(u_.size()) * double(size_.n_channel); }
  /// What is wrong has no speed: visibilities must be those that the first variant gave.
  void check(bool single, const std::string& variant) {
    if (expected_.empty()) expected_ = visibilities_;
    const double limit = (single ? 2e-6 : 2e-12) * sky_.total_flux;
    for (std::size_t i = 0; i < expected_.size(); ++i)
      if (!(abs(visibilities_[i] - expected_[i]) <= limit))
        throw Error("variant \"" + variant + "\" gives wrong visibilities");
  }
  Summed summed() const { return {sky_, channels_, rows_, jones_, 0, version_, ends_}; }
  const Output& output() const { return output_; }

 private:
  template <class F>
  void make_rows(F&& random) {
    // Places in whole micrometres or so, and no rounding errors in their differences.
    std::vector<double> place(3 * size_.n_antenna * size_.n_time);
    for (double& x : place) x = std::ldexp(std::nearbyint(std::ldexp(1000 * random(), 20)), -20);
    for (std::size_t p = 0; p < size_.n_antenna; ++p)
      for (std::size_t q = p + 1; q < size_.n_antenna; ++q) {
        for (std::size_t t = 0; t < size_.n_time; ++t) {
          const double *a = &place[3 * (t * size_.n_antenna + p)], *b = &place[3 * (t * size_.n_antenna + q)];
          u_.push_back(a[0] - b[0]), v_.push_back(a[1] - b[1]), w_.push_back(a[2] - b[2]);
          baseline_.push_back(static_cast<std::int32_t>(ends_.p.size()));
          time_.push_back(static_cast<std::int32_t>(t));
        }
        ends_.p.push_back(static_cast<std::int64_t>(p));
        ends_.q.push_back(static_cast<std::int64_t>(q));
      }
    visibilities_.resize(4 * size_.n_channel * u_.size());
    for (std::size_t r = 0; r < u_.size(); ++r) target_.push_back(visibilities_.data() + 4 * size_.n_channel * r);
    rows_.n_row = u_.size();
    rows_.u = u_.data(), rows_.v = v_.data(), rows_.w = w_.data();
    rows_.baseline = baseline_.data(), rows_.time = time_.data();
    output_ = {target_.data(), static_cast<std::ptrdiff_t>(size_.n_channel)};
  }

  Size size_;
  std::vector<double> l_, m_, n_, u_, v_, w_;
  std::vector<std::int32_t> baseline_, time_;
  std::vector<Complex<double>> visibilities_, expected_;
  std::vector<Complex<double>*> target_;
  Sky<double> sky_;
  SkyVersion version_;
  Channels channels_;
  JonesTerms jones_;
  BaselineEnds ends_;
  Rows rows_;
  Output output_;
};

/// Times the variants of a device.
class Tuner {
 public:
  Tuner(DeviceContexts& devices, double seconds, Cancellation& cancellation)
      : devices_(devices),
        seconds_(seconds),
        cancellation_(cancellation),
        rates_(rates_of(devices.front()->device())),
        plain_(size(), false),
        polarised_(size(), true) {}

  TuningReport go() {
    TuningReport report;
    report.device = devices_.front()->device().name();
    for (const bool single : {false, true}) {
      tune_direct(single, report);
      tune_matrix(single, report);
    }
    store_tuning(report.device, tuning_);
    report.path = tuning_path();
    return report;
  }

 private:
  struct Candidate {
    MethodWish wish;
    std::string text;
  };
  const Size& size() const { return devices_.front()->device().is_emulated() ? kEmulated : kOnGpu; }

  /// Seconds for one group of time slots, the shortest of as many as fit into the time.
  double time(const Scene& scene, double tolerance, const MethodWish& wish) {
    using Clock = std::chrono::steady_clock;
    const Summed of = scene.summed();
    double best = 0, all = 0;
    for (int i = 0; i < 2 || (i < 10 && all < seconds_); ++i) {
      const auto start = Clock::now();
      solve_on_devices(of, scene.output(), tolerance, {devices_, threads_, cancellation_}, wish);
      const double seconds = std::chrono::duration<double>(Clock::now() - start).count();
      if (i == 0) continue;  // brings the sky to the device, and the kernel into its memory
      all += seconds;
      best = best == 0 ? seconds : std::min(best, seconds);
    }
    return best;
  }
  /// Stokes I and all Stokes parameters: geometric means of both.
  TunedVariant measure(bool single, const Candidate& one) {
    TunedVariant line;
    double seconds = 1, of_model = 1;
    const double tolerance = single ? kSingleBound : kSmallestTolerance;
    for (Scene* scene : {&plain_, &polarised_}) {
      const Summed of = scene->summed();
      DeviceWork work;
      work.n_source = double(of.sky.n_source), work.n_row = double(of.rows.n_row);
      work.n_channel = double(of.n_channel());
      work.n_plane = static_cast<int>(of.sky.planes.size());
      work.single = single;
      if (one.wish.phasors == PhasorsOf::kAntennas) work.rows_per_antenna = double(size().n_antenna - 1) / 2;
      const double taken = time(*scene, tolerance, one.wish);
      scene->check(single, one.text);
      seconds *= taken;
      of_model *= (one.wish.kind == MethodWish::Kind::kDirect
                       ? direct_seconds(work, rates_)
                       : matrix_seconds(work, matrix_plan(of, {}, tolerance, threads_), one.wish.variant, rates_)) /
                  taken;
    }
    line.seconds = std::sqrt(seconds);
    line.of_model = std::sqrt(of_model);
    line.rate = plain_.source_visibilities() / line.seconds;
    return line;
  }

  /// Measures candidates; calls keep(candidate, line) for the fastest. One that the device has too little shared memory
  /// for is reported without a rate; if it is so with all of them, the last reason is thrown.
  template <class F>
  void tune(const std::string& kernel, bool single, const std::vector<Candidate>& candidates, TuningReport& report,
            F&& keep) {
    const std::size_t first = report.variants.size();
    const Candidate* fastest = nullptr;
    std::size_t best = first;
    for (const Candidate& one : candidates) {
      TunedVariant line;
      try {
        line = measure(single, one);
      } catch (const Error&) {
        throw;
      } catch (const std::runtime_error&) {
        if (&one == &candidates.back() && fastest == nullptr) throw;
      }
      line.kernel = kernel + (single ? " single" : " double");
      line.variant = one.text;
      report.variants.push_back(line);
      if (line.seconds == 0 || (fastest != nullptr && report.variants[best].seconds <= line.seconds)) continue;
      best = report.variants.size() - 1;
      fastest = &one;
    }
    if (fastest == nullptr) return;
    report.variants[best].is_best = true;
    keep(*fastest, report.variants[best]);
  }

  void tune_direct(bool single, TuningReport& report) {
    std::vector<Candidate> candidates;
    for (const PhasorsOf phasors : {PhasorsOf::kAntennas, PhasorsOf::kRows})
      candidates.push_back({{MethodWish::Kind::kDirect, {}, phasors},
                            phasors == PhasorsOf::kAntennas ? "phasors of antennas" : "phasors of rows"});
    tune("direct", single, candidates, report, [&](const Candidate& one, const TunedVariant& line) {
      tuning_.direct[single] = {*one.wish.phasors, line.of_model, true};
    });
  }
  void tune_matrix(bool single, TuningReport& report) {
    std::vector<Candidate> candidates;
    for (const MatrixVariant& variant : kMatrixVariants) {
      const bool tensor = variant.unit == MatrixUnitKind::kTensor;
      if (tensor && (single ? rates_.tf32_tensor : rates_.double_tensor) == 0) continue;
      candidates.push_back({{MethodWish::Kind::kMatrix, variant},
                            std::string(tensor ? "tensor" : "plain") + ", tile " + std::to_string(variant.tile) + ", " +
                                std::to_string(variant.warps) + " warps"});
    }
    tune("matrix", single, candidates, report, [&](const Candidate& one, const TunedVariant& line) {
      tuning_.matrix[single] = {one.wish.variant, line.of_model, true};
    });
  }

  DeviceContexts& devices_;
  double seconds_;
  Cancellation& cancellation_;
  DeviceRates rates_;
  Scene plain_, polarised_;
  ThreadPool threads_;
  DeviceTuning tuning_;
};

[[maybe_unused]] const bool registered = [] {
  set_device_tuner([](DeviceContexts& devices, double seconds, Cancellation& cancellation) {
    return Tuner(devices, seconds, cancellation).go();
  });
  return true;
}();

}  // namespace
}  // namespace rimetree::psv::planner
