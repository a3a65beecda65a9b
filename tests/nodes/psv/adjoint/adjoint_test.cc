// The adjoint kernel against the scalar body on traced numbers, in every kind of sky, channels and smearing.
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
      SCOPED_TRACE(static_cast<int>(grid));
      check({.n_channel = 70, .polarisation = Polarisation::kFull, .grid = grid, .smearing = smearing});
    }
}

TEST(PsvAdjoint, SmearingWeakAndStrong) {
  for (const double spacing_hz : {1e2, 2.5e5, 2e7})
    for (const double exposure_s : {1e-4, 4.0, 400.0}) {
      SCOPED_TRACE(::testing::Message() << spacing_hz << " Hz, " << exposure_s << " s");
      check({.spacing_hz = spacing_hz, .smearing = true, .exposure_s = exposure_s});
    }
}

TEST(PsvAdjoint, Gaussians) {
  for (const bool smearing : {false, true})
    check({.n_source = 60, .polarisation = Polarisation::kFull, .gaussians = true, .smearing = smearing});
}

TEST(PsvAdjoint, Spectra) {
  for (const bool gaussians : {false, true})
    check({.n_source = 60,
           .polarisation = Polarisation::kCircular,
           .spectra = true,
           .gaussians = gaussians,
           .smearing = gaussians});
}

TEST(PsvAdjoint, JonesTerms) {
  for (const auto jones : {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs})
    for (const bool extended : {false, true}) {
      SCOPED_TRACE(static_cast<int>(jones));
      check({.polarisation = Polarisation::kGeneral, .jones = jones, .gaussians = extended, .smearing = extended});
    }
}

TEST(PsvAdjoint, JonesTermsThatVaryAlongChannels) {
  for (const auto jones : {JonesKind::kVarying, JonesKind::kAntennas})
    for (const bool extended : {false, true})
      for (const std::size_t n_channel : {3, 24, 70}) {
        SCOPED_TRACE(::testing::Message() << int(jones) << ", " << n_channel << " channels");
        check({.n_source = 11,
               .n_baseline = 6,
               .n_channel = n_channel,
               .polarisation = Polarisation::kGeneral,
               .jones = jones,
               .gaussians = extended,
               .smearing = extended});
      }
}

TEST(PsvAdjoint, JonesTermsAndSpectra) {
  for (const auto jones : {JonesKind::kScalar, JonesKind::kTwoPairs, JonesKind::kAntennas})
    check({.n_source = 11, .polarisation = Polarisation::kFull, .jones = jones, .spectra = true});
}

TEST(PsvAdjoint, JonesTermsOnEveryGrid) {
  for (const auto jones : {JonesKind::kTwoPairs, JonesKind::kAntennas})
    for (const auto grid :
         {Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle, Grid::kWide}) {
      SCOPED_TRACE(static_cast<int>(grid));
      check({.n_source = 9,
             .n_channel = 37,
             .polarisation = Polarisation::kFull,
             .grid = grid,
             .jones = jones,
             .gaussians = true,
             .smearing = true});
    }
}

TEST(PsvAdjoint, SmearingWeakAndStrongBehindJonesTermsThatVary) {
  for (const double spacing_hz : {1e2, 2.5e5, 2e7})
    for (const double exposure_s : {1e-4, 4.0, 400.0}) {
      SCOPED_TRACE(::testing::Message() << spacing_hz << " Hz, " << exposure_s << " s");
      check({.n_source = 9,
             .jones = JonesKind::kAntennas,
             .spacing_hz = spacing_hz,
             .smearing = true,
             .exposure_s = exposure_s});
    }
}

TEST(PsvAdjoint, AnAntennaOnBothEndsOfABaseline) {
  Case c({.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas});
  for (int e = 0; e < 4; ++e) c.jones_pairs[2].q[e] = c.jones_pairs[2].p[e];
  check(c);
}

TEST(PsvAdjoint, TermsThatVaryInFrequencyButNotInTime) {
  Case c({.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas});
  for (auto& pair : c.jones_pairs)
    for (int e = 0; e < 4; ++e) pair.p[e].time = pair.q[e].time = 0;
  check(c);
}

TEST(PsvAdjoint, ManyTimesShareOneArray) {
  check({.n_source = 2, .n_baseline = 36, .n_time = 60, .n_channel = 2, .jones = JonesKind::kAntennas});
  check({.n_source = 2, .n_baseline = 36, .n_time = 12, .n_channel = 2, .jones = JonesKind::kTwoPairs});
  check({.n_source = 2, .n_baseline = 300, .n_time = 4, .n_channel = 2, .jones = JonesKind::kMatrix});
}

