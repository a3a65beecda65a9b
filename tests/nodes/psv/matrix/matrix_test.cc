// The matrix product on devices, held to a sum in extended precision: on the devices that RIMETREE_DEVICE names, or on
// a simulated one, whose bodies are those that a GPU runs, but for its matrix units, which the host stands in for.
#include <gtest/gtest.h>

#include "nodes/psv/matrix/plan.h"
#include "runtime/core/error.h"
#include "runtime/device/device_rates.h"
#include "tests/support/psv_array_case.h"
#include "tests/support/psv_combinations.h"
#include "tests/support/psv_devices.h"

namespace rimetree::testing {
namespace {

std::vector<Complex<double>> solve(Devices& devices, const ArrayCase& c, bool single,
                                   const psv::matrix::MatrixVariant& variant) {
  return devices.solve(c, single, {psv::planner::MethodWish::Kind::kMatrix, variant}, c.ends);
}

/// Old GPUs have no matrix units for some types; the planner takes other variants there.
bool can_run(const Devices& devices, const psv::matrix::MatrixVariant& variant, bool single) {
  const DeviceRates rates = rates_of(devices.contexts.front()->device());
  return variant.unit != psv::matrix::MatrixUnitKind::kTensor || (single ? rates.tf32_tensor : rates.double_tensor) > 0;
}

void check(Devices& devices, const CaseOptions& o, const ArrayOptions& a, const psv::matrix::MatrixVariant& variant) {
  SCOPED_TRACE(::testing::Message() << "unit " << int(variant.unit) << " tile " << variant.tile << " warps "
                                    << variant.warps << " antennas " << a.n_antenna << ' ' << o);
  const ArrayCase c(o, a);
  const std::vector<oracle::Number> expected = c.expected();
  for (const bool single : {false, true})
    if (can_run(devices, variant, single)) {
      EXPECT_LT(largest_error(solve(devices, c, single, variant), expected, c.total_flux()),
                single ? kSingle : kDouble);
    }
}

TEST(PsvMatrix, AllVariantsAgreeWithExtendedPrecision) {
  Devices devices = Devices::chosen();
  unsigned seed = 1;
  for (const psv::matrix::MatrixVariant& variant : psv::matrix::kMatrixVariants)
    for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull})
      for (int bits = 0; bits < 4; ++bits) {
        CaseOptions o;
        o.polarisation = polarisation;
        o.spectra = bits & 1;
        o.smearing = bits & 2;
        o.exposure_s = 0.1;
        o.n_source = 11;
        o.n_channel = 13;
        o.n_time = 2;
        o.seed = ++seed;
        check(devices, o, {.n_antenna = 7}, variant);
      }
}

TEST(PsvMatrix, TakesAnyGridOfChannels) {
  Devices devices = Devices::chosen();
  for (const Grid grid :
       {Grid::kRegular, Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle, Grid::kWide})
    for (const bool smearing : {false, true}) {
      CaseOptions o;
      o.grid = grid;
      o.polarisation = Polarisation::kFull;
      o.smearing = smearing;
      o.exposure_s = 0.1;
      o.spacing_hz = 5e4;
      o.phase_rad = grid == Grid::kWide ? 30 : 1e4;
      o.n_source = 5, o.n_time = 1, o.n_channel = 70;
      check(devices, o, {.n_antenna = 5}, psv::matrix::kMatrixVariants[0]);
      check(devices, o, {.n_antenna = 5}, psv::matrix::kMatrixVariants[4]);
    }
}

TEST(PsvMatrix, TakesAnyNumberOfAntennasAndSources) {
  Devices devices = Devices::chosen();
  for (const psv::matrix::MatrixVariant& variant : {psv::matrix::kMatrixVariants[0], psv::matrix::kMatrixVariants[2]})
    for (const int n_antenna : {2, 3, 8, 9, 16, 17, 33, 40})
      for (const std::size_t n_source : {1, 4, 5, 17}) {
        CaseOptions o;
        o.n_source = n_source;
        o.n_time = 1, o.n_channel = 3;
        o.polarisation = n_source % 2 == 0 ? Polarisation::kFull : Polarisation::kUnpolarised;
        check(devices, o, {.n_antenna = n_antenna}, variant);
      }
}

