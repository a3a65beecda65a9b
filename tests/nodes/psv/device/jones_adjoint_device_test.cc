// Derivatives with respect to Jones terms on devices, and to skies behind terms that vary along channels: every case
// that the host's kernel is held to, against the same scalar body on traced numbers and against the host's kernel, on
// the devices that RIMETREE_DEVICE names or on a simulated one. And, on simulated devices: chunks, bytes, failures.
#include "nodes/psv/device/direct.h"
#include "nodes/psv/device/side_rows.h"
#include "tests/support/psv_adjoint_cases.h"
#include "tests/support/psv_adjoint_devices.h"

namespace rimetree::testing {
namespace {

/// The kernel on devices, with so many threads on the host.
Pull pull_with(Devices& devices) {
  return [&devices](const AdjointProblem& problem, psv::adjoint::SourceWish wish, int n_thread) {
    devices.threads = std::make_unique<ThreadPool>(n_thread);
    return pull_on(devices, problem, wish);
  };
}

/// Both kernels are within 1e-12 of what the largest derivative's terms add up to.
constexpr double kBound = 1e-11;

void check_device(const Case& c) {
  Devices devices = Devices::chosen();
  check(c, pull_with(devices));
  const AdjointProblem problem(c);
  expect_equal(pull_on(devices, problem), problem.on_host(), kBound);
}
void check_all(const std::vector<CaseOptions>& cases) {
  for (const CaseOptions& options : cases) check_device(Case(options));
}

TEST(PsvJonesAdjointDevice, ConstantTerms) { check_all(constant_terms()); }

TEST(PsvJonesAdjointDevice, TermsThatVaryAlongChannels) { check_all(varying_terms()); }

TEST(PsvJonesAdjointDevice, TermsAndSpectra) { check_all(terms_and_spectra()); }

TEST(PsvJonesAdjointDevice, EveryGrid) { check_all(terms_on_every_grid()); }

TEST(PsvJonesAdjointDevice, SmearingWeakAndStrong) {
  check_all(smearing_of_any_strength(JonesKind::kAntennas, 9));
  check_all(smearing_of_any_strength(JonesKind::kTwoPairs, 9));
}

TEST(PsvJonesAdjointDevice, AnAntennaOnBothEndsOfABaseline) { check_device(antenna_on_both_ends()); }

TEST(PsvJonesAdjointDevice, TermsThatVaryInFrequencyButNotInTime) {
  check_device(terms_constant_in_time(false));
  check_device(terms_constant_in_time(true));
}

TEST(PsvJonesAdjointDevice, SidesOfManyRowsAndOfFew) { check_all(many_times()); }

TEST(PsvJonesAdjointDevice, TermsThatAreStoredOnceButAskedForTwice) {
  Devices devices = Devices::chosen();
  check_terms_asked_for_twice(pull_with(devices));
}

TEST(PsvJonesAdjointDevice, NotANumberWhereNothingDependsOnIt) {
  Devices devices = Devices::chosen();
  check_not_a_number(pull_with(devices));
}

TEST(PsvJonesAdjointDevice, TakesAnyNumberOfRowsSourcesAndChannels) {
  Devices devices = Devices::chosen();
  for (const auto jones : {JonesKind::kMatrix, JonesKind::kAntennas})
    for (const std::size_t n_source : {1, 2, 7, 16, 17, 130})
      for (const std::size_t n_row : {1, 15, 131})
        for (const std::size_t n_channel : {1, 9, 65}) {
          const Case c(
              {.n_source = n_source, .n_baseline = n_row, .n_time = 1, .n_channel = n_channel, .jones = jones});
          SCOPED_TRACE(c.options);
          const AdjointProblem problem(c);
          expect_equal(pull_on(devices, problem), problem.on_host(), kBound);
        }
  const Case nothing({.n_source = 0, .jones = JonesKind::kAntennas});
  EXPECT_EQ(pull_on(devices, AdjointProblem(nothing)).moving_jones.size(), 0u);
}

/// Long sides are cut into pieces of their own, in order, and rows may come in any.
TEST(PsvJonesAdjointDevice, RowsAreSortedByTheirSides) {
  for (const bool in_time : {false, true}) {
    Case c({.n_source = 1, .n_baseline = 300, .n_time = 7, .n_channel = 1, .jones = JonesKind::kMatrix});
    for (auto& pair : c.jones_pairs)
      for (int e = 0; e < 4; ++e) {
        pair.p[e] = c.jones_pairs[0].p[e], pair.q[e].time = 0;  // a term of all baselines, and one of each
        if (!in_time) pair.p[e].time = 0;
      }
    const AdjointProblem of(c);
    const psv::pipeline::PackedProblem packed({of.sky, of.channels, of.ordered.rows, of.jones},
                                              psv::pipeline::device_channels(of.channels, 1e3, true));
    std::vector<psv::pipeline::DeviceRow> rows;
    for (std::size_t r = 0; r < of.ordered.rows.n_row; ++r)
      rows.push_back(psv::device::device_row(of.ordered.rows, packed.jones, r * 11 % of.ordered.rows.n_row));
    for (const bool right : {false, true}) {
      const auto side = [&](std::int32_t r) {
        const psv::pipeline::DeviceRow& row = rows[static_cast<std::size_t>(r)];
        return right ? row.right : in_time ? row.time : 0;
      };
      const std::vector<std::int32_t> data = psv::device::side_rows(rows, packed, right);
      const psv::device::DeviceSideRows sides(data.data(), data.size() * sizeof data[0], rows.size());
      EXPECT_EQ(psv::device::n_side(packed, right), right ? 300 : in_time ? 7 : 1);
      EXPECT_LE(data.size() * sizeof data[0], rows.size() * psv::device::kSideRowBytes / 2);
      EXPECT_EQ(sides.n_piece, right ? 300u : in_time ? 7u * 3 : 17u);  // of 7, 300 and 2100 rows
      std::vector<int> taken(rows.size());
      std::int32_t end = 0, last = -1;
      for (std::size_t i = 0; i < sides.n_piece; ++i) {
        const psv::device::SidePiece& piece = sides.d_piece[i];
        EXPECT_EQ(piece.first, end);
        EXPECT_GT(piece.end, piece.first);
        EXPECT_GE(piece.side, last);
        for (std::int32_t k = piece.first; k < piece.end; ++k) {
          EXPECT_EQ(side(sides.d_order[k]), piece.side);
          ++taken[static_cast<std::size_t>(sides.d_order[k])];
        }
        end = piece.end, last = piece.side;
      }
      EXPECT_EQ(taken, std::vector<int>(rows.size(), 1));
    }
  }
}

TEST(PsvJonesAdjointDevice, AProblemOfAnySizeRunsWithinTheBudget) {
  for (const auto jones : {JonesKind::kTwoPairs, JonesKind::kAntennas}) {
    const Case c({.n_source = 40,
                  .n_baseline = 28,
                  .n_time = 5,
                  .n_channel = 150,
                  .jones = jones,
                  .gaussians = true,
                  .disks = true,
                  .smearing = true});
    const AdjointProblem problem(c);
    const psv::adjoint::SourceAdjoints expected = problem.on_host();
    int solved = 0, cut = 0;
    for (std::size_t budget = std::size_t{1} << 26; budget >= 100000; budget /= 3) {
      Devices devices(std::size_t{1} << 28, 1, budget);
      try {
        const psv::adjoint::SourceAdjoints got = pull_on(devices, problem);
        expect_equal(got, expected, kBound);
        expect_same_bits(got, pull_on(devices, problem));
        EXPECT_EQ(devices.report.find("memory was short"), std::string::npos) << budget << ": " << devices.report;
        ++solved;
        cut += budget < (std::size_t{1} << 23);
      } catch (const memory::OutOfMemory&) {
        EXPECT_LT(budget, std::size_t{3} << 20);
      }
      EXPECT_LE(devices.contexts.front()->arrays().statistics().peak_bytes, budget);
    }
    EXPECT_GE(solved, 3);
    EXPECT_GE(cut, 1);
  }
}

TEST(PsvJonesAdjointDevice, EveryAllocationMayFail) {
  for (const auto jones : {JonesKind::kTwoPairs, JonesKind::kAntennas}) {
    const Case c({.n_source = 6, .n_baseline = 6, .n_channel = 30, .jones = jones, .gaussians = true, .disks = true});
    expect_any_allocation_may_fail(AdjointProblem(c), 20, kBound);
  }
}

TEST(PsvJonesAdjointDevice, SeveralDevicesShareTheRows) {
  const Case c({.n_source = 2, .n_baseline = 703, .n_time = 20, .n_channel = 2, .jones = JonesKind::kAntennas});
  const AdjointProblem problem(c);
  Devices one, three(std::size_t{1} << 28, 3);
  const psv::adjoint::SourceAdjoints got = pull_on(three, problem);
  expect_equal(got, pull_on(one, problem), kBound);
  expect_same_bits(got, pull_on(three, problem));
  for (const auto& device : three.simulated) EXPECT_GT(device->statistics().bytes_to_device, 0u);
}

/// Products of terms stay on the device; rows, what sorts them and adjoints go up; what sides gain comes down.
TEST(PsvJonesAdjointDevice, RowsAndAdjointsGoUpAndWhatSidesGainComesDown) {
  for (const auto jones : {JonesKind::kTwoPairs, JonesKind::kAntennas})
    for (const bool unknown : {false, true}) {
      Devices devices;
      memory::SimulatedDevice& device = *devices.simulated.front();
      const Case c({.n_source = 20, .n_baseline = 10, .jones = jones});
      AdjointProblem problem(c);
      if (!unknown) problem.jones.targets = {};
      const psv::adjoint::SourceAdjoints first = pull_on(devices, problem);
      const auto before = device.statistics();
      constexpr int kTimes = 20;
      for (int i = 0; i < kTimes; ++i) expect_same_bits(pull_on(devices, problem), first);
      const auto after = device.statistics();
      const bool antennas = jones == JonesKind::kAntennas, by_sides = unknown || antennas;
      const std::uint64_t n_row = c.n_row(), n_time = c.options.n_time;
      // Of five antennas four are on either side; at each time a baseline has terms of its own, or a row of each side.
      const std::uint64_t n_left = (antennas ? 4 : 10) * n_time, n_right = n_left;
      const std::uint64_t sorted =
          2 * n_row * sizeof(std::int32_t) + (n_left + n_right) * sizeof(psv::device::SidePiece);
      EXPECT_EQ(after.bytes_to_device - before.bytes_to_device,
                kTimes * (n_row * (sizeof(psv::pipeline::DeviceRow) + 4 * c.n_channel() * sizeof(Complex<double>)) +
                          (by_sides ? sorted : 0)));
      const std::uint64_t side = 20 * (antennas ? c.n_channel() : 1) * 4 * sizeof(Complex<double>);
      const std::uint64_t places = 20 * 3 * sizeof(double), weights = 20 * 8 * sizeof(double);
      EXPECT_EQ(after.bytes_to_host - before.bytes_to_host,
                kTimes * (places + (by_sides ? (n_left + (unknown ? n_right : 0)) * side : weights)));
      EXPECT_EQ(after.bytes_in_use, before.bytes_in_use) << "nothing is left behind";
    }
}

}  // namespace
}  // namespace rimetree::testing
