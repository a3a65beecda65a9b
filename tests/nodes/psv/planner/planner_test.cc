// The planner: what it chooses meets the tolerance, is the cheapest, and is explained.
#include "nodes/psv/planner/planner.h"

#include <gtest/gtest.h>

#include <numeric>

#include "nodes/psv/planner/solve.h"
#include "runtime/core/error.h"
#include "runtime/core/values/largest_error.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {
namespace {

using psv::planner::MethodKind;

psv::Channels band(std::size_t n_channel, double total_hz = 8e8) {
  std::vector<double> nu(n_channel), width(n_channel, total_hz / double(n_channel));
  for (std::size_t k = 0; k < n_channel; ++k) nu[k] = 9e8 + width[k] * double(k);
  return psv::analyse_channels(nu.data(), width.data(), n_channel);
}

psv::planner::Outlook outlook(double tolerance) {
  psv::planner::Outlook o;
  o.n_source = 1000;
  o.n_row = 2016;
  o.smearing = true;
  o.tolerance = tolerance;
  return o;
}

TEST(PsvPlanner, TakesTheDelayMethodForManyChannelsAndTheDirectOneForFew) {
  for (const double tolerance : {1e-12, 1e-6, 1e-3})
    EXPECT_EQ(psv::planner::expected_choice(outlook(tolerance), band(32768)).method, MethodKind::kDelay) << tolerance;
  EXPECT_EQ(psv::planner::expected_choice(outlook(1e-12), band(4)).method, MethodKind::kDirectDouble);
  EXPECT_EQ(psv::planner::expected_choice(outlook(1e-6), band(4)).method, MethodKind::kDirectSingle);
  EXPECT_EQ(psv::planner::expected_choice(outlook(9e-7), band(4)).method, MethodKind::kDirectDouble);
}

TEST(PsvPlanner, CostsGrowWithTheProblemAndShrinkWithTheTolerance) {
  const auto seconds = [](std::size_t n_channel, double tolerance, bool spectra) {
    psv::planner::Outlook o = outlook(tolerance);
    o.spectra = spectra;
    return psv::planner::expected_choice(o, band(n_channel)).seconds;
  };
  EXPECT_LT(seconds(1024, 1e-6, false), seconds(16384, 1e-6, false));
  EXPECT_LT(seconds(16384, 1e-6, false), seconds(16384, 1e-12, false));
  EXPECT_LT(seconds(16384, 1e-6, false), seconds(16384, 1e-6, true));
  EXPECT_LT(seconds(16384, 1e-6, true), 16384.0 / 64 * seconds(64, 1e-6, true)) << "no gain from a regular band";
}

TEST(PsvPlanner, SaysWhatStandsInTheWayOfEachMethod) {
  psv::planner::Outlook o = outlook(1e-9);
  o.n_pair = 1;
  const psv::planner::Choice choice = psv::planner::expected_choice(o, band(32768));
  EXPECT_EQ(choice.method, MethodKind::kDirectDouble);
  EXPECT_NE(choice.reason.find("direct in single precision: not exact enough"), std::string::npos) << choice.reason;
  EXPECT_NE(choice.reason.find("Jones terms"), std::string::npos) << choice.reason;
  EXPECT_NE(choice.reason.find("1000 sources, 2016 rows, 32768 channels to 1e-09"), std::string::npos);
  EXPECT_DOUBLE_EQ(choice.source_visibilities, 1000.0 * 2016 * 32768);
  EXPECT_GT(choice.seconds, 0);
}

TEST(PsvPlanner, UnpolarisedSkiesTakeAQuarterOfTheSums) {
  psv::planner::Outlook o = outlook(1e-12);
  o.smearing = false;
  const double polarised = psv::planner::expected_choice(o, band(48)).seconds;
  o.unpolarised = true;
  EXPECT_LT(psv::planner::expected_choice(o, band(48)).seconds, 0.5 * polarised);
}

TEST(PsvPlanner, RefusesTolerancesThatNothingMeets) {
  for (const double tolerance : {0.0, 1e-13, -1.0, std::nan("")})
    EXPECT_THROW(psv::planner::expected_choice(outlook(tolerance), band(64)), Error);
}

TEST(PsvPlanner, TakesSkiesWithoutSourcesOrChannels) {
  psv::planner::Outlook o = outlook(1e-6);
  o.n_source = 0;
  EXPECT_GE(psv::planner::expected_choice(o, band(64)).seconds, 0);
  o.n_source = 3;
  EXPECT_GE(psv::planner::expected_choice(o, band(1)).seconds, 0);
  o.spectra = true;
  EXPECT_GE(psv::planner::expected_choice(o, band(1)).seconds, 0);
}

// A sky that varies in time is planned at each time: that must not take longer than the sum itself.
TEST(PsvPlanner, LooksForSeriesNoLongerThanSumsTake) {
  CaseOptions o;
  o.n_source = o.n_time = o.n_baseline = 1;
  o.n_channel = 384;
  o.spectra = true;
  const auto reason = [&o] {
    const Case c(o);
    const psv::SkyInput input = c.sky_input();
    const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), o.n_channel);
    ThreadPool one(1);
    return psv::planner::choose_method({psv::pack_sky<double>(input), channels, c.psv_rows(), psv::JonesTerms()}, 1e-6,
                                       one)
        .reason;
  };
  EXPECT_NE(reason().find("the spectra need too many terms for so little to sum up"), std::string::npos) << reason();
  o.n_baseline = 5000;
  EXPECT_NE(reason().find("the spectra need too many terms"), std::string::npos) << reason();
  EXPECT_EQ(reason().find("terms for so little"), std::string::npos) << reason();
}

