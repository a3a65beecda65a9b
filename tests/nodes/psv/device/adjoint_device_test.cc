// The adjoint kernel for devices: held to finite differences of the sum in extended precision and to the host's adjoint
// kernel, on the devices that RIMETREE_DEVICE names or on a simulated one, whose bodies are those that a GPU runs. And,
// on simulated devices: what is copied, what fits, and what happens where nothing does.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

#include "nodes/psv/device/direct_job.h"
#include "runtime/core/error.h"
#include "tests/support/psv_adjoint_devices.h"

namespace rimetree::testing {
namespace {

using oracle::Real;

/// Of the sum of magnitudes of what a derivative adds up: phases of 1e4 radians, of which twice double precision leaves
/// 1e-16, and rotations and recurrences of a few units in the last place each.
constexpr double kError = 1e-12;

/// A case with adjoints of its visibilities.
struct AdjointCase : Case {
  explicit AdjointCase(const CaseOptions& options) : Case(options), problem(*this) {}
  psv::adjoint::SourceAdjoints on_host(psv::adjoint::SourceWish wish = {true, true, true}) const {
    return problem.on_host(wish);
  }
  psv::adjoint::SourceAdjoints on(Devices& devices, psv::adjoint::SourceWish wish = {true, true, true}) const {
    return pull_on(devices, problem, wish);
  }
  AdjointProblem problem;
};

/// A derivative with the sum of the magnitudes of what it adds up.
struct Derived {
  Real value = 0, magnitude = 0;
};

/// Derivatives by finite differences, of the sky's sources in its order.
class Differences {
 public:
  explicit Differences(const AdjointCase& c) : c_(c), moved_(c.options) {}

  /// With respect to a number of a source that set(source, amount) moves by `amount`.
  template <class Set>
  Derived of(std::size_t source, Real step, Set&& set) {
    constexpr Real kWeight[3] = {45.0L / 60, -9.0L / 60, 1.0L / 60};  // sixth order
    // Only this source's share is wanted.
    moved_.sources = c_.sources;
    for (std::size_t s = 0; s < moved_.sources.size(); ++s)
      if (s != source)
        for (auto& b : moved_.sources[s].brightness) b = {};
    const oracle::Source at = moved_.sources[source];
    std::vector<oracle::Number> slope(c_.problem.adjoint.size());
    for (int k = 1; k <= 3; ++k)
      for (const int sign : {-1, 1}) {
        moved_.sources[source] = at;
        set(moved_.sources[source], sign * k * step);
        const std::vector<oracle::Number> v = moved_.expected();
        for (std::size_t i = 0; i < v.size(); ++i) slope[i] += sign * kWeight[k - 1] / step * v[i];
      }
    Derived derived;
    for (std::size_t i = 0; i < slope.size(); ++i) {
      const Complex<double> a = c_.problem.adjoint[i];
      derived.value += Real(a.re) * slope[i].real() + Real(a.im) * slope[i].imag();
      derived.magnitude += std::hypot(Real(a.re), Real(a.im)) * std::abs(slope[i]);
    }
    return derived;
  }

