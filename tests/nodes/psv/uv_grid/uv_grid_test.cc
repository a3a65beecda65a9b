// The uv-grid method against an extended-precision direct sum, at tolerances from 1e-3 to 1e-12.
#include "nodes/psv/uv_grid/uv_grid.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>

#include "runtime/core/values/largest_error.h"
#include "runtime/math/conventions.h"
#include "tests/support/gridded_case.h"
#include "tests/support/instruction_sets.h"

namespace rimetree::testing {
namespace {

/// A field of such a width around (l, m), seen by baselines that are nearly in a plane.
Case narrow_field(const CaseOptions& o, double half_width, double l, double m) {
  Case c(o);
  for (std::size_t s = 0; s < o.n_source; ++s) {
    c.l[s] = l + half_width * c.l[s] / 0.3, c.m[s] = m + half_width * c.m[s] / 0.3;
    c.n[s] = std::sqrt(1 - c.l[s] * c.l[s] - c.m[s] * c.m[s]);
    c.sources[s].l = c.l[s], c.sources[s].m = c.m[s], c.sources[s].n = c.n[s];
  }
  for (std::size_t r = 0; r < c.n_row(); ++r) {
    c.uvw[2][r] = 0.7 * c.uvw[0][r] - 0.4 * c.uvw[1][r] + 1e-3 * c.uvw[2][r];
    c.rows[r].w = c.uvw[2][r];
  }
  return c;
}

constexpr double kTolerances[] = {1e-3, 1e-4, 1e-6, 1e-8, 1e-10, 1e-12};
constexpr Polarisation kPolarisations[] = {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull,
                                           Polarisation::kGeneral, Polarisation::kFew};

TEST(UvGrid, MeetsEveryToleranceInAWideField) {
  for (const double tolerance : kTolerances)
    for (const double phase : {1e-9, 1.0, 30.0, 300.0}) {
      CaseOptions o = wide_field(phase);
      o.polarisation = Polarisation::kFull;
      check_on_grid(Case(o), tolerance);
    }
}

TEST(UvGrid, MeetsEveryToleranceOnLongBaselines) {
  for (const double tolerance : kTolerances)
    for (const double phase : {1e4, 3e5}) {
      CaseOptions o;
      o.phase_rad = phase;
      check_on_grid(narrow_field(o, 60 / phase, 0, 0), tolerance);
      check_on_grid(narrow_field(o, 200 / phase, 0.05, -0.1), tolerance);
    }
}

TEST(UvGrid, TakesNEverywhereFromThePhaseCentre) {
  // Far from it n goes with l and m; that and the plane of the baselines are no reason for grids at many values of w.
  CaseOptions o;
  o.phase_rad = 1e4;
  EXPECT_LE(Gridded(narrow_field(o, 0.01, 0.3, 0.2), 1e-6).plan.series.front().n_w, 6);
}

TEST(UvGrid, TakesEveryPolarisation) {
  for (const Polarisation polarisation : kPolarisations)
    for (const double tolerance : {1e-6, 1e-12}) {
      CaseOptions o = wide_field();
      o.polarisation = polarisation;
      check_on_grid(Case(o), tolerance);
    }
}

TEST(UvGrid, TakesEveryOrderOfChannels) {
  for (const Grid grid :
       {Grid::kRegular, Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle, Grid::kWide})
    for (const bool smearing : {false, true}) {
      CaseOptions o = wide_field(30);
      o.grid = grid;
      o.smearing = smearing;
      check_on_grid(Case(o), 1e-10);
    }
}

TEST(UvGrid, SmearsOverTimeAndBandwidth) {
  for (const double exposure : {1e-2, 10.0, 1e3})
    for (const double tolerance : kTolerances)
      for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kGeneral}) {
        CaseOptions o = wide_field();
        o.smearing = true;
        o.exposure_s = exposure;
        o.polarisation = polarisation;
        check_on_grid(Case(o), tolerance);
      }
}