/// As a model image has.
CaseOptions many_points() {
  CaseOptions o;
  o.phase_rad = 30;
  o.n_source = 20000;
  o.n_baseline = 100, o.n_time = 30;
  return o;
}

TEST(PsvPlanner, TakesTheUvGridForManyPoints) {
  const Case c(many_points());
  const psv::SkyInput input = c.sky_input();
  const auto sky = psv::pack_sky<double>(input);
  const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
  const psv::Rows rows = c.psv_rows();
  const psv::JonesTerms jones;
  ThreadPool threads(2);
  Cancellation none;
  psv::planner::Choice choice = psv::planner::choose_method({sky, channels, rows, jones}, 1e-6, threads);
  EXPECT_EQ(choice.method, MethodKind::kUvGrid) << choice.reason;
  EXPECT_NE(choice.reason.find("to 1e-06 of the total flux: uv grid (error below"), std::string::npos) << choice.reason;
  EXPECT_NE(choice.reason.find("direct in single precision: about"), std::string::npos) << choice.reason;
  std::vector<std::vector<Complex<double>>> results;
  for (int i = 0; i < 2; ++i) {
    std::vector<Complex<double>> out(c.n_row() * 4 * c.n_channel());
    std::vector<Complex<double>*> row;
    for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(out.data() + r * 4 * c.n_channel());
    const psv::Output output{row.data(), std::ptrdiff_t(c.n_channel())};
    psv::planner::solve_rows({{sky, channels, rows, jones}, input, output}, choice, threads, none);
    results.push_back(std::move(out));
    choice.method = MethodKind::kDirectDouble;
  }
  double worst = 0;
  for (std::size_t i = 0; i < results[0].size(); ++i) keep_larger(worst, abs(results[0][i] - results[1][i]));
  EXPECT_LE(worst, 1e-6 * c.total_flux());
  EXPECT_GT(worst, 0) << "the same way twice";
}

