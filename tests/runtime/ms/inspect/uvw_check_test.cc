#include "runtime/ms/inspect/uvw_check.h"

#include <gtest/gtest.h>

#include <cmath>

namespace rimetree::ms {
namespace {

constexpr double kPi = 3.14159265358979323846;

// Eight antennas on the Karoo plain, as offsets (east, north, up) from a point of the Earth's surface.
std::vector<Antenna> antennas() {
  const double longitude = 21.44 * kPi / 180, latitude = -30.71 * kPi / 180, radius = 6.3725e6;
  const double enu[8][3] = {{0, 0, 0},      {40, 10, 1},     {-80, 130, 2},  {300, -220, 0},
                            {-500, 90, -1}, {120, -700, -3}, {900, 410, 10}, {-260, -340, 4}};
  std::vector<Antenna> list;
  for (const auto& at : enu) {
    const double sl = std::sin(longitude), cl = std::cos(longitude), sb = std::sin(latitude), cb = std::cos(latitude);
    Antenna antenna;
    antenna.position_m = {(radius + at[2]) * cb * cl - sl * at[0] - sb * cl * at[1],
                          (radius + at[2]) * cb * sl + cl * at[0] - sb * sl * at[1],
                          (radius + at[2]) * sb + cb * at[1]};
    list.push_back(antenna);
  }
  return list;
}

// Greenwich hour angle by another route than the code under test: mean sidereal time of 2000 January 1, 12h UT is
// 18.697374558 h and advances by 24.06570982441908 h per day (US Naval Observatory). Equator and equinox of date.
double greenwich_hour_angle(double time_s, double ra_rad) {
  const double hours = 18.697374558 + 24.06570982441908 * (time_s / 86400 - 51544.5);
  return std::fmod(hours, 24) * kPi / 12 - ra_rad;
}

// Times near J2000.0, when precession is nothing.
constexpr double kTime_s = 51544.5 * 86400 + 1234;

std::vector<UvwRow> rows_towards(double ra_rad, double dec_rad, int sign, int n_time = 4) {
  const std::vector<Antenna> list = antennas();
  std::vector<UvwRow> rows;
  for (int time = 0; time < n_time; ++time) {
    const double time_s = kTime_s + 600.0 * time, h = greenwich_hour_angle(time_s, ra_rad);
    for (int p = 0; p < 8; ++p) {
      for (int q = p + 1; q < 8; ++q) {
        double b[3];
        for (int k = 0; k < 3; ++k) b[k] = sign * (list[p].position_m[k] - list[q].position_m[k]);
        const double along = std::cos(h) * b[0] - std::sin(h) * b[1];
        rows.push_back({time_s,
                        static_cast<std::size_t>(time),
                        0,
                        p,
                        q,
                        {std::sin(h) * b[0] + std::cos(h) * b[1], -std::sin(dec_rad) * along + std::cos(dec_rad) * b[2],
                         std::cos(dec_rad) * along + std::sin(dec_rad) * b[2]}});
      }
    }
  }
  return rows;
}

// A direction 40 degrees west of the meridian of the array at the first time.
double visible_ra() { return greenwich_hour_angle(kTime_s, 0) + (21.44 - 40) * kPi / 180; }

Field field_at(double ra_rad, double dec_rad) {
  Field field;
  field.ra_rad = ra_rad;
  field.dec_rad = dec_rad;
  return field;
}

TEST(UvwCheck, both_families_are_told_apart) {
  for (const int sign : {1, -1}) {
    const UvwReport report =
        check_uvw(antennas(), {field_at(visible_ra(), -0.7)}, rows_towards(visible_ra(), -0.7, sign), 1e-4);
    EXPECT_EQ(report.family, sign > 0 ? "p-q" : "q-p") << report.reason;
    EXPECT_TRUE(report.closure_tested);
    EXPECT_TRUE(report.decomposable);
    EXPECT_LT(report.misclosure_m, 1e-8);
    ASSERT_EQ(report.directions.size(), 1u);
    EXPECT_FALSE(report.directions[0].points_elsewhere);
    EXPECT_LT(report.directions[0].field_residual, 1e-5);
  }
}

TEST(UvwCheck, the_direction_is_found_where_field_names_another) {
  const double ra = visible_ra(), dec = -0.7;
  for (const int sign : {1, -1})
    for (const double off : {0.1, 0.007}) {  // 12 degrees, and as much as there is between B1950 and J2000
      const UvwReport report =
          check_uvw(antennas(), {field_at(ra + 2 * off, dec + off)}, rows_towards(ra, dec, sign), 1e-4);
      EXPECT_EQ(report.family, sign > 0 ? "p-q" : "q-p") << report.reason;
      ASSERT_EQ(report.directions.size(), 1u);
      EXPECT_TRUE(report.directions[0].points_elsewhere);
      EXPECT_NEAR(std::remainder(report.directions[0].ra_rad - ra, 2 * kPi), 0, 1e-5);
      EXPECT_NEAR(report.directions[0].dec_rad, dec, 1e-5);
      // Haversine of the planted offset.
      const double hav =
          std::pow(std::sin(off / 2), 2) + std::cos(dec) * std::cos(dec + off) * std::pow(std::sin(off), 2);
      EXPECT_NEAR(report.directions[0].offset_rad, 2 * std::asin(std::sqrt(hav)), 1e-5);
    }
}

TEST(UvwCheck, precession_turns_the_pole_by_20_arcsec_a_year) {
  // The pole of date, 25 years after J2000.0, in J2000: theta = 2004.3 arcsec per century towards RA 180 (Meeus ch.
  // 21).
  const auto pole = to_j2000({0, 0, 1}, (51544.5 + 25 * 365.25) * 86400);
  const double theta = 2004.31 * 0.25 / 3600 * kPi / 180;
  EXPECT_NEAR(pole[0], std::sin(theta), 1e-6);
  EXPECT_NEAR(pole[1], 0, 2e-5);
  EXPECT_NEAR(pole[2], std::cos(theta), 1e-6);
}

TEST(UvwCheck, loops_that_do_not_close_are_found) {
  std::vector<UvwRow> rows = rows_towards(visible_ra(), -0.7, 1);
  rows[40].uvw_m[1] += 0.01;
  UvwReport report = check_uvw(antennas(), {field_at(visible_ra(), -0.7)}, rows, 1e-4);
  EXPECT_FALSE(report.decomposable);
  EXPECT_NEAR(report.misclosure_m, 0.01, 1e-6);
  rows.resize(1);
  report = check_uvw(antennas(), {field_at(visible_ra(), -0.7)}, rows, 1e-4);
  EXPECT_FALSE(report.closure_tested);
}

TEST(UvwCheck, unknown_has_a_reason) {
  std::vector<Antenna> nowhere = antennas();
  for (Antenna& antenna : nowhere) antenna.position_m = {0, 0, 0};
  UvwReport report = check_uvw(nowhere, {field_at(0, 0)}, rows_towards(visible_ra(), -0.7, 1), 1e-4);
  EXPECT_EQ(report.family, "unknown");
  EXPECT_NE(report.reason.find("positions are known"), std::string::npos);

  std::vector<UvwRow> rows = rows_towards(visible_ra(), -0.7, 1);
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].uvw_m = {std::sin(7.0 * i), std::cos(5.0 * i), 0.3};
  report = check_uvw(antennas(), {field_at(0, 0)}, rows, 1e-4);
  EXPECT_EQ(report.family, "unknown");
  EXPECT_FALSE(report.reason.empty());
}

TEST(UvwCheck, antennas_at_position_zero_are_ignored) {
  std::vector<Antenna> list = antennas();
  list[3].position_m = {0, 0, 0};
  const UvwReport report = check_uvw(list, {field_at(visible_ra(), -0.7)}, rows_towards(visible_ra(), -0.7, -1), 1e-4);
  EXPECT_EQ(report.family, "q-p");
  EXPECT_LT(report.directions[0].field_residual, 1e-5);
}

}  // namespace
}  // namespace rimetree::ms
