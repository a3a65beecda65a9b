// What the two sincs promise, against the fringe's exact average over the cell.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "nodes/psv/kernel.h"
#include "runtime/math/conventions.h"
#include "tests/support/psv_oracle.h"

namespace rimetree::testing {
namespace {

struct Cell {
  oracle::Source source;
  oracle::Row row;
  oracle::Channel channel;
  double declination = -0.7;
};

/// A baseline of about `length` metres at a random hour angle, with its rates.
Cell random_cell(std::mt19937_64& engine, double length, double exposure, double width) {
  const auto next = [&engine] { return 2.0 * double(engine() >> 11) / 9007199254740992.0 - 1.0; };
  Cell c;
  c.source.l = 0.02 * next();
  c.source.m = 0.02 * next();
  c.source.n = std::sqrt(1 - c.source.l * c.source.l - c.source.m * c.source.m);
  c.source.brightness = {{{1, 0, 0, 1}}};
  const double uvw[3] = {length * next(), length * next(), 0.5 * length * next()};
  double rate[3];
  uvw_rate(uvw, c.declination, rate);
  c.row = {uvw[0], uvw[1], uvw[2], rate[0], rate[1], rate[2], exposure};
  c.channel = {1.4e9, width};
  return c;
}

psv::SmearingLimits limits_of(const Cell& c) {
  psv::Extent extent;
  extent.include(c.source.l, c.source.m, c.source.n - 1);
  const psv::Channels channels = psv::analyse_channels(&c.channel.frequency, &c.channel.width, 1);
  psv::Rows rows;
  rows.n_row = 1;
  rows.u = &c.row.u, rows.v = &c.row.v, rows.w = &c.row.w;
  rows.du = &c.row.du, rows.dv = &c.row.dv, rows.dw = &c.row.dw;
  rows.exposure_s = &c.row.exposure;
  return psv::largest_phase_change(extent, channels, rows);
}

TEST(PsvSmearing, IsExactWhereOnlyOneOfTheTwoActs) {
  std::mt19937_64 engine(1);
  for (int i = 0; i < 50; ++i) {
    const Cell band = random_cell(engine, 1e4, 0, 1e6), time = random_cell(engine, 1e4, 10, 0);
    for (const Cell& c : {band, time}) {
      const oracle::Number exact =
          oracle::average_fringe(c.source, c.row, c.channel, oracle::Motion::kLinear, c.declination, 16);
      EXPECT_LT(std::abs(oracle::coherence(c.source, c.row, c.channel, 1) - exact), 1e-14L);
    }
  }
}

TEST(PsvSmearing, StaysWithinTheStatedBound) {
  std::mt19937_64 engine(2);
  for (const double length : {100.0, 1e3, 1e4, 3e4})
    for (const double exposure : {1.0, 8.0, 60.0})
      for (const double width : {1e5, 1e6, 5e6})
        for (int i = 0; i < 20; ++i) {
          const Cell c = random_cell(engine, length, exposure, width);
          const psv::SmearingLimits limits = limits_of(c);
          for (const oracle::Motion motion : {oracle::Motion::kLinear, oracle::Motion::kRotation}) {
            const oracle::Number exact =
                oracle::average_fringe(c.source, c.row, c.channel, motion, c.declination, length > 1e4 ? 64 : 24);
            EXPECT_LT(std::abs(oracle::coherence(c.source, c.row, c.channel, 1) - exact), limits.error + 1e-13)
                << length << " m, " << exposure << " s, " << width << " Hz";
          }
        }
}

TEST(PsvSmearing, BoundTellsSmallCellsFromLarge) {
  std::mt19937_64 engine(3);
  EXPECT_LT(limits_of(random_cell(engine, 1e3, 1, 1e5)).error, 1e-6);
  EXPECT_GT(limits_of(random_cell(engine, 3e5, 120, 2e7)).error, 1e-2);
}

TEST(PsvSmearing, RatesFollowTheRotation) {
  std::mt19937_64 engine(4);
  // A short exposure: the linear motion is the rotation's tangent.
  for (int i = 0; i < 20; ++i) {
    const Cell c = random_cell(engine, 1e3, 0.1, 0);
    const auto average = [&c](oracle::Motion m) {
      return oracle::average_fringe(c.source, c.row, c.channel, m, c.declination, 8);
    };
    EXPECT_LT(std::abs(average(oracle::Motion::kLinear) - average(oracle::Motion::kRotation)), 1e-8L);
  }
}

}  // namespace
}  // namespace rimetree::testing