TEST(PsvPlanner, ExpectsTheUvGridForManyPoints) {
  psv::planner::Outlook o = outlook(1e-6);
  o.n_source = 1000000;
  const psv::planner::Choice many = psv::planner::expected_choice(o, band(64));
  EXPECT_EQ(many.method, MethodKind::kUvGrid) << many.reason;
  o.n_source = 100;
  const psv::planner::Choice few = psv::planner::expected_choice(o, band(64));
  EXPECT_NE(few.method, MethodKind::kUvGrid) << few.reason;
  EXPECT_LT(many.seconds, 1000 * few.seconds) << many.reason << few.reason;
  o.n_pair = 1;
  EXPECT_NE(psv::planner::expected_choice(o, band(64)).reason.find("uv grid: not possible, there are Jones terms"),
            std::string::npos);
}

TEST(PsvPlanner, SaysWhatTheUvGridWouldTake) {
  const auto reason = [](CaseOptions o) {
    o.n_source = 1000;
    const Case c(o);
    const psv::SkyInput input = c.sky_input();
    const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), o.n_channel);
    ThreadPool one(1);
    const psv::JonesTerms terms{c.n_pair, c.jones_pairs.data(), false};
    return psv::planner::choose_method({psv::pack_sky<double>(input), channels, c.psv_rows(), terms}, 1e-6, one).reason;
  };
  CaseOptions many = many_points(), shaped = many, with_terms = many;
  shaped.gaussians = true;
  with_terms.jones = JonesKind::kScalar;
  // Whether it is taken is for the machine's speed to say.
  for (const std::string& said : {reason(many), reason(shaped)}) {
    EXPECT_NE(said.find("uv grid"), std::string::npos) << said;
    EXPECT_EQ(said.find("uv grid: not possible"), std::string::npos) << said;
  }
  EXPECT_NE(reason(with_terms).find("uv grid: not possible, there are Jones terms"), std::string::npos);
}

// What was chosen, on all threads, against extended precision, and the same bits with one thread.
TEST(PsvPlanner, WhatIsChosenMeetsTheTolerance) {
  int delayed = 0;
  for (const std::size_t n_channel : {16, 700, 2048})
    for (const double tolerance : {1e-3, 1e-6, 1e-7, 1e-12})
      for (const Grid grid : {Grid::kRegular, Grid::kIrregular}) {
        CaseOptions o;
        o.n_channel = n_channel;
        o.grid = grid;
        o.smearing = true;
        o.polarisation = Polarisation::kFull;
        o.exposure_s = 0.2;
        o.n_source = 200;
        o.n_baseline = o.n_time = 2;
        const Case c(o);
        const psv::SkyInput input = c.sky_input();
        const auto sky = psv::pack_sky<double>(input);
        const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), n_channel);
        const psv::Rows rows = c.psv_rows();
        const psv::JonesTerms jones;
        ThreadPool one(1);
        const psv::planner::Choice choice = psv::planner::choose_method({sky, channels, rows, jones}, tolerance, one);
        EXPECT_LE(choice.bound, tolerance);
        delayed += choice.method == MethodKind::kDelay;
        std::vector<std::vector<Complex<double>>> results;
        for (const int n_thread : {1, 3}) {
          std::vector<Complex<double>> out(c.n_row() * 4 * n_channel);
          std::vector<Complex<double>*> row;
          for (std::size_t r = 0; r < c.n_row(); ++r) row.push_back(out.data() + r * 4 * n_channel);
          const psv::Output output{row.data(), std::ptrdiff_t(n_channel)};
          ThreadPool threads(n_thread);
          Cancellation none;
          psv::planner::solve_rows({{sky, channels, rows, jones}, input, output}, choice, threads, none);
          results.push_back(std::move(out));
        }
        EXPECT_LE(largest_error(results[0], c.expected(), c.total_flux()), tolerance) << choice.reason;
        for (std::size_t i = 0; i < results[0].size(); ++i) ASSERT_EQ(results[0][i], results[1][i]);
      }
  EXPECT_GT(delayed, 0);
}

}  // namespace
}  // namespace rimetree::testing
