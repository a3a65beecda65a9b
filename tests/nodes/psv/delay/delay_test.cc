// The delay method against an extended-precision direct sum, at tolerances from 1e-3 to 1e-12.
#include "nodes/psv/delay/delay.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "runtime/core/values/largest_error.h"
#include "runtime/math/conventions.h"
#include "tests/support/instruction_sets.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

/// A case, its plan and the rows it gives.
struct Delayed {
  Delayed(const CaseOptions& options, double tolerance) : Delayed(options, tolerance, Case(options)) {}
  Delayed(const CaseOptions& options, double tolerance, Case scene) : c(std::move(scene)) {
    sky = psv::pack_sky<double>(c.sky_input());
    channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
    rows = c.psv_rows();
    jones = {c.n_pair, c.jones_pairs.data(), options.jones == JonesKind::kVarying};
    plan = psv::delay::plan_delay({sky, channels, rows, jones}, tolerance);
  }

  std::vector<Complex<double>> evaluate(std::vector<std::size_t> cuts = {}) {
    cuts.push_back(c.n_row());
    psv::delay::finish_delay_plan(plan);
    return evaluate_parts(cuts);
  }

  std::vector<Complex<double>> evaluate_first(std::size_t n_row) { return evaluate_parts({n_row}); }

  Case c;
  psv::Sky<double> sky;
  psv::Channels channels;
  psv::Rows rows;
  psv::JonesTerms jones;
  psv::delay::DelayPlan plan;

 private:
  /// Rows up to the last cut, a call for each part.
  std::vector<Complex<double>> evaluate_parts(const std::vector<std::size_t>& cuts) {
    std::vector<Complex<double>> out(cuts.back() * 4 * c.n_channel(), {-12345, -12345});
    std::vector<Complex<double>*> row;
    for (std::size_t r = 0; r < cuts.back(); ++r) row.push_back(out.data() + r * 4 * c.n_channel());
    std::size_t begin = 0;
    for (const std::size_t end : cuts) {
      const psv::delay::DelayWorkspace workspace(plan);
      psv::delay::evaluate_delay_rows(plan, rows, begin, end, workspace, {row.data(), std::ptrdiff_t(c.n_channel())});
      begin = end;
    }
    return out;
  }
};

/// Largest error over some channels of all rows, relative to the total flux.
double worst_error(const Case& c, const std::vector<Complex<double>>& got) {
  std::vector<std::size_t> some{0, 1, 2, c.n_channel() / 2, c.n_channel() - 2, c.n_channel() - 1};
  for (std::size_t f = 7; f < c.n_channel(); f += 1 + c.n_channel() / 61) some.push_back(f);
  double worst = 0;
  for (std::size_t r = 0; r < c.n_row(); ++r)
    for (const std::size_t f : some) {
      oracle::Channel channel = c.channels[f];
      if (!c.options.smearing) channel.width = 0;
      const oracle::Matrix v = oracle::visibility(c.sources, c.rows[r], channel, f, {}, {});
      for (std::size_t e = 0; e < 4; ++e) {
        const Complex<double> z = got[(r * 4 + e) * c.n_channel() + f];
        const double error = static_cast<double>(std::abs(oracle::Number(z.re, z.im) - v.e[e]));
        keep_larger(worst, error);
      }
    }
  return worst / c.total_flux();
}

void check_delay(const CaseOptions& o, double tolerance) {
  SCOPED_TRACE(::testing::Message() << "tolerance " << tolerance << " channels " << o.n_channel << " phase "
                                    << o.phase_rad << " spacing " << o.spacing_hz << " grid " << int(o.grid)
                                    << " polarisation " << int(o.polarisation) << " smearing " << o.smearing
                                    << " gaussians " << o.gaussians << " disks " << o.disks << " spectra "
                                    << o.spectra);
  Delayed delayed(o, tolerance);
  ASSERT_EQ(delayed.plan.obstacle, "");
  EXPECT_LE(delayed.plan.bound, tolerance);
  EXPECT_LE(worst_error(delayed.c, delayed.evaluate()), tolerance);
}

