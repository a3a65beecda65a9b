// The direct sum on devices with seeds from antennas, held to a sum in extended precision: on the devices that
// RIMETREE_DEVICE names, or on a simulated one.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "nodes/psv/device/antenna_seeds.h"
#include "tests/support/psv_array_case.h"
#include "tests/support/psv_combinations.h"
#include "tests/support/psv_devices.h"

namespace rimetree::testing {
namespace {

using psv::planner::MethodWish;
using psv::planner::PhasorsOf;

constexpr MethodWish kByAntennas{MethodWish::Kind::kDirect, {}, PhasorsOf::kAntennas};
constexpr MethodWish kByRows{MethodWish::Kind::kDirect, {}, PhasorsOf::kRows};

bool used_antennas(const Devices& devices) { return devices.report.find("phasors of antennas") != std::string::npos; }

/// `uses`: whether it is expected to be with phasors of antennas.
void check(Devices& devices, const CaseOptions& o, const ArrayOptions& a, bool uses = true) {
  SCOPED_TRACE(::testing::Message() << "antennas " << a.n_antenna << ' ' << o);
  const ArrayCase c(o, a);
  const std::vector<oracle::Number> expected = c.expected();
  for (const bool single : {false, true}) {
    EXPECT_LT(largest_error(devices.solve(c, single, kByAntennas, c.ends), expected, c.total_flux()),
              single ? kSingle : kDouble);
    EXPECT_EQ(used_antennas(devices), uses) << devices.report;
  }
}

TEST(PsvAntennaSeeds, AgreeWithExtendedPrecisionOnAllKindsOfSums) {
  Devices devices = Devices::chosen();
  unsigned seed = 1;
  for (const Polarisation polarisation :
       {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull, Polarisation::kGeneral})
    for (int bits = 0; bits < 16; ++bits) {
      CaseOptions o;
      o.polarisation = polarisation;
      o.spectra = bits & 1, o.smearing = bits & 2, o.gaussians = bits & 4, o.disks = bits & 8;
      o.exposure_s = 0.1;
      o.n_source = 11, o.n_channel = 21, o.n_time = 2;
      o.seed = ++seed;
      check(devices, o, {.n_antenna = 6});
    }
}

TEST(PsvAntennaSeeds, TakeAnyGridOfChannels) {
  Devices devices = Devices::chosen();
  for (const Grid grid :
       {Grid::kRegular, Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle})
    for (const std::size_t n_channel : {1, 8, 9, 64, 65, 150}) {
      CaseOptions o;
      o.grid = grid;
      o.polarisation = Polarisation::kFull;
      o.smearing = n_channel == 9;
      o.exposure_s = 0.1, o.spacing_hz = 5e4;
      o.n_source = 5, o.n_time = 1, o.n_channel = n_channel;
      check(devices, o, {.n_antenna = 5});
    }
}

TEST(PsvAntennaSeeds, ApplyJonesTerms) {
  Devices devices = Devices::chosen();
  for (const JonesKind jones : {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs, JonesKind::kVarying}) {
    CaseOptions o;
    o.jones = jones;
    o.polarisation = Polarisation::kFull;
    o.n_source = 7, o.n_time = 2, o.n_channel = 9;
    // Terms that vary along channels need a product for each.
    check(devices, o, {.n_antenna = 6}, jones != JonesKind::kVarying);
  }
}

TEST(PsvAntennaSeeds, TakeRowsAsTheyCome) {
  Devices devices = Devices::chosen();
  for (int bits = 0; bits < 16; ++bits) {
    ArrayOptions a;
    a.n_antenna = 12;
    a.autocorrelations = bits & 1, a.both_orders = bits & 2;
    a.leave_out = bits & 4 ? 3 : 0;
    a.repeat = bits & 8 ? 2 : 1;
    a.repeats_differ = bits & 8;
    CaseOptions o;
    o.polarisation = Polarisation::kFull;
    o.n_source = 3, o.n_time = 3, o.n_channel = 2;
    check(devices, o, a);
  }
}

TEST(PsvAntennaSeeds, HoldForPhasesOfAMillionRadians) {
  Devices devices = Devices::chosen();
  CaseOptions o;
  o.phase_rad = 1e6;
  o.polarisation = Polarisation::kFull;
  check(devices, o, {.n_antenna = 6});
}

// Where antennas are hardly fewer than rows, where UVW are no differences, and where nobody asks for them.
TEST(PsvAntennaSeeds, AreLeftOutWhereTheyDoNotPay) {
  CaseOptions o;
  o.n_source = 3, o.n_channel = 9;
  Devices devices = Devices::chosen();
  check(devices, o, {.n_antenna = 4}, false);
  check(devices, o, {.n_antenna = 5}, true);
  ArrayCase c(o, {.n_antenna = 6});
  devices.solve(c, false, kByRows, c.ends);
  EXPECT_FALSE(used_antennas(devices));
  for (std::size_t r = 0; r < c.n_row(); ++r) c.uvw[0][r] += double(r * r);
  devices.solve(c, false, kByAntennas, c.ends);
  EXPECT_FALSE(used_antennas(devices));
}

// Sources whose phasors have no room at once take several launches, and rows several chunks.
TEST(PsvAntennaSeeds, GiveTheSameInAnyNumberOfLaunches) {
  CaseOptions o;
  o.polarisation = Polarisation::kFew;
  o.n_source = 600;
  o.n_time = 2, o.n_channel = 70;
  const ArrayCase c(o, {.n_antenna = 6});
  const std::vector<oracle::Number> expected = c.expected();
  for (const bool single : {false, true})
    for (const std::size_t budget : {std::size_t{0}, std::size_t{700000}, std::size_t{300000}}) {
      Devices devices(std::size_t{1} << 28, 1, budget);
      EXPECT_LT(largest_error(devices.solve(c, single, kByAntennas, c.ends), expected, c.total_flux()),
                single ? kSingle : kDouble);
      EXPECT_TRUE(used_antennas(devices)) << devices.report;
    }
}

TEST(PsvAntennaSeeds, ADirectionThatIsNotANumberShows) {
  CaseOptions o;
  o.n_source = 3;
  ArrayCase c(o, {.n_antenna = 6});
  c.m[1] = std::numeric_limits<double>::quiet_NaN();
  Devices devices = Devices::chosen();
  for (const bool single : {false, true}) {
    EXPECT_TRUE(std::isnan(devices.solve(c, single, kByAntennas, c.ends).front().re));
  }
}

}  // namespace
}  // namespace rimetree::testing
