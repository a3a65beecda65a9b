// The fast PSV path against an extended-precision direct sum, over the combinations that choose different code.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/support/instruction_sets.h"
#include "tests/support/psv_combinations.h"

namespace rimetree::testing {
namespace {

// The project's promise. The kernel's own budget in double precision: 1e-13 for ignored irregularity, 4e-13 for that of
// widths, 3e-15 for the phase in the middle of a run, 1e-14 for the rotations from there (64 half steps at 2e-16), as
// much for the recurrence of smearing, 2e-13 for that of a Gaussian's taper (64 steps squared over two). In single
// precision: 2e-7 for the phasor in the middle of a run, 1.2e-7 for each of two rotations and an amplitude, and the
// rounding errors of sums of 48, which are of either sign.

void check(const CaseOptions& o) {
  SCOPED_TRACE(::testing::Message() << o);
  const Case c(o);
  const std::vector<oracle::Number> expected = c.expected();
  EXPECT_LT(largest_error(c.fast<double>(), expected, c.total_flux()), kDouble);
  EXPECT_LT(largest_error(c.fast<float>(), expected, c.total_flux()), kSingle);
  EXPECT_LT(largest_error(c.reference(), expected, c.total_flux()), kDouble);
}

TEST(PsvKernel, AgreesWithExtendedPrecisionOnAllCombinations) {
  for (const CaseOptions& o : combinations()) check(o);
}

TEST(PsvKernel, HoldsForPhasesOfAMillionRadians) {
  for (const CaseOptions& o : long_phases()) check(o);
}

TEST(PsvKernel, HoldsForSmearingOfAnyStrength) {
  for (const CaseOptions& o : strong_smearing()) check(o);
}

TEST(PsvKernel, HoldsForSmearingOfAllPlanes) {
  // Bands narrow and wide, from where a tile's amplitudes hardly differ to where they do not resemble each other, and a
  // source that has no flux in the first plane.
  for (const Polarisation polarisation : {Polarisation::kCircular, Polarisation::kFull, Polarisation::kGeneral})
    for (const double exposure : {1e-2, 1.0, 30.0, 1000.0})
      for (const double spacing : {1e3, 2.5e5, 4e6})
        for (const bool dark : {false, true}) {
          CaseOptions o;
          o.polarisation = polarisation;
          o.smearing = true;
          o.exposure_s = exposure;
          o.spacing_hz = spacing;
          o.n_channel = 70;
          o.n_source = 5;
          o.dark_source = dark;
          check(o);
        }
}

TEST(PsvKernel, AppliesJonesTerms) {
  for (const CaseOptions& o : jones_terms(
           {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs, JonesKind::kVarying, JonesKind::kAntennas}))
    check(o);
}

TEST(PsvKernel, SharesTheTermsOfAntennas) {
  // More sides than a group of rows has places for, and more sources than a block; channels that fill no window.
  for (const std::size_t n_time : {1, 23})
    for (const std::size_t n_channel : {1, 5, 16, 41, 70}) {
      CaseOptions o;
      o.jones = JonesKind::kAntennas;
      o.polarisation = Polarisation::kFull;
      o.n_baseline = 45;
      o.n_time = n_time;
      o.n_channel = n_channel;
      o.n_source = n_time == 1 ? 60 : 2;
      o.gaussians = o.disks = o.spectra = n_channel == 41;
      o.grid = n_channel == 70 ? Grid::kGapped : Grid::kRegular;
      check(o);
    }
}

TEST(PsvKernel, TakesAnyNumberOfRowsSourcesAndChannels) {
  for (const std::size_t n_row : {1, 2, 3, 7, 8, 9, 16, 17, 31, 70})
    for (const std::size_t n_source : {1, 64, 65, 129}) {
      CaseOptions o;
      o.polarisation = Polarisation::kFull;
      o.n_baseline = n_row;
      o.n_time = 1;
      o.n_source = n_source;
      o.n_channel = n_row % 2 == 0 ? 3 : 9;
      check(o);
    }
  for (const std::size_t n_channel : {1, 2, 7, 8, 63, 127, 129, 300}) {
    CaseOptions o;
    o.n_channel = n_channel;
    o.n_source = 3;
    o.smearing = true;
    check(o);
  }
}

TEST(PsvKernel, SumsManySourcesInSinglePrecision) {
  // Equal sources near the phase centre: rounding errors of the additions all have one sign.
  CaseOptions o;
  o.n_source = 20000;
  o.n_channel = 2;
  o.n_baseline = 1;
  o.n_time = 2;
  o.phase_rad = 1e-3;
  check(o);
}

TEST(PsvKernel, GivesTheSameBitsHoweverRowsAreShared) {
  for (const JonesKind jones : {JonesKind::kNone, JonesKind::kMatrix, JonesKind::kAntennas})
    for (const bool rich : {false, true}) {
      CaseOptions o;
      o.jones = jones;
      o.n_baseline = 23;
      o.n_time = 3;
      o.smearing = o.gaussians = o.disks = o.spectra = rich;
      o.polarisation = rich ? Polarisation::kFull : Polarisation::kUnpolarised;
      const Case c(o);
      const auto same = [](const std::vector<Complex<double>>& a, const std::vector<Complex<double>>& b) {
        return std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
      };
      for (const std::vector<std::size_t>& cuts :
           {std::vector<std::size_t>{1}, {32}, {5, 6, 7, 40}, {0, 68}, {16, 16, 48}}) {
        EXPECT_TRUE(same(c.fast<double>(), c.fast<double>(cuts)));
        EXPECT_TRUE(same(c.fast<float>(), c.fast<float>(cuts)));
      }
    }
}

TEST(PsvKernel, IsAsAccurateOnEveryInstructionSet) {
  for_each_instruction_set([] {
    for (const JonesKind jones : {JonesKind::kNone, JonesKind::kTwoPairs, JonesKind::kAntennas})
      for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kFull})
        for (int bits = 0; bits < 8; ++bits) {
          CaseOptions o;
          o.smearing = bits & 1;
          o.gaussians = bits & 2;
          o.disks = bits == 2;
          o.grid = bits & 4 ? Grid::kRounded : Grid::kRegular;
          o.polarisation = polarisation;
          o.phase_rad = 1e6;
          o.jones = jones;
          check(o);
        }
  });
}

}  // namespace
}  // namespace rimetree::testing