TEST(UvGrid, TheGridReachesAsFarAsTheEndsOfExposures) {
  for (const unsigned seed : {1, 2, 3}) {
    CaseOptions o = wide_field(60);
    o.smearing = true;
    o.exposure_s = 4000;  // in which the baseline moves by up to a third of its length
    o.n_baseline = o.n_time = 1;
    o.seed = seed;
    check_on_grid(Case(o), 1e-6);
  }
}

TEST(UvGrid, SmearsOverTimeOnlyOrBandwidthOnly) {
  for (const bool time : {false, true}) {
    CaseOptions o = wide_field();
    o.smearing = true;
    o.exposure_s = 100;
    Case c(o);
    for (std::size_t r = 0; r < c.n_row() && !time; ++r) c.exposure[r] = 0, c.rows[r].exposure = 0;
    for (std::size_t f = 0; f < c.n_channel() && time; ++f) c.width[f] = 0, c.channels[f].width = 0;
    check_on_grid(c, 1e-10);
  }
}

/// How many of its rows take polynomials through points of the band.
std::ptrdiff_t rows_by_points(const Gridded& gridded) {
  const auto& rows = gridded.plan.means.rows;
  return std::count_if(rows.begin(), rows.end(), [](const auto& row) { return row.by_points; });
}

TEST(UvGrid, SamplesFollowPhasesWhereChannelsAreMany) {
  for (const Grid grid : {Grid::kRegular, Grid::kDescending, Grid::kIrregular})
    for (const bool smearing : {false, true})
      for (const double tolerance : {1e-4, 1e-12}) {
        CaseOptions o;
        o.n_channel = 500;
        o.n_source = 7;
        o.grid = grid;
        o.smearing = smearing;
        o.exposure_s = 3;
        o.phase_rad = 4e4;
        const Case c = narrow_field(o, 0.01, 0.03, 0);
        check_on_grid(c, tolerance);
        const Gridded gridded(c, tolerance);
        std::size_t most = 0;
        for (const auto& [step, band] : gridded.plan.means.bands) most = std::max(most, band.segments.size());
        EXPECT_GT(most, 1u) << "no phase turns so far that the band is cut";
        EXPECT_GT(rows_by_points(gridded), 0);
        EXPECT_LT(gridded.plan.means.n_sample, (smearing ? 16 : 1) * 500.0 * double(c.n_row()));
      }
}

TEST(UvGrid, SamplesFollowChannelsWhereTheseAreFew) {
  CaseOptions o = wide_field(300);
  o.n_channel = 2;
  o.smearing = true;
  const Gridded gridded(o, 1e-6);
  EXPECT_LT(rows_by_points(gridded), std::ptrdiff_t(gridded.c.n_row()));
  check_on_grid(Case(o), 1e-6);
}

TEST(UvGrid, SeriesFollowSpectra) {
  for (const Polarisation polarisation : {Polarisation::kFull, Polarisation::kGeneral})
    for (const double tolerance : {1e-3, 1e-6, 1e-9}) {
      CaseOptions o = wide_field(30);
      o.n_channel = 64;
      o.spectra = o.smooth = true;
      o.polarisation = polarisation;
      check_on_grid(Case(o), tolerance);
    }
}

TEST(UvGrid, TakesSpectraWhoseFirstTermIsNothing) {
  // Odd around the middle of the band, as rotation measures make Stokes U.
  CaseOptions o = wide_field(30);
  o.n_channel = 65;
  o.spectra = o.smooth = true;
  Case c(o);
  for (std::size_t i = 0; i < c.brightness.size(); ++i) {
    const double x = double(i % o.n_channel) / 32 - 1;
    c.brightness[i] = c.brightness[i - i % o.n_channel];
    if (c.brightness[i].re != 0) c.brightness[i] = {x, 0};
  }
  Gridded gridded(c, 1e-9);
  ASSERT_EQ(gridded.plan.obstacle, "");
  EXPECT_EQ(gridded.plan.series.size(), 1u);
  EXPECT_EQ(gridded.plan.series.front().term, 1u);
}