constexpr double kTolerances[] = {1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12};

CaseOptions many_channels(std::size_t n_channel) {
  CaseOptions o;
  o.n_channel = n_channel;
  // 800 MHz, as a wide-band receiver has.
  o.spacing_hz = 25000.0 * double(32768 / n_channel > 0 ? 32768 / n_channel : 1);
  o.n_source = 12;
  o.n_baseline = 3;
  o.n_time = 2;
  return o;
}

TEST(Delay, MeetsEveryToleranceAtEveryNumberOfChannels) {
  for (const std::size_t n_channel : {1024, 1000, 4096, 4099, 32768, 30011})
    for (const double tolerance : kTolerances) {
      CaseOptions o = many_channels(n_channel);
      o.polarisation = Polarisation::kFull;
      check_delay(o, tolerance);
    }
}

TEST(Delay, HoldsFromNoDelayToManyTurnsPerChannel) {
  // Phases in radians at the band's centre; the last ones pass Nyquist's delay many times.
  for (const double phase : {0.0, 1e1, 1e3, 3e4, 1e5, 3e5, 1e6})
    for (const double tolerance : {1e-3, 1e-6, 1e-12}) {
      CaseOptions o = many_channels(4096);
      o.phase_rad = phase + 1e-9;
      check_delay(o, tolerance);
      o.n_source = 1;  // nothing averages its error away
      check_delay(o, tolerance);
    }
}

TEST(Delay, TakesEveryPolarisationAndDirectionOfTheBand) {
  for (const Polarisation polarisation :
       {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull, Polarisation::kGeneral})
    for (const Grid grid : {Grid::kRegular, Grid::kDescending, Grid::kWide}) {
      CaseOptions o = many_channels(1500);
      o.polarisation = polarisation;
      o.grid = grid;
      if (grid == Grid::kDescending) o.spacing_hz = 2e5;
      check_delay(o, 1e-8);
    }
}

TEST(Delay, SmearsOverTimeAndBandwidth) {
  for (const double exposure : {1e-2, 1.0, 10.0})
    for (const double phase : {1e3, 1e5, 1e6})
      for (const double tolerance : kTolerances) {
        CaseOptions o = many_channels(2048);
        o.smearing = true;
        o.exposure_s = exposure;
        o.phase_rad = phase;
        const double half_change = phase * 7.3e-5 * exposure;
        if (half_change < 1) check_delay(o, tolerance);
        if (half_change > 60) {
          EXPECT_NE(Delayed(o, tolerance).plan.obstacle, "");
        }
      }
}

TEST(Delay, SamplesForTheLongestDelayOfAnExposure) {
  // In the middle of the exposure the delay is as long as each number of samples can take; at its ends it is longer.
  for (const std::size_t step : {2, 4, 8, 16}) {
    CaseOptions o;
    o.n_channel = 128, o.n_source = o.n_baseline = o.n_time = 1;
    o.smearing = true;
    Case c(o);
    for (std::size_t f = 0; f < o.n_channel; ++f) {
      c.frequency[f] = 2e7 + 1e6 * double(f), c.width[f] = 1e3;
      c.channels[f] = {c.frequency[f], c.width[f]};
    }
    c.l[0] = 0.5, c.m[0] = 0.1, c.n[0] = 1;
    c.sources[0].l = c.l[0], c.sources[0].m = c.m[0], c.sources[0].n = c.n[0];
    const double path = 0.999 * psv::delay::kLargestKappa / double(step) * kSpeedOfLight_m_s / 1e6;
    const double uvw[3] = {path / c.l[0], 0, 0};
    for (int k = 0; k < 3; ++k) c.uvw[k][0] = uvw[k], c.duvw[k][0] = 0.3 * uvw[k];
    c.exposure[0] = 1;
    c.rows[0] = {uvw[0], uvw[1], uvw[2], c.duvw[0][0], c.duvw[1][0], c.duvw[2][0], 1};
    Delayed delayed(o, 1e-12, c);
    ASSERT_EQ(delayed.plan.obstacle, "") << step;
    EXPECT_LE(worst_error(delayed.c, delayed.evaluate()), 1e-12) << step;
  }
}