 private:
  const AdjointCase& c_;
  Case moved_;
};

void expect_near(double got, const Derived& expected, const char* what) {
  // Sixth differences of steps of a hundredth of a radian are exact to 1e-14.
  EXPECT_LE(std::abs(got - expected.value), kError * expected.magnitude) << what << ": " << expected.value;
}

/// Brightness of a source moved along a plane of the sky.
void move_along(psv::Plane plane, oracle::Matrix& b, Real amount) {
  const oracle::Number i(0, 1);
  switch (plane) {
    case psv::Plane::kI:
    case psv::Plane::kQ:
      b.e[0] += amount, b.e[3] += plane == psv::Plane::kI ? amount : -amount;
      return;
    case psv::Plane::kU:
      b.e[1] += amount, b.e[2] += amount;
      return;
    case psv::Plane::kV:
      b.e[1] += amount * i, b.e[2] -= amount * i;
      return;
    default: {
      const int at = static_cast<int>(plane) - static_cast<int>(psv::Plane::kXxRe);
      b.e[at / 2] += at % 2 == 0 ? oracle::Number(amount) : amount * i;
    }
  }
}

/// Against finite differences.
void check_differences(CaseOptions o, Devices& devices) {
  SCOPED_TRACE(o);
  AdjointCase c(o);
  c.problem.jones.targets = {};  // known ones
  const psv::adjoint::SourceAdjoints got = c.on(devices);
  Differences differences(c);
  const std::size_t n_plane = c.problem.sky.planes.size(), n_weight = c.problem.sky.n_weight_channel;
  const Real step = 0.01L * 0.02L / static_cast<Real>(o.phase_rad);  // directions are a few hundredths
  for (std::size_t k = 0; k < c.problem.sky.n_source; ++k) {
    const std::size_t s = c.problem.sky.order[k];
    using oracle::Source;
    // n - 1 is -(l^2 + m^2)/(1 + n).
    const double l = c.l[s], m = c.m[s], n = c.n[s], *at = &got.positions[3 * k];
    expect_near(at[0] - 2 * l / (1 + n) * at[2], differences.of(s, step, [](Source& x, Real d) { x.l += d; }), "l");
    expect_near(at[1] - 2 * m / (1 + n) * at[2], differences.of(s, step, [](Source& x, Real d) { x.m += d; }), "m");
    expect_near((l * l + m * m) / ((1 + n) * (1 + n)) * at[2],
                differences.of(s, 1000 * step, [](Source& x, Real d) { x.n += d; }), "n");
    for (std::size_t p = 0; p < n_plane; ++p)
      for (const std::size_t f : {std::size_t{0}, n_weight - 1})
        expect_near(
            got.weights[(k * n_weight + f) * n_plane + p],
            differences.of(s, 1, [&](Source& x, Real d) { move_along(c.problem.sky.planes[p], x.brightness[f], d); }),
            "weight");
    if (k < c.problem.sky.n_point) continue;
    double shape[3] = {};
    add_in_plane(got.axes[k - c.problem.sky.n_point], c.major[s], c.minor[s], c.angle[s], shape);
    expect_near(shape[0], differences.of(s, 1e-9L, [](Source& x, Real d) { x.major += d; }), "major axis");
    expect_near(shape[1], differences.of(s, 1e-9L, [](Source& x, Real d) { x.minor += d; }), "minor axis");
    expect_near(shape[2], differences.of(s, 1e-3L, [](Source& x, Real d) { x.position_angle += d; }), "angle");
  }
}

/// Against the host's kernel: sums of random signs, of which as many cancel as in adjoint_test.cc.
void check_host(const CaseOptions& o, Devices& devices) {
  SCOPED_TRACE(o);
  const AdjointCase c(o);
  expect_equal(c.on(devices), c.on_host(), 1e-11);
}

TEST(PsvAdjointDevice, AgreesWithDifferencesInExtendedPrecision) {
  Devices devices = Devices::chosen();
  CaseOptions o;
  o.n_source = 3, o.n_baseline = 2, o.n_time = 3, o.n_channel = 19;
  for (const auto polarisation : {Polarisation::kUnpolarised, Polarisation::kFull})
    for (const Grid grid : {Grid::kRegular, Grid::kRounded, Grid::kIrregular})
      for (int bits = 0; bits < 8; ++bits) {
        o.polarisation = polarisation;
        o.grid = grid;
        o.spectra = bits & 1;
        o.gaussians = bits & 2;
        o.smearing = bits & 4;
        ++o.seed;
        check_differences(o, devices);
      }
}

TEST(PsvAdjointDevice, AgreesWithDifferencesWithJonesTerms) {
  Devices devices = Devices::chosen();
  for (const auto jones : {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs})
    for (const bool extended : {false, true}) {
      CaseOptions o;
      o.n_source = 3, o.n_baseline = 2, o.n_time = 3, o.n_channel = 19;
      o.polarisation = Polarisation::kGeneral;
      o.jones = jones;
      o.gaussians = o.smearing = extended;
      check_differences(o, devices);
    }
}

TEST(PsvAdjointDevice, AgreesWithTheHost) {
  Devices devices = Devices::chosen();
  for (const auto polarisation :
       {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull, Polarisation::kGeneral})
    for (const Grid grid : {Grid::kRegular, Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular,
                            Grid::kSingle, Grid::kWide})
      for (int bits = 0; bits < 8; ++bits)
        check_host({.n_channel = 70,
                    .polarisation = polarisation,
                    .grid = grid,
                    .spectra = (bits & 1) != 0,
                    .gaussians = (bits & 2) != 0,
                    .smearing = (bits & 4) != 0},
                   devices);
}

TEST(PsvAdjointDevice, AgreesWithTheHostForSmearingOfAnyStrength) {
  Devices devices = Devices::chosen();
  for (const double spacing_hz : {1e2, 2.5e5, 2e7})
    for (const double exposure_s : {0.0, 1e-4, 1e-2, 4.0, 400.0}) {
      SCOPED_TRACE(::testing::Message() << spacing_hz << " Hz, " << exposure_s << " s");
      check_host({.spacing_hz = spacing_hz, .smearing = true, .exposure_s = exposure_s}, devices);
    }
}

TEST(PsvAdjointDevice, TakesAnyNumberOfRowsSourcesAndChannels) {
  Devices devices = Devices::chosen();
  for (const std::size_t n_source : {1, 2, 7, 16, 17, 130})
    for (const std::size_t n_row : {1, 15, 16, 17, 131})
      for (const std::size_t n_channel : {1, 9, 64, 65}) {
        check_host({.n_source = n_source,
                    .n_baseline = n_row,
                    .n_time = 1,
                    .n_channel = n_channel,
                    .polarisation = Polarisation::kFull},
                   devices);
      }
  check_host({.n_source = 0}, devices);
}

TEST(PsvAdjointDevice, GivesWhatIsAskedForOnly) {
  Devices devices;
  const AdjointCase c({.polarisation = Polarisation::kFull, .gaussians = true, .smearing = true});
  const psv::adjoint::SourceAdjoints all = c.on(devices);
  for (int bits = 1; bits < 8; ++bits) {
    const psv::adjoint::SourceWish wish{(bits & 1) != 0, (bits & 2) != 0, (bits & 4) != 0};
    const auto before = devices.simulated.front()->statistics().bytes_to_host;
    const psv::adjoint::SourceAdjoints got = c.on(devices, wish);
    EXPECT_EQ(got.weights, wish.weights ? all.weights : std::vector<double>());
    EXPECT_EQ(got.positions, wish.positions ? all.positions : std::vector<double>());
    EXPECT_EQ(numbers_of(got.axes), wish.shapes ? numbers_of(all.axes) : std::vector<double>());
    EXPECT_EQ(devices.simulated.front()->statistics().bytes_to_host - before,
              8 * (got.weights.size() + got.positions.size() + 6 * got.axes.size()));
  }
}

TEST(PsvAdjointDevice, RowsAndAdjointsOfPlanesGoUpAndDerivativesComeDown) {
  Devices devices;
  memory::SimulatedDevice& device = *devices.simulated.front();
  AdjointCase c({.n_source = 40, .n_baseline = 10, .polarisation = Polarisation::kCircular, .spectra = true});
  const psv::adjoint::SourceAdjoints first = c.on(devices);
  const auto before = device.statistics();
  constexpr int kTimes = 50;
  for (int i = 0; i < kTimes; ++i) EXPECT_EQ(c.on(devices).weights, first.weights);
  const auto after = device.statistics();
  EXPECT_EQ(after.bytes_to_device - before.bytes_to_device,
            kTimes * c.n_row() * (sizeof(psv::pipeline::DeviceRow) + 2 * c.n_channel() * sizeof(Complex<double>)));
  EXPECT_EQ(after.bytes_to_host - before.bytes_to_host, kTimes * 8 * (40 * c.n_channel() * 2 + 40 * 3));
  EXPECT_EQ(after.bytes_in_use, before.bytes_in_use) << "nothing is left behind";
}

TEST(PsvAdjointDevice, AProblemOfAnySizeRunsWithinTheBudget) {
  for (const bool spectra : {false, true}) {
    const AdjointCase c({.n_source = 100,
                         .n_baseline = 30,
                         .n_time = 5,
                         .n_channel = 150,
                         .polarisation = Polarisation::kFull,
                         .spectra = spectra,
                         .gaussians = true,
                         .smearing = true});
    const psv::adjoint::SourceAdjoints expected = c.on_host();
    int solved = 0;
    for (std::size_t budget = std::size_t{1} << 24; budget >= 40000; budget /= 4) {
      Devices devices(std::size_t{1} << 28, 1, budget);
      try {
        expect_equal(c.on(devices), expected, 1e-11);
        ++solved;
      } catch (const memory::OutOfMemory&) {
        EXPECT_LT(budget, spectra ? std::size_t{1} << 20 : std::size_t{200000});
      }
      EXPECT_LE(devices.contexts.front()->arrays().statistics().peak_bytes, budget);
    }
    EXPECT_GE(solved, spectra ? 2 : 3);
  }
}

TEST(PsvAdjointDevice, EveryAllocationMayFail) {
  const AdjointCase c({.n_source = 10,
                       .n_baseline = 10,
                       .n_channel = 70,
                       .polarisation = Polarisation::kFull,
                       .spectra = true,
                       .gaussians = true});
  expect_any_allocation_may_fail(c.problem, 15, 1e-11);
}

TEST(PsvAdjointDevice, SeveralDevicesShareTheRows) {
  const AdjointCase c({.n_source = 3, .n_baseline = 700, .n_time = 20, .n_channel = 2});
  Devices one, three(std::size_t{1} << 28, 3);
  const psv::adjoint::SourceAdjoints got = c.on(three);
  expect_equal(got, c.on(one), 1e-11);
  EXPECT_EQ(got.positions, c.on(three).positions) << "the same bits again";
  std::uint64_t up = 0;
  for (const auto& device : three.simulated) {
    EXPECT_GT(device->statistics().bytes_to_device, 0u);
    up = std::max(up, device->statistics().bytes_to_device);
  }
  EXPECT_LT(up, one.simulated.front()->statistics().bytes_to_device);
}

TEST(PsvAdjointDevice, CanBeStopped) {
  const AdjointCase c(CaseOptions{});
  Devices devices;
  Cancellation cancellation;
  cancellation.request();
  const AdjointProblem& of = c.problem;
  EXPECT_THROW(
      psv::device::pull_back_on_devices({of.sky, of.channels, of.ordered.rows, of.jones}, of.given(),
                                        {true, true, true}, {devices.contexts, *devices.threads, cancellation}),
      Cancelled);
}

}  // namespace
}  // namespace rimetree::testing