TEST(PsvMatrix, TakesRowsAsTheyCome) {
  Devices devices = Devices::chosen();
  for (int bits = 0; bits < 16; ++bits)
    for (const JonesKind jones : {JonesKind::kNone, JonesKind::kMatrix}) {
      ArrayOptions a;
      a.n_antenna = 18;
      a.autocorrelations = bits & 1;
      a.both_orders = bits & 2;
      a.leave_out = bits & 4 ? 3 : 0;
      a.repeat = bits & 8 ? 2 : 1;
      a.repeats_differ = bits & 8;
      CaseOptions o;
      o.polarisation = Polarisation::kFull;
      o.jones = jones;
      o.n_source = 3, o.n_time = 2, o.n_channel = 2;
      check(devices, o, a, {psv::matrix::MatrixUnitKind::kTensor, 16, 4});
    }
}

TEST(PsvMatrix, AppliesJonesTerms) {
  Devices devices = Devices::chosen();
  for (const JonesKind jones :
       {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs, JonesKind::kVarying, JonesKind::kAntennas})
    for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kGeneral})
      for (int bits = 0; bits < 4; ++bits) {
        CaseOptions o;
        o.jones = jones;
        o.polarisation = polarisation;
        o.spectra = bits & 1;
        o.smearing = bits & 2;
        o.exposure_s = 0.1;
        o.grid = bits & 1 ? Grid::kIrregular : Grid::kRegular;
        o.n_source = 7, o.n_time = 2, o.n_channel = 9;
        check(devices, o, {.n_antenna = 6}, psv::matrix::kMatrixVariants[static_cast<std::size_t>(bits)]);
      }
}

TEST(PsvMatrix, HoldsForPhasesOfAMillionRadians) {
  Devices devices = Devices::chosen();
  for (const Grid grid : {Grid::kRegular, Grid::kIrregular}) {
    CaseOptions o;
    o.grid = grid;
    o.phase_rad = 1e6;
    o.polarisation = Polarisation::kFull;
    check(devices, o, {.n_antenna = 6}, psv::matrix::kMatrixVariants[0]);
  }
}

TEST(PsvMatrix, SumsManySourcesInSinglePrecision) {
  CaseOptions o;
  o.n_source = 3000;
  o.n_time = 1, o.n_channel = 2;
  o.phase_rad = 1e-3;  // near the phase centre the rounding errors of all additions may have one sign
  Devices devices = Devices::chosen();
  check(devices, o, {.n_antenna = 3}, psv::matrix::kMatrixVariants[0]);
  check(devices, o, {.n_antenna = 3}, psv::matrix::kMatrixVariants[4]);
}

TEST(PsvMatrix, AnEmptySkyGivesZeros) {
  CaseOptions o;
  o.n_source = 1;
  ArrayCase c(o, {});
  c.sources.clear(), c.l.clear(), c.m.clear(), c.n.clear(), c.brightness.clear();
  Devices devices = Devices::chosen();
  for (const auto& v : solve(devices, c, false, {})) EXPECT_EQ(v, Complex<double>());
}

/// Nodes that smearing took, and the largest error.
struct Smeared {
  int n_time = 0, n_frequency = 0;
  double bound = 0;
};
Smeared smearing_of(const ArrayCase& c, double tolerance) {
  const psv::Sky<double> sky = psv::pack_sky<double>(c.sky_input());
  const psv::Channels channels = psv::analyse_channels(c.frequency.data(), c.width.data(), c.n_channel());
  const psv::Rows rows = c.psv_rows();
  const psv::JonesTerms jones;
  ThreadPool threads(1);
  const psv::matrix::MatrixPlan plan =
      psv::matrix::matrix_plan({sky, channels, rows, jones, 1, {}, c.ends}, {}, tolerance, threads);
  if (!plan.obstacle.empty()) return {};
  return {plan.n_time_node, plan.n_frequency_node, plan.bound};
}

TEST(PsvMatrix, SmearingTakesAsManyNodesAsTheBoundAsksFor) {
  Devices devices = Devices::chosen();
  int before = 1;
  bool refused = false;
  for (const double exposure : {1e-5, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0, 3.0, 10.0}) {
    CaseOptions o;
    o.smearing = true;
    o.exposure_s = exposure;
    o.spacing_hz = 1e5 * exposure;  // changes across a channel, too
    o.n_source = 6, o.n_time = 2, o.n_channel = 5;
    const ArrayCase c(o, {});
    const Smeared smeared = smearing_of(c, 1e-12);
    if (smeared.n_time == 0) {
      refused = true;
      EXPECT_THROW(solve(devices, c, false, {}), Error);
      continue;
    }
    EXPECT_FALSE(refused) << "what is refused stays refused as cells grow";
    EXPECT_GE(smeared.n_time, before);
    EXPECT_LE(smeared.bound, 0.5e-12);
    EXPECT_LE(smearing_of(c, 1e-6).n_time, smeared.n_time);
    before = smeared.n_time;
    check(devices, o, {}, psv::matrix::kMatrixVariants[0]);
  }
  EXPECT_GT(before, 4);
  EXPECT_TRUE(refused);
}

