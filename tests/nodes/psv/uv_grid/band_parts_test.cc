// Spectra that have no series over the whole band: the uv grid takes parts of it.
#include <gtest/gtest.h>

#include <cmath>

#include "nodes/psv/fourier/spectra.h"
#include "tests/support/gridded_case.h"

namespace rimetree::testing {
namespace {

/// Power laws times lines that change their slope at these channels, differently for each source.
Case with_kinks(const CaseOptions& options, const std::vector<double>& kinks) {
  CaseOptions o = options;
  o.spectra = o.smooth = true;
  Case c(o);
  for (std::size_t s = 0; s < o.n_source; ++s)
    for (std::size_t f = 0; f < o.n_channel; ++f) {
      double factor = 1;
      for (std::size_t k = 0; k < kinks.size(); ++k)
        factor +=
            0.3 * std::sin(1.0 + 3 * double(s) + double(k)) * std::abs(double(f) - kinks[k]) / double(o.n_channel);
      for (std::size_t e = 0; e < 4; ++e) {
        c.sources[s].brightness[f].e[e] *= static_cast<long double>(factor);
        const oracle::Number value = c.sources[s].brightness[f].e[e];
        c.brightness[(e * o.n_source + s) * o.n_channel + f] = {double(value.real()), double(value.imag())};
      }
    }
  return c;
}

std::vector<std::size_t> begins(const psv::uv_grid::UvGridPlan& plan) {
  std::vector<std::size_t> all;
  for (const psv::uv_grid::PartOfBand& part : plan.parts) all.push_back(part.begin);
  return all;
}

TEST(BandParts, TheBandIsDividedWhereSpectraHaveKinks) {
  CaseOptions o = wide_field();
  o.n_channel = 96;
  EXPECT_TRUE(Gridded(with_kinks(o, {}), 1e-9).plan.parts.empty());
  EXPECT_EQ(begins(Gridded(with_kinks(o, {40.3}), 1e-9).plan), (std::vector<std::size_t>{0, 41}));
  EXPECT_EQ(begins(Gridded(with_kinks(o, {20.5, 70.9}), 1e-9).plan), (std::vector<std::size_t>{0, 21, 71}));
  o.n_source = 1500;  // of which some are looked at
  EXPECT_EQ(begins(Gridded(with_kinks(o, {40.3}), 1e-9).plan), (std::vector<std::size_t>{0, 41}));
}

TEST(BandParts, MeetEveryTolerance) {
  for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kFull, Polarisation::kGeneral})
    for (const double tolerance : {1e-3, 1e-6, 1e-9, 1e-12}) {
      CaseOptions o = wide_field();
      o.polarisation = polarisation;
      o.n_channel = 64;
      check_on_grid(with_kinks(o, {20.5, 40}), tolerance);
    }
}

TEST(BandParts, TakeChannelsInAnyOrderAndSmearing) {
  for (const Grid grid : {Grid::kDescending, Grid::kGapped, Grid::kIrregular}) {
    CaseOptions o = wide_field();
    o.grid = grid;
    o.n_channel = 50;
    o.smearing = true;
    check_on_grid(with_kinks(o, {11.5, 12.5, 40.1}), 1e-9);
  }
}

TEST(BandParts, SourcesWithAShapeAreAddedDirectly) {
  CaseOptions o = wide_field();
  o.n_channel = 40;
  o.gaussians = true;
  check_on_grid(with_kinks(o, {17.5}), 1e-9);
}

TEST(BandParts, TakeSpectraAtRandom) {
  for (const std::size_t n_channel : {1, 2, 3, 5, 6, 7, 20}) {
    CaseOptions o = wide_field();
    o.n_channel = n_channel;
    o.spectra = true;
    check_on_grid(Case(o), 1e-9);
  }
}

TEST(BandParts, OfALineAreThoseWhereThereIsFlux) {
  for (const double tolerance : {1e-3, 1e-9}) {
    CaseOptions o = wide_field();
    o.n_channel = 60;
    Case c = with_kinks(o, {});
    for (std::size_t s = 0; s < o.n_source; ++s)
      for (std::size_t f = 0; f < o.n_channel; ++f) {
        const double line = f >= 20 && f < 33 ? 1 + std::cos((double(f) - 26) / 7) : f < 50 ? 0 : 1e-20;
        for (std::size_t e = 0; e < 4; ++e) {
          Complex<double>& b = c.brightness[(e * o.n_source + s) * o.n_channel + f];
          b = Complex<double>(line) * b;
          c.sources[s].brightness[f].e[e] = {b.re, b.im};
        }
      }
    check_on_grid(c, tolerance);
    const std::vector<std::size_t> parts = begins(Gridded(c, tolerance).plan);
    ASSERT_FALSE(parts.empty());
    EXPECT_EQ(parts.front(), 20u);
    EXPECT_LT(parts.back(), 33u);
  }
}

TEST(BandParts, GiveTheSameBitsForAnyNumberOfThreads) {
  CaseOptions o = wide_field();
  o.n_channel = 40;
  Gridded gridded(with_kinks(o, {17.5}), 1e-9);
  ASSERT_EQ(gridded.plan.parts.size(), 2u);
  const std::vector<Complex<double>> one = gridded.evaluate(1);
  for (const int n_thread : {2, 3}) EXPECT_TRUE(one == gridded.evaluate(n_thread));
}

TEST(BandParts, AreGivenUpWhereThereIsTooLittleToSumUp) {
  CaseOptions o = wide_field();
  o.n_source = 3000;
  o.n_channel = 40;
  o.spectra = true;
  const Gridded random(Case(o), 1e-9);
  std::size_t n_grid = 0;
  for (const psv::uv_grid::PartOfBand& part : random.plan.parts) n_grid += part.plan.grids.size();
  const double seconds = 1e-7 * double(n_grid * o.n_source);  // at least
  const auto obstacle = [&](double worth_seconds) {
    return psv::uv_grid::plan_uv_grid({random.sky, random.channels, random.rows, random.jones}, 1e-9, worth_seconds)
        .obstacle;
  };
  EXPECT_EQ(obstacle(5 * seconds), "");
  EXPECT_NE(obstacle(0.5 * seconds), "");
}

TEST(BandParts, ABrightnessThatIsNoNumberReachesAllThatSeeIt) {
  CaseOptions o = wide_field();
  o.n_channel = 30;
  Case c = with_kinks(o, {});
  c.brightness[3 * 30 + 11].re = std::nan("");
  Gridded gridded(c, 1e-6);
  ASSERT_EQ(gridded.plan.obstacle, "");
  const std::vector<Complex<double>> got = gridded.evaluate();
  for (std::size_t r = 0; r < c.n_row(); ++r) EXPECT_TRUE(std::isnan(got[4 * r * 30 + 11].re));
}

}  // namespace
}  // namespace rimetree::testing
