// The PSV kernel for devices, held to an extended-precision sum: on the devices that RIMETREE_DEVICE names, or on a
// simulated one, whose bodies are those that a GPU runs. And, on simulated devices: what is copied, what fits, and what
// happens where nothing does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <memory>

#include "nodes/psv/device/direct_job.h"
#include "nodes/psv/pipeline/chunks.h"
#include "runtime/core/error.h"
#include "tests/support/forest_fixture.h"
#include "tests/support/psv_combinations.h"
#include "tests/support/psv_devices.h"

namespace rimetree::testing {
namespace {

void check(const CaseOptions& o, Devices& devices) {
  SCOPED_TRACE(::testing::Message() << o);
  const Case c(o);
  const std::vector<oracle::Number> expected = c.expected();
  EXPECT_LT(largest_error(devices.solve(c, false), expected, c.total_flux()), kDouble);
  EXPECT_LT(largest_error(devices.solve(c, true), expected, c.total_flux()), kSingle);
}

TEST(PsvDevice, AgreesWithExtendedPrecisionOnAllCombinations) {
  Devices devices = Devices::chosen();
  for (const CaseOptions& o : combinations()) check(o, devices);
}

TEST(PsvDevice, HoldsForPhasesOfAMillionRadians) {
  Devices devices = Devices::chosen();
  for (const CaseOptions& o : long_phases()) check(o, devices);
}

TEST(PsvDevice, HoldsForSmearingOfAnyStrength) {
  Devices devices = Devices::chosen();
  for (const CaseOptions& o : strong_smearing()) check(o, devices);
}

TEST(PsvDevice, AppliesJonesTerms) {
  Devices devices = Devices::chosen();
  for (const CaseOptions& o :
       jones_terms({JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs, JonesKind::kVarying}))
    check(o, devices);
}

TEST(PsvDevice, TakesAnyNumberOfRowsSourcesAndChannels) {
  Devices devices = Devices::chosen();
  for (const std::size_t n_row : {1, 2, 15, 16, 17, 31, 130})
    for (const std::size_t n_source : {1, 7, 8, 9, 33, 65}) {
      CaseOptions o;
      o.polarisation = Polarisation::kFull;
      o.n_baseline = n_row;
      o.n_time = 1;
      o.n_source = n_source;
      o.n_channel = n_row % 2 == 0 ? 3 : 65;
      check(o, devices);
    }
  for (const std::size_t n_channel : {1, 2, 7, 8, 9, 16, 17, 25, 63, 64, 65, 127, 129, 300}) {
    CaseOptions o;
    o.n_channel = n_channel;
    o.n_source = 3;
    o.smearing = true;
    check(o, devices);
  }
}

// Threads share the sources of a tile, the more of them the fewer rows, tiles and sources there are.
TEST(PsvDevice, SharesSourcesAmongThreads) {
  Devices devices = Devices::chosen();
  for (const std::size_t n_channel : {1, 12, 64})
    for (const std::size_t n_source : {127, 128, 300, 517})
      for (const Polarisation polarisation :
           {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kGeneral}) {
        CaseOptions o;
        o.polarisation = polarisation;
        o.n_source = n_source, o.n_channel = n_channel;
        o.n_baseline = 5, o.n_time = 1;
        check(o, devices);
        o.smearing = o.gaussians = n_channel == 12;
        if (o.smearing) check(o, devices);
      }
}

TEST(PsvDevice, SumsUnpolarisedSourcesApart) {
  CaseOptions o;
  o.polarisation = Polarisation::kFew;
  o.n_source = 400;
  o.n_baseline = 2, o.n_time = 1, o.n_channel = 9;
  Devices devices = Devices::chosen();
  for (const Grid grid : {Grid::kRegular, Grid::kIrregular})
    for (int bits = 0; bits < 4; ++bits) {
      o.grid = grid;
      o.gaussians = bits & 1;
      o.spectra = bits & 2;
      check(o, devices);
    }
}

TEST(PsvDevice, ADirectionThatIsNotANumberShows) {
  CaseOptions o;
  o.n_source = 3;
  o.n_channel = 9;
  Case c(o);
  c.m[1] = std::numeric_limits<double>::quiet_NaN();
  Devices devices = Devices::chosen();
  for (const bool single : {false, true})
    for (const Complex<double>& v : devices.solve(c, single)) {
      EXPECT_TRUE(std::isnan(v.re) || v.re == 0) << v.re;  // XY and YX of unpolarised sources may be zero
    }
  EXPECT_TRUE(std::isnan(devices.solve(c, true).front().re));
  EXPECT_TRUE(std::isnan(devices.solve(c, false).front().re));
}

TEST(PsvDevice, SumsManySourcesInSinglePrecision) {
  CaseOptions o;
  o.n_source = 3000;
  o.n_baseline = 2, o.n_time = 1, o.n_channel = 9;
  o.phase_rad = 1e-3;  // near the phase centre the rounding errors of all additions may have one sign
  Devices devices = Devices::chosen();
  check(o, devices);
}

TEST(PsvDevice, AnEmptySkyGivesZeros) {
  CaseOptions o;
  o.n_source = 1;
  Case c(o);
  c.sources.clear(), c.l.clear(), c.m.clear(), c.n.clear(), c.brightness.clear();
  Devices devices = Devices::chosen();
  for (const auto& v : devices.solve(c, false)) EXPECT_EQ(v, Complex<double>());
}

TEST(PsvDevice, NotANumberIsSeenAndStaysInItsPlane) {
  CaseOptions o;
  Case c(o);
  c.brightness[0] = {std::nan(""), 0};
  Devices devices = Devices::chosen();
  EXPECT_TRUE(std::isnan(devices.solve(c, false)[0].re));
}

TEST(PsvDevice, TheSkyIsCopiedOnceAndRowsGoUpAndVisibilitiesComeDown) {
  CaseOptions o;
  o.polarisation = Polarisation::kFull;
  o.spectra = o.smearing = o.gaussians = true;
  o.n_baseline = 10;
  Case c(o);
  Devices devices;
  devices.solve(c, false);
  memory::SimulatedDevice& device = *devices.simulated.front();
  const auto first = device.statistics();
  const std::uint64_t rows = c.n_row() * sizeof(psv::pipeline::DeviceRow);
  const std::uint64_t visibilities = c.n_row() * c.n_channel() * 4 * sizeof(Complex<double>);
  EXPECT_GT(first.bytes_to_device, rows + o.n_source * (3 + 4 * c.n_channel()) * sizeof(double));
  EXPECT_EQ(first.bytes_to_host, visibilities);
  constexpr int kTimes = 300;
  for (int i = 0; i < kTimes; ++i) {
    c.uvw[0][3] += 1;  // the next time-slot group
    devices.solve(c, false);
  }
  const auto later = device.statistics();
  EXPECT_EQ(later.bytes_to_device - first.bytes_to_device, kTimes * rows);
  EXPECT_EQ(later.bytes_to_host - first.bytes_to_host, kTimes * visibilities);
  EXPECT_EQ(later.bytes_in_use, first.bytes_in_use) << "nothing is left behind";
  EXPECT_EQ(devices.contexts.front()->arrays().statistics().evictions, 0u);
  // A flux that changes brings the fluxes along, and nothing else.
  c.brightness[0].re += 1;
  devices.solve(c, false);
  EXPECT_EQ(device.statistics().bytes_to_device - later.bytes_to_device,
            rows + o.n_source * c.n_channel() * 4 * sizeof(double));
}

TEST(PsvDevice, JonesTermsAreCopiedOnceToo) {
  CaseOptions o;
  o.jones = JonesKind::kMatrix;
  Case c(o);
  Devices devices;
  devices.solve(c, false);
  const auto first = devices.simulated.front()->statistics();
  for (int i = 0; i < 10; ++i) devices.solve(c, false);
  EXPECT_EQ(devices.simulated.front()->statistics().bytes_to_device - first.bytes_to_device,
            10 * c.n_row() * sizeof(psv::pipeline::DeviceRow));
}

TEST(PsvDevice, AProblemOfAnySizeRunsWithinTheBudget) {
  CaseOptions o;
  o.polarisation = Polarisation::kFull;
  o.spectra = o.smearing = o.gaussians = true;
  o.n_source = 100;
  o.n_baseline = 30;
  o.n_time = 5;
  o.n_channel = 150;
  for (const JonesKind jones : {JonesKind::kNone, JonesKind::kMatrix}) {
    o.jones = jones;
    const Case c(o);
    Devices whole;
    const auto expected = whole.solve(c, false);
    int solved = 0;
    for (std::size_t budget = std::size_t{1} << 23; budget >= 20000; budget /= 2) {
      Devices devices(std::size_t{1} << 28, 1, budget);
      std::vector<Complex<double>> got;
      try {
        got = devices.solve(c, false);
      } catch (const memory::OutOfMemory&) {
        // One source with its Jones terms, one block of rows, one run of channels.
        EXPECT_LT(budget, jones == JonesKind::kNone ? 30000u : 1200000u);
        continue;
      }
      ++solved;
      std::vector<oracle::Number> numbers;
      for (const auto& v : expected) numbers.emplace_back(v.re, v.im);
      EXPECT_LT(largest_error(got, numbers, c.total_flux()), kDouble) << budget << ": " << devices.report;
      EXPECT_LE(devices.contexts.front()->arrays().statistics().peak_bytes, budget);
    }
    EXPECT_GE(solved, 4);
  }
}

TEST(PsvDevice, EveryAllocationMayFail) {
  CaseOptions o;
  o.polarisation = Polarisation::kFull;
  o.gaussians = true;
  o.n_baseline = 30;
  o.n_channel = 70;
  const Case c(o);
  Devices undisturbed;
  const auto expected = undisturbed.solve(c, false);
  std::vector<oracle::Number> numbers;
  for (const auto& v : expected) numbers.emplace_back(v.re, v.im);
  const std::size_t n_allocation = undisturbed.simulated.front()->allocations_tried();
  ASSERT_GT(n_allocation, 15u);
  for (std::size_t n = 1; n <= n_allocation; ++n)
    for (const std::size_t count : {std::size_t{1}, std::size_t{5}, std::size_t{100000}}) {
      Devices devices;
      devices.simulated.front()->fail_allocations(n, count);
      try {
        EXPECT_LT(largest_error(devices.solve(c, false), numbers, c.total_flux()), kDouble) << n;
      } catch (const memory::OutOfMemory&) {
        EXPECT_GT(count, 5u) << "a device that works again is used again";
      }
      devices.simulated.front()->fail_allocations(0, 0);
      EXPECT_TRUE(same_bits(devices.solve(c, false), expected)) << "and all is well afterwards";
      const auto simulated = devices.simulated.front();
      devices.contexts.clear();
      EXPECT_EQ(simulated->statistics().bytes_in_use, 0u);
    }
}

TEST(PsvDevice, SeveralDevicesShareTheRows) {
  CaseOptions o;
  o.n_baseline = 700, o.n_time = 20, o.n_channel = 2, o.n_source = 2;
  const Case c(o);
  Devices one, three(std::size_t{1} << 28, 3);
  EXPECT_TRUE(same_bits(one.solve(c, false), three.solve(c, false)));
  for (const auto& device : three.simulated) EXPECT_GT(device->statistics().bytes_to_host, 0u);
  std::uint64_t down = 0;
  for (const auto& device : three.simulated) down += device->statistics().bytes_to_host;
  EXPECT_EQ(down, one.simulated.front()->statistics().bytes_to_host);
}

TEST(PsvDevice, CopiesThatRunAheadFindMemoryThatNobodyElseHas) {
  CaseOptions o;
  o.n_baseline = 700, o.n_time = 20, o.n_channel = 2, o.n_source = 2;
  Case c(o);
  Devices late, early(std::size_t{1} << 28, 1, 0, true);
  for (int k = 0; k < 3; ++k) {
    c.uvw[0][3] += 1;
    EXPECT_TRUE(same_bits(early.solve(c, false), late.solve(c, false)));
    EXPECT_TRUE(same_bits(early.solve(c, true), late.solve(c, true)));
  }
}

TEST(PsvDevice, CanBeStopped) {
  const Case c(CaseOptions{});
  Devices devices;
  const psv::Sky<double> sky = psv::pack_sky<double>(c.sky_input());
  const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
  const psv::Rows rows = c.psv_rows();
  const psv::JonesTerms jones;
  const psv::Output output;
  Cancellation cancellation;
  cancellation.request();
  EXPECT_THROW(psv::planner::solve_on_devices({sky, channels, rows, jones}, output, 1e-12,
                                              {devices.contexts, *devices.threads, cancellation}),
               Cancelled);
}

TEST(PsvDeviceChunks, AreAsLargeAsUsefulAndFit) {
  psv::pipeline::DeviceCosts costs;
  costs.n_source = 1000, costs.n_row = 20000, costs.n_channel = 640;
  costs.fixed = 1000, costs.source = 100, costs.row = 72, costs.visibility = 64;
  costs.longest_run = 64, costs.rows_per_block = 16;
  const auto bytes = [&](const psv::pipeline::DeviceChunks& chunks) {
    return costs.fixed + chunks.sources * costs.source +
           psv::pipeline::kSlots * chunks.rows * (costs.row + chunks.channels * costs.visibility);
  };
  const auto ample = psv::pipeline::device_chunks(costs, std::size_t{1} << 40);
  ASSERT_TRUE(ample);
  EXPECT_EQ(ample->sources, 1000u);
  EXPECT_EQ(ample->channels, 640u);
  EXPECT_LE(ample->rows * 640 * costs.visibility, psv::pipeline::kMostStaged);
  EXPECT_GT(ample->rows * 640 * costs.visibility, psv::pipeline::kMostStaged * 9 / 10);
  costs.n_channel = 256;
  EXPECT_EQ(psv::pipeline::device_chunks(costs, std::size_t{1} << 40)->rows, psv::pipeline::kBusyRows);
  costs.n_channel = 640;
  std::size_t least = 0;
  for (std::size_t budget = 1000; budget < (std::size_t{1} << 32); budget += budget / 10) {
    const auto chunks = psv::pipeline::device_chunks(costs, budget);
    if (!chunks) {
      least = budget;
      continue;
    }
    EXPECT_LE(bytes(*chunks), budget);
    EXPECT_GE(chunks->channels, costs.longest_run);
    EXPECT_GE(chunks->sources, 1u);
  }
  EXPECT_GT(least, 1000u);
  EXPECT_LT(least, bytes({1, 16, 64}));
}

}  // namespace
}  // namespace rimetree::testing