TEST(PsvMatrix, SaysWhyItIsNotPossible) {
  const auto reason = [](const ArrayCase& c, bool with_ends = true) {
    Devices devices;
    const auto values = devices.solve(c, false, {}, with_ends ? c.ends : psv::BaselineEnds());
    EXPECT_LT(largest_error(values, c.expected(), c.total_flux()), kDouble);
    return devices.report;
  };
  CaseOptions o;
  o.gaussians = true;
  EXPECT_NE(reason(ArrayCase(o, {})).find("tapers of extended sources depend on the baseline"), std::string::npos);
  o = {};
  o.polarisation = Polarisation::kGeneral;
  EXPECT_NE(reason(ArrayCase(o, {})).find("not Hermitian"), std::string::npos);
  o = {};
  EXPECT_NE(reason(ArrayCase(o, {}), false).find("antennas of the baselines are not known"), std::string::npos);
  o.smearing = true;
  o.exposure_s = 1000;
  EXPECT_NE(reason(ArrayCase(o, {})).find("phases change too much over an exposure"), std::string::npos);
  o = {};
  o.n_time = o.n_channel = 1;
  ArrayCase bent(o, {.n_antenna = 20});
  for (std::size_t r = 0; r < bent.n_row(); ++r) bent.rows[r].u = bent.uvw[0][r] *= 1 + 1e-9 * double(r);
  EXPECT_NE(reason(bent).find("UVW are not differences of one vector per antenna"), std::string::npos);
}

TEST(PsvMatrix, FitsIntoSmallBudgetsOnSeveralDevicesAndSurvivesFailedAllocations) {
  for (const JonesKind jones : {JonesKind::kNone, JonesKind::kAntennas}) {
    CaseOptions o;
    o.polarisation = Polarisation::kFull;
    o.jones = jones;
    o.n_source = 30, o.n_time = 6, o.n_channel = 40;
    const ArrayCase c(o, {.n_antenna = 9});
    const psv::matrix::MatrixVariant variant{psv::matrix::MatrixUnitKind::kTensor, 16, 4};
    Devices whole;
    const auto expected = solve(whole, c, false, variant);
    std::vector<oracle::Number> numbers;
    for (const auto& v : expected) numbers.emplace_back(v.re, v.im);
    Devices three(std::size_t{1} << 28, 3);
    EXPECT_TRUE(same_bits(solve(three, c, false, variant), expected));
    int solved = 0;
    for (std::size_t budget = std::size_t{1} << 23; budget >= 20000; budget /= 2) {
      Devices devices(std::size_t{1} << 28, 1, budget);
      try {
        const auto got = solve(devices, c, false, variant);
        EXPECT_LT(largest_error(got, numbers, c.total_flux()), kDouble) << budget << ": " << devices.report;
        EXPECT_LE(devices.contexts.front()->arrays().statistics().peak_bytes, budget);
        ++solved;
      } catch (const memory::OutOfMemory&) {
        EXPECT_LT(budget, 2000000u);
      }
    }
    EXPECT_GE(solved, 4);
    const std::size_t n_allocation = whole.simulated.front()->allocations_tried();
    for (std::size_t n = 1; n <= n_allocation; ++n) {
      Devices devices;
      devices.simulated.front()->fail_allocations(n, 2);
      EXPECT_LT(largest_error(solve(devices, c, false, variant), numbers, c.total_flux()), kDouble) << n;
    }
  }
}

TEST(PsvMatrix, TheSkyIsCopiedOnce) {
  CaseOptions o;
  o.polarisation = Polarisation::kFull;
  ArrayCase c(o, {});
  Devices devices;
  solve(devices, c, false, {});
  memory::SimulatedDevice& device = *devices.simulated.front();
  const auto first = device.statistics();
  constexpr int kTimes = 20;
  for (int i = 0; i < kTimes; ++i) solve(devices, c, false, {});
  const auto later = device.statistics();
  const std::uint64_t per_row =
      sizeof(psv::matrix::MatrixRow) + sizeof(psv::matrix::MatrixTile) + 2 * sizeof(psv::matrix::MatrixAntenna);
  EXPECT_LE(later.bytes_to_device - first.bytes_to_device, kTimes * c.n_row() * per_row);
  EXPECT_GT(first.bytes_to_device, o.n_source * 7 * sizeof(double));
  EXPECT_EQ(later.bytes_to_host - first.bytes_to_host, kTimes * first.bytes_to_host);
  EXPECT_EQ(later.bytes_in_use, first.bytes_in_use);
}

}  // namespace
}  // namespace rimetree::testing