TEST(Delay, SeriesFollowSpectraAndGaussians) {
  for (int bits = 1; bits < 8; ++bits)
    for (const double tolerance : {1e-3, 1e-6, 1e-9}) {
      CaseOptions o = many_channels(1024);
      o.spectra = o.smooth = bits & 1;
      o.gaussians = bits & 2;
      o.disks = bits == 2 || bits == 7;
      o.smearing = bits & 4;
      o.polarisation = bits & 4 ? Polarisation::kGeneral : Polarisation::kFull;
      o.exposure_s = 0.5;
      o.n_source = 9;
      check_delay(o, tolerance);
    }
}

TEST(Delay, TapersOfDisksMeetEveryTolerance) {
  // Not exponential, with a pole at x = -1: series are as long as `log_bound` of the profile asks for.
  for (const double tolerance : kTolerances)
    for (const bool smearing : {false, true}) {
      CaseOptions o = many_channels(1024);
      o.disks = true;
      o.smearing = smearing;
      o.exposure_s = 0.5;
      check_delay(o, tolerance);
      o.gaussians = true;  // with a profile of another length of series beside it
      check_delay(o, tolerance);
    }
}

TEST(Delay, TakesAnyNumberOfSources) {
  for (const std::size_t n_source : {1, 63, 64, 65, 130}) {
    CaseOptions o = many_channels(512);
    o.n_source = n_source;
    o.gaussians = n_source % 2 == 1;
    o.n_baseline = o.n_time = 1;
    check_delay(o, 1e-9);
  }
}

TEST(Delay, GivesTheSameBitsHoweverRowsAreShared) {
  CaseOptions o = many_channels(1024);
  o.smearing = o.gaussians = true;
  o.n_baseline = 4;
  o.n_time = 3;
  Delayed delayed(o, 1e-6);
  const auto whole = delayed.evaluate();
  for (const std::vector<std::size_t>& cuts : {std::vector<std::size_t>{1}, {0, 5, 6}, {3, 4, 11}}) {
    const auto parts = delayed.evaluate(cuts);
    EXPECT_EQ(std::memcmp(whole.data(), parts.data(), whole.size() * sizeof(whole[0])), 0);
  }
}

TEST(Delay, GivesTheSameBitsWhereResultsAreTooManyForCaches) {
  CaseOptions o = many_channels(30011);  // an odd number: rows and planes begin at every alignment
  o.n_time = 4;
  o.polarisation = Polarisation::kFull;
  Delayed delayed(o, 1e-6);
  const std::vector<Complex<double>> all = delayed.evaluate();
  ASSERT_GT(all.size() * sizeof(Complex<double>), std::size_t{16} << 20);
  constexpr std::size_t kFew = 3;
  delayed.plan.rows.resize(kFew);
  const std::vector<Complex<double>> few = delayed.evaluate_first(kFew);
  EXPECT_EQ(std::memcmp(all.data(), few.data(), few.size() * sizeof few[0]), 0);
}