TEST(UvGrid, TakesAnyNumberOfSources) {
  for (const std::size_t n_source : {1, 2, 63, 64, 65, 700}) {
    CaseOptions o = wide_field();
    o.n_source = n_source;
    check_on_grid(Case(o), 1e-8);
  }
}

TEST(UvGrid, SourcesWithAShapeAreAddedDirectly) {
  for (const Polarisation polarisation : kPolarisations)
    for (const bool smearing : {false, true})
      for (const double tolerance : {1e-6, 1e-12}) {
        CaseOptions o = wide_field();
        o.polarisation = polarisation;
        o.smearing = smearing;
        o.gaussians = o.disks = true;
        check_on_grid(Case(o), tolerance);
      }
  CaseOptions o = wide_field(30);
  o.gaussians = o.spectra = o.smooth = true;
  o.n_channel = 64;
  check_on_grid(Case(o), 1e-6);
}

TEST(UvGrid, TakesSourcesAndBaselinesOnALine) {
  for (const int sources : {0, 1, 2})
    for (const int baselines : {0, 1, 2}) {
      Case c(wide_field());
      for (std::size_t s = 0; s < c.options.n_source; ++s) {
        if (sources != 1) c.m[s] = 0.2 * c.l[s];
        if (sources == 2) c.l[s] = 0.1, c.m[s] = 0;  // all on one spot
        c.n[s] = std::sqrt(1 - c.l[s] * c.l[s] - c.m[s] * c.m[s]);
        c.sources[s].l = c.l[s], c.sources[s].m = c.m[s], c.sources[s].n = c.n[s];
      }
      for (std::size_t r = 0; r < c.n_row(); ++r) {
        if (baselines != 1) c.uvw[1][r] = c.rows[r].v = 0;
        if (baselines == 2) c.uvw[0][r] = c.uvw[2][r] = c.rows[r].u = c.rows[r].w = 0;
      }
      check_on_grid(c, 1e-10);
    }
}

TEST(UvGrid, TakesOneVisibility) {
  CaseOptions o = wide_field();
  o.n_baseline = o.n_time = 1;
  o.grid = Grid::kSingle;
  check_on_grid(Case(o), 1e-12);
}

TEST(UvGrid, GivesTheSameBitsForAnyNumberOfThreads) {
  CaseOptions o = wide_field();
  o.n_source = 1000;
  o.smearing = true;
  o.polarisation = Polarisation::kFull;
  Gridded gridded(o, 1e-6);
  const auto one = gridded.evaluate(1);
  for (const int n_thread : {2, 3, 5}) {
    const auto several = gridded.evaluate(n_thread);
    EXPECT_EQ(std::memcmp(one.data(), several.data(), one.size() * sizeof one[0]), 0) << n_thread;
  }
}

TEST(UvGrid, MakesAsManyGridsAsFitIntoMemory) {
  for (const Polarisation polarisation : {Polarisation::kFull, Polarisation::kGeneral}) {
    CaseOptions o = wide_field();
    o.polarisation = polarisation;
    Gridded gridded(o, 1e-8);
    ASSERT_GT(gridded.plan.grids.size(), 20u);
    const std::size_t bytes = sizeof(Complex<double>) * gridded.plan.grid_size();
    for (const std::size_t grid_bytes : {std::size_t{1}, 7 * bytes, 2 * gridded.plan.grids.size() * bytes})
      EXPECT_LE(largest_error(gridded.evaluate(2, grid_bytes), gridded.c.expected(), gridded.c.total_flux()), 1e-8);
  }
}