/// The same values may be those of two nodes, with an adjoint each.
TEST(PsvAdjoint, TermsThatAreStoredOnceButAskedForTwice) {
  const Case c({.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas});
  const std::size_t n_channel = c.n_channel(), size = c.jones_values.size();
  const auto sky = psv::pack_sky<double>(c.sky_input());
  const auto channels = psv::analyse_channels(c.frequency.data(), c.width.data(), n_channel);
  const OrderedRows ordered(c);
  const auto is_odd = [&](std::size_t row) { return c.row_baseline[row] % 2 == 1; };
  const auto pull = [&](const std::vector<std::ptrdiff_t>& first, bool even, bool odd) {
    const std::vector<Complex<double>> some(4 * n_channel, {0.3, -0.2}), none(4 * n_channel);
    std::vector<const Complex<double>*> row;
    for (const std::size_t r : ordered.from) row.push_back((is_odd(r) ? odd : even) ? some.data() : none.data());
    ThreadPool one(1);
    Cancellation cancellation;
    return parts_of(psv::pull_back_rows(sky, channels, ordered.rows,
                                        {c.n_pair, c.jones_pairs.data(), true, {first.data(), 2 * size, 0}},
                                        {row.data(), static_cast<std::ptrdiff_t>(n_channel)}, {}, one, cancellation)
                        .moving_jones);
  };
  std::vector<std::ptrdiff_t> together = Targets(c).first, apart = together;
  for (std::size_t b = 1; b < 6; b += 2)
    for (std::size_t side = 0; side < 2; ++side) apart[2 * b + side] += static_cast<std::ptrdiff_t>(size);
  const std::vector<double> both = pull(apart, true, true);
  const auto half = [size](const std::vector<double>& parts, std::size_t i) {
    const auto begin = parts.begin() + static_cast<std::ptrdiff_t>(2 * size * i);
    return std::vector<double>(begin, begin + static_cast<std::ptrdiff_t>(2 * size));
  };
  EXPECT_LT(relative_error(half(both, 0), half(pull(together, true, false), 0)), 1e-13);
  EXPECT_LT(relative_error(half(both, 1), half(pull(together, false, true), 0)), 1e-13);
}

/// Channels that are flagged may hold anything; here in the terms of one antenna.
TEST(PsvAdjoint, NotANumberWhereNothingDependsOnIt) {
  const CaseOptions options{.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas};
  const std::size_t dead = 7;
  std::vector<psv::SourceAdjoints> found;
  for (const bool poisoned : {false, true}) {
    Case c(options);
    const std::size_t n_channel = c.n_channel();
    if (poisoned)
      for (std::size_t i = 0; i < c.jones_values.size() / 4; ++i)  // the first of four antennas
        if (i % n_channel == dead) c.jones_values[i] = {std::nan(""), std::nan("")};
    std::vector<Complex<double>> adjoint(c.n_row() * 4 * n_channel, {0.3, -0.2});
    for (std::size_t i = 0; i < adjoint.size(); ++i)
      if (i % n_channel == dead) adjoint[i] = {};
    const auto sky = psv::pack_sky<double>(c.sky_input());
    const auto channels = psv::analyse_channels(c.frequency.data(), c.width.data(), n_channel);
    const OrderedRows ordered(c);
    std::vector<const Complex<double>*> row;
    for (const std::size_t r : ordered.from) row.push_back(adjoint.data() + r * 4 * n_channel);
    const Targets targets(c);
    ThreadPool one(1);
    Cancellation cancellation;
    found.push_back(psv::pull_back_rows(
        sky, channels, ordered.rows, {c.n_pair, c.jones_pairs.data(), true, targets.of(c)},
        {row.data(), static_cast<std::ptrdiff_t>(n_channel)}, {true, true, true}, one, cancellation));
  }
  expect_same_bits(found[0], found[1]);
}

TEST(PsvAdjoint, ManyRowsInPortions) { check({.n_source = 55, .n_baseline = 40, .n_time = 11, .n_channel = 9}); }

TEST(PsvAdjoint, NothingToDo) {
  CaseOptions none;
  none.n_source = 0;
  check(none);
}

}  // namespace
}  // namespace rimetree::testing
