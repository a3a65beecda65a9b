// The adjoint kernel against the scalar body on traced numbers, in every kind of sky, channels and smearing.
#include "tests/support/psv_adjoint_cases.h"
#include "tests/support/psv_adjoint_check.h"

namespace rimetree::testing {
namespace {

void check(const CaseOptions& options) { check(Case(options)); }

TEST(PsvAdjoint, EveryPolarisation) {
  for (const auto polarisation :
       {Polarisation::kUnpolarised, Polarisation::kCircular, Polarisation::kFull, Polarisation::kGeneral})
    check({.polarisation = polarisation});
}

TEST(PsvAdjoint, EveryGrid) {
  for (const auto grid :
       {Grid::kRegular, Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle, Grid::kWide})
    for (const bool smearing : {false, true}) {
      check({.n_channel = 70, .polarisation = Polarisation::kFull, .grid = grid, .smearing = smearing});
    }
}

TEST(PsvAdjoint, SmearingWeakAndStrong) {
  for (const CaseOptions& options : smearing_of_any_strength(JonesKind::kNone, 20)) check(options);
}

TEST(PsvAdjoint, Gaussians) {
  for (const bool smearing : {false, true})
    check({.n_source = 60, .polarisation = Polarisation::kFull, .gaussians = true, .smearing = smearing});
}

TEST(PsvAdjoint, ExponentialDisks) {
  for (const bool smearing : {false, true})
    for (const bool gaussians : {false, true})
      for (const Grid grid : {Grid::kRegular, Grid::kIrregular})
        check({.n_source = 60,
               .polarisation = Polarisation::kFull,
               .grid = grid,
               .gaussians = gaussians,
               .disks = true,
               .smearing = smearing});
}

TEST(PsvAdjoint, Spectra) {
  for (const bool extended : {false, true})
    check({.n_source = 60,
           .polarisation = Polarisation::kCircular,
           .spectra = true,
           .gaussians = extended,
           .disks = extended,
           .smearing = extended});
}

void check_all(const std::vector<CaseOptions>& cases) {
  for (const CaseOptions& options : cases) check(options);
}

TEST(PsvAdjoint, JonesTerms) { check_all(constant_terms()); }

TEST(PsvAdjoint, JonesTermsThatVaryAlongChannels) { check_all(varying_terms()); }

TEST(PsvAdjoint, JonesTermsAndSpectra) { check_all(terms_and_spectra()); }

TEST(PsvAdjoint, JonesTermsOnEveryGrid) { check_all(terms_on_every_grid()); }

TEST(PsvAdjoint, SmearingWeakAndStrongBehindJonesTermsThatVary) {
  check_all(smearing_of_any_strength(JonesKind::kAntennas, 9));
}

TEST(PsvAdjoint, AnAntennaOnBothEndsOfABaseline) { check(antenna_on_both_ends()); }

TEST(PsvAdjoint, TermsThatVaryInFrequencyButNotInTime) {
  check(terms_constant_in_time(false));
  check(terms_constant_in_time(true));
}

TEST(PsvAdjoint, ManyTimesShareOneArray) { check_all(many_times()); }

TEST(PsvAdjoint, TermsThatAreStoredOnceButAskedForTwice) { check_terms_asked_for_twice(pull_on_host); }

TEST(PsvAdjoint, NotANumberWhereNothingDependsOnIt) { check_not_a_number(pull_on_host); }

TEST(PsvAdjoint, ManyRowsInPortions) { check({.n_source = 55, .n_baseline = 40, .n_time = 11, .n_channel = 9}); }

TEST(PsvAdjoint, NothingToDo) {
  CaseOptions none;
  none.n_source = 0;
  check(none);
}

}  // namespace
}  // namespace rimetree::testing