TEST(UvGrid, SaysWhatStandsInItsWay) {
  const auto obstacle = [](const Case& c, double tolerance = 1e-6) { return Gridded(c, tolerance).plan.obstacle; };
  const auto expect = [&](const Case& c, const char* text, double tolerance = 1e-6) {
    EXPECT_NE(obstacle(c, tolerance).find(text), std::string::npos) << text << ": " << obstacle(c, tolerance);
  };
  CaseOptions o = wide_field();
  EXPECT_EQ(obstacle(Case(o)), "");
  expect(Case(o), "tolerance", 1e-14);
  expect(Case(wide_field(1e5)), "too wide");
  Case huge = narrow_field(wide_field(1e7), 0.3, 0, 0);
  for (std::size_t r = 0; r < huge.n_row(); ++r) huge.uvw[2][r] = 0;
  for (double& n : huge.n) n = 1;
  expect(huge, "too large");
  Case nowhere{o};
  nowhere.uvw[0][2] = std::nan("");
  expect(nowhere, "finite");
  Case lost{o};
  lost.l[3] = std::nan("");
  expect(lost, "finite");
  o.smearing = true;
  o.exposure_s = 1e6;
  expect(Case(o), "too far");
  o = wide_field();
  o.jones = JonesKind::kMatrix;
  expect(Case(o), "Jones");
  o = wide_field();
  o.n_source = 0;
  expect(Case(o), "nothing");
}

TEST(UvGrid, ABrightnessThatIsNoNumberReachesAllThatSeeIt) {
  Case c(wide_field());
  c.brightness[3].re = std::nan("");
  const std::vector<Complex<double>> got = Gridded(c, 1e-6).evaluate();
  for (std::size_t r = 0; r < c.n_row(); ++r)
    for (std::size_t f = 0; f < c.n_channel(); ++f) EXPECT_TRUE(std::isnan(got[4 * r * c.n_channel() + f].re));
}

TEST(UvGrid, PointsAreAsManyAsTheErrorAsksFor) {
  for (const double phase : {0.01, 1.0, 20.0, 150.0}) {
    const std::vector<double> errors = psv::uv_grid::points_errors(phase);
    for (int n = 2; n < psv::uv_grid::kMostPoints; n += 5) {
      const double bound = static_cast<std::size_t>(n) < errors.size() ? errors[static_cast<std::size_t>(n)] : 0;
      if (bound > 1 || bound < 1e-12) continue;
      const psv::uv_grid::Points points(n);
      double worst = 0, share[psv::uv_grid::kMostPoints];
      for (int i = 0; i <= 997; ++i) {
        const double x = 2.0 * i / 997 - 1;
        points.shares(x, share);
        Complex<double> sum(-std::cos(phase * x), -std::sin(phase * x));
        for (int k = 0; k < n; ++k)
          sum += share[k] * Complex<double>(std::cos(phase * points.at[k]), std::sin(phase * points.at[k]));
        keep_larger(worst, std::hypot(sum.re, sum.im));
      }
      EXPECT_LE(worst, bound + 1e-13) << phase << ' ' << n;
      EXPECT_GE(worst, 0.1 * bound - 1e-13) << phase << ' ' << n;
    }
  }
}

TEST(UvGrid, MeansOfPolynomialsAreExact) {
  // Of x^j over [x - half, x + half], for polynomials of all degrees that points give.
  for (const int n : {1, 2, 7, 60})
    for (const double half : {0.0, 1e-3, 0.4}) {
      const psv::uv_grid::Points points(n);
      double share[psv::uv_grid::kMostPoints];
      points.mean_shares(0.3, half, half == 0 ? 1 : 12, share);
      for (int j = 0; j < std::min(n, 20); ++j) {
        double got = 0;
        for (int k = 0; k < n; ++k) got += share[k] * std::pow(points.at[k], j);
        const double exact = half == 0
                                 ? std::pow(0.3, j)
                                 : (std::pow(0.3 + half, j + 1) - std::pow(0.3 - half, j + 1)) / ((j + 1) * 2 * half);
        EXPECT_NEAR(got, exact, 1e-12) << n << ' ' << half << ' ' << j;
      }
    }
}

TEST(UvGrid, IsAsAccurateOnEveryInstructionSet) {
  for_each_instruction_set([] {
    for (const double tolerance : kTolerances) {
      CaseOptions o = wide_field(30);
      o.smearing = true;
      o.polarisation = Polarisation::kFull;
      check_on_grid(Case(o), tolerance);
    }
  });
}

}  // namespace
}  // namespace rimetree::testing