TEST(Delay, SaysWhatStandsInItsWay) {
  const auto obstacle = [](const CaseOptions& o, double tolerance = 1e-6) {
    return Delayed(o, tolerance).plan.obstacle;
  };
  CaseOptions o = many_channels(1024);
  EXPECT_EQ(obstacle(o), "");
  EXPECT_NE(obstacle(o, 1e-14).find("tolerance"), std::string::npos);
  o.grid = Grid::kIrregular;
  EXPECT_NE(obstacle(o).find("regularly"), std::string::npos);
  o.grid = Grid::kGapped;
  EXPECT_NE(obstacle(o).find("regularly"), std::string::npos);
  o.grid = Grid::kRounded;
  o.phase_rad = 1e6;
  EXPECT_EQ(obstacle(o, 1e-6), "");
  EXPECT_NE(obstacle(o, 1e-12).find("rounded"), std::string::npos);
  o = many_channels(1024);
  Case wide(o);
  wide.width[5] *= 2;
  EXPECT_NE(Delayed(o, 1e-6, wide).plan.obstacle.find("one width"), std::string::npos);
  for (const std::size_t channel : {0, 5}) {
    Case none(o);
    none.width[channel] = std::nan("");
    EXPECT_NE(Delayed(o, 1e-6, none).plan.obstacle.find("one width"), std::string::npos) << channel;
  }
  o.spectra = true;
  EXPECT_NE(obstacle(o).find("spectra"), std::string::npos);
  o.spectra = false;
  o.jones = JonesKind::kMatrix;
  EXPECT_NE(obstacle(o).find("Jones"), std::string::npos);
}

TEST(Delay, ADirectionThatIsNoNumberReachesTheResultAndNothingElse) {
  CaseOptions o = many_channels(1024);
  Delayed delayed(o, 1e-6);
  delayed.plan.sky.l[3] = std::nan("");
  const std::vector<Complex<double>> got = delayed.evaluate();
  for (std::size_t r = 0; r < delayed.c.n_row(); ++r)
    for (std::size_t f = 0; f < o.n_channel; ++f) {
      const auto at = [&](std::size_t element) { return got[(r * 4 + element) * o.n_channel + f]; };
      EXPECT_TRUE(std::isnan(at(0).re) && std::isnan(at(3).re)) << r << ' ' << f;
      EXPECT_EQ(at(1), Complex<double>()) << "nobody is polarised";
    }
}

TEST(Delay, SpectraWithoutANumberInOneChannelAreNoSeries) {
  // In a channel between those that the series goes through, and in the first one, which it goes through.
  for (const std::size_t channel : {0, 511}) {
    CaseOptions o = many_channels(1024);
    o.spectra = o.smooth = true;
    Delayed delayed(o, 1e-6);
    ASSERT_EQ(delayed.plan.obstacle, "");
    delayed.c.brightness[channel].re = std::nan("");
    delayed.sky = psv::pack_sky<double>(delayed.c.sky_input());
    const psv::delay::DelayPlan plan =
        psv::delay::plan_delay({delayed.sky, delayed.channels, delayed.rows, delayed.jones}, 1e-6);
    EXPECT_NE(plan.obstacle.find("spectra"), std::string::npos) << channel;
  }
}

TEST(Delay, TapersFeelFrequenciesThatMissTheRegularGrid) {
  // A source in the phase centre: its phase has no part in the error.
  CaseOptions o = many_channels(1024);
  o.n_source = 1;
  o.gaussians = true;
  o.phase_rad = 1e-9;
  Case c(o);
  for (std::size_t f = 1; f + 1 < c.n_channel(); f += 2) {
    c.frequency[f] += 3e-4 * o.spacing_hz;
    c.channels[f].frequency = c.frequency[f];
  }
  for (const double tolerance : kTolerances) {
    Delayed delayed(o, tolerance, c);
    if (delayed.plan.obstacle.empty()) {
      EXPECT_LE(worst_error(delayed.c, delayed.evaluate()), tolerance) << tolerance;
    } else {
      EXPECT_LE(tolerance, 1e-8) << delayed.plan.obstacle;
    }
  }
}

TEST(Delay, IsAsAccurateOnEveryInstructionSet) {
  for_each_instruction_set([] {
    CaseOptions o = many_channels(1024);
    o.smearing = o.gaussians = o.disks = true;
    o.polarisation = Polarisation::kFull;
    o.exposure_s = 0.3;
    check_delay(o, 1e-12);
  });
}

}  // namespace
}  // namespace rimetree::testing
