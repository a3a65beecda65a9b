// UVW against coordinates and velocities computed with Astropy 8.0 (EarthLocation.get_gcrs_posvel without polar motion,
// turned to the phase centre), to 0.1 mm on a 10 km baseline.
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

const double kArray[3] = {5109271.4973, 2006808.8930, -3239130.7361};

ResultPtr station(double mjd, double dut1_s, const std::vector<double>& offset_m, bool rates = true) {
  TestForest forest;
  forest.request.cells = cells({mjd * 86400}, {1e9});
  forest.constant("radec", array({2}, {1.2, -0.5})).constant("xyz_0", array({3}, {kArray[0], kArray[1], kArray[2]}));
  forest.constant("xyz", array({3}, {kArray[0] + offset_m[0], kArray[1] + offset_m[1], kArray[2] + offset_m[2]}));
  forest.node("x", "UVW", {"radec_0=radec", "xyz=xyz", "xyz_0=xyz_0"}, {{"include_deriv", rates}, {"dut1_s", dut1_s}});
  const ResultPtr x = forest.evaluate("x");
  expect_ok(x);
  return x;
}

TEST(UvwNode, AgreesWithAstropy) {
  const struct {
    double mjd, dut1_s, uvw_m[3], rate_m_s[3];
  } cases[] = {{60310.25, 0.0, {-8773.80439, 2127.18679, -4415.36329}, {-0.208443929, 0.305551281, 0.561405879}},
               {60310.25, -0.0087, {-8773.80257, 2127.18413, -4415.36817}, {-0.208444335, 0.305551217, 0.561405763}},
               {51544.875, 0.35, {8164.62689, 1456.87865, -5675.94682}, {-0.3122851, -0.285450088, -0.522478021}}};
  for (const auto& c : cases) {
    const ResultPtr x = station(c.mjd, c.dut1_s, {-6000, 7000, 4000});
    ASSERT_TRUE((x->value.dims() == TensorShape{2, 3}));
    for (std::size_t i = 0; i < 3; ++i) {
      EXPECT_NEAR(value_at(x->value, i).re, c.uvw_m[i], 1e-4);
      EXPECT_NEAR(value_at(x->value, 3 + i).re, c.rate_m_s[i], 1e-7);
    }
  }
}

/// The last day of 2016 had 86401 s. Measurement Sets count its seconds as those of other days; ERFA takes fractions of
/// its length, by which coordinates were off by up to a second's turn. Expected: as above, of 2016-12-31T18:00:00.
TEST(UvwNode, AgreesWithAstropyOnADayWithALeapSecond) {
  const ResultPtr x = station(57753.75, -0.407, {-6000, 7000, 4000}, false);
  const double expected_m[] = {8772.91462521, 4871.77325061, 549.35814672};
  for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(value_at(x->value, i).re, expected_m[i], 1e-4);
}

TEST(UvwNode, RatesAreTheChangeOfTheCoordinates) {
  const double day = 1.0 / 86400;
  const ResultPtr before = station(60310.25 - day, 0, {-6000, 7000, 4000}),
                  x = station(60310.25, 0, {-6000, 7000, 4000}),
                  after = station(60310.25 + day, 0, {-6000, 7000, 4000});
  for (std::size_t i = 0; i < 3; ++i)  // a second either way: the cubic term is w^2/6 of the rate, 1e-9
    EXPECT_NEAR((value_at(after->value, i).re - value_at(before->value, i).re) / 2, value_at(x->value, 3 + i).re, 1e-7);
}

TEST(UvwNode, PointsWTowardTheSourceAndVToTheNorth) {
  // Along the Earth's axis: v = cos(dec) z, w = sin(dec) z, but for the precession of the axis since J2000 (0.13
  // degrees).
  const ResultPtr x = station(60310.25, 0, {0, 0, 1000}, false);
  ASSERT_TRUE((x->value.dims() == TensorShape{3}));
  EXPECT_NEAR(value_at(x->value, 0).re, 0, 3);
  EXPECT_NEAR(value_at(x->value, 1).re, 1000 * std::cos(-0.5), 3);
  EXPECT_NEAR(value_at(x->value, 2).re, 1000 * std::sin(-0.5), 3);
}

TEST(UvwNode, RefusesAnImpossibleDut1) {
  TestForest forest;
  forest.constant("d", array({2}, {1, 0})).constant("p", array({3}, {1, 2, 3}));
  EXPECT_THROW(forest.node("x", "UVW", {"d", "p", "p"}, {{"dut1_s", 37.0}}).evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
