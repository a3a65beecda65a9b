#include "runtime/ms/set/phase_centre.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "runtime/math/conventions.h"

namespace rimetree::ms {
namespace {

constexpr PhaseCentre kHere{0.93, -0.485}, kThere{1.1, -0.3};

/// Two rows, of which the second is absent, and two channels.
Tile tile() {
  Tile made;
  made.time_s = {0, 10};
  made.frequency_hz = {1.3e9, 1.31e9};
  made.correlation_type = {9, 12};
  made.baselines = {{0, 1}};
  made.row = {0, -1};
  made.uvw_m = {1234.5, -678.9, 321.0, 0, 0, 0};
  made.uvw_rate_m_s = {0, 0, 0, 0, 0, 0};
  made.columns["DATA"] = {{1, 2}, {3, 4}, {5, 6}, {NAN, 8}, {}, {}, {}, {}};
  made.columns["MODEL_DATA"].assign(8, {1, 0});
  return made;
}

TEST(PhaseCentre, uvw_turn_like_a_rigid_baseline) {
  const double uvw[3] = {1234.5, -678.9, 321.0};
  double there[3], back[3];
  turn_uvw(kHere, kThere, uvw, there);
  turn_uvw(kThere, kHere, there, back);
  double length = 0;
  for (int k = 0; k < 3; ++k) {
    EXPECT_NEAR(back[k], uvw[k], 1e-11);
    length += there[k] * there[k] - uvw[k] * uvw[k];
  }
  EXPECT_NEAR(length, 0, 1e-8);
  // A baseline towards the old centre is long towards the new one by the cosine of their distance.
  const double to_centre[3] = {0, 0, 1};
  turn_uvw(kHere, kThere, to_centre, there);
  EXPECT_NEAR(there[2],
              std::sin(kHere.dec_rad) * std::sin(kThere.dec_rad) +
                  std::cos(kHere.dec_rad) * std::cos(kThere.dec_rad) * std::cos(kHere.ra_rad - kThere.ra_rad),
              1e-15);
  // It stands to the east of what has a greater right ascension: u is towards smaller ones.
  EXPECT_LT(there[0], 0);
}

TEST(PhaseCentre, visibilities_turn_by_the_change_of_w) {
  const Tile stored = tile();
  Tile moved = stored;
  move_phase_centre(kHere, kThere, &moved);
  for (std::size_t f = 0; f < 2; ++f) {
    const double angle = 2 * kPi * stored.frequency_hz[f] / kSpeedOfLight_m_s * (stored.uvw_m[2] - moved.uvw_m[2]);
    const std::complex<float> found = moved.columns["MODEL_DATA"][2 * f];
    EXPECT_NEAR(found.real(), std::cos(angle), 1e-6);
    EXPECT_NEAR(found.imag(), std::sin(angle), 1e-6);
    const std::complex<float> other = moved.columns["DATA"][2 * f] / stored.columns.at("DATA")[2 * f];
    EXPECT_NEAR(std::abs(other - found), 0, 1e-6);
  }
  EXPECT_TRUE(std::isnan(moved.columns["DATA"][3].real()));
  double rate[3];
  uvw_rate(moved.uvw_m.data(), kThere.dec_rad, rate);
  for (int k = 0; k < 3; ++k) EXPECT_EQ(moved.uvw_rate_m_s[k], rate[k]);
  for (int k = 3; k < 6; ++k) EXPECT_EQ(moved.uvw_m[k], 0);  // the row that is not there
  EXPECT_EQ(moved.columns["DATA"][4], std::complex<float>(0));
}

TEST(PhaseCentre, the_same_centre_changes_no_bit) {
  const Tile stored = tile();
  Tile moved = stored;
  move_phase_centre(kHere, kHere, &moved);
  EXPECT_EQ(moved.uvw_m, stored.uvw_m);
  EXPECT_EQ(moved.uvw_rate_m_s, stored.uvw_rate_m_s);
  EXPECT_EQ(moved.columns["MODEL_DATA"], stored.columns.at("MODEL_DATA"));
}

TEST(PhaseCentre, the_pole_is_a_centre_like_others) {
  const double uvw[3] = {100, 200, 300};
  double there[3], back[3];
  const PhaseCentre pole{0.4, kPi / 2};
  turn_uvw(kHere, pole, uvw, there);
  turn_uvw(pole, kHere, there, back);
  for (int k = 0; k < 3; ++k) EXPECT_NEAR(back[k], uvw[k], 1e-12);
}

}  // namespace
}  // namespace rimetree::ms
