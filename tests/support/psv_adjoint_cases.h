// Cases with Jones terms that every adjoint kernel of PSV is held to: of the host, and of devices.
#pragma once

#include <vector>

#include "tests/support/psv_case.h"

namespace rimetree::testing {

inline std::vector<CaseOptions> constant_terms() {
  std::vector<CaseOptions> cases;
  for (const auto jones : {JonesKind::kScalar, JonesKind::kMatrix, JonesKind::kTwoPairs})
    for (const bool extended : {false, true})
      cases.push_back({.polarisation = Polarisation::kGeneral,
                       .jones = jones,
                       .gaussians = extended,
                       .disks = extended,
                       .smearing = extended});
  return cases;
}

inline std::vector<CaseOptions> varying_terms() {
  std::vector<CaseOptions> cases;
  for (const auto jones : {JonesKind::kVarying, JonesKind::kAntennas})
    for (const bool extended : {false, true})
      for (const std::size_t n_channel : {1, 3, 24, 70})
        cases.push_back({.n_source = 11,
                         .n_baseline = 6,
                         .n_channel = n_channel,
                         .polarisation = Polarisation::kGeneral,
                         .jones = jones,
                         .gaussians = extended,
                         .disks = extended,
                         .smearing = extended});
  return cases;
}

inline std::vector<CaseOptions> terms_and_spectra() {
  std::vector<CaseOptions> cases;
  for (const auto jones : {JonesKind::kScalar, JonesKind::kTwoPairs, JonesKind::kAntennas})
    cases.push_back({.n_source = 11, .polarisation = Polarisation::kFull, .jones = jones, .spectra = true});
  return cases;
}

inline std::vector<CaseOptions> terms_on_every_grid() {
  std::vector<CaseOptions> cases;
  for (const auto jones : {JonesKind::kTwoPairs, JonesKind::kAntennas})
    for (const auto grid :
         {Grid::kRounded, Grid::kDescending, Grid::kGapped, Grid::kIrregular, Grid::kSingle, Grid::kWide})
      cases.push_back({.n_source = 9,
                       .n_channel = 37,
                       .polarisation = Polarisation::kFull,
                       .grid = grid,
                       .jones = jones,
                       .gaussians = true,
                       .disks = true,
                       .smearing = true});
  return cases;
}

inline std::vector<CaseOptions> smearing_of_any_strength(JonesKind jones, std::size_t n_source) {
  std::vector<CaseOptions> cases;
  for (const double spacing_hz : {1e2, 2.5e5, 2e7})
    for (const double exposure_s : {1e-4, 4.0, 400.0})
      cases.push_back(
          {.n_source = n_source, .jones = jones, .spacing_hz = spacing_hz, .smearing = true, .exposure_s = exposure_s});
  return cases;
}

inline Case antenna_on_both_ends() {
  Case c({.n_source = 5, .n_baseline = 6, .jones = JonesKind::kAntennas});
  for (int e = 0; e < 4; ++e) c.jones_pairs[2].q[e] = c.jones_pairs[2].p[e];
  return c;
}

/// A side of three to twelve rows; or of up to 480, which devices cut into pieces.
inline Case terms_constant_in_time(bool many_rows) {
  Case c({.n_source = 5,
          .n_baseline = many_rows ? 36u : 6u,
          .n_time = many_rows ? 60u : 4u,
          .n_channel = many_rows ? 9u : 24u,
          .jones = JonesKind::kAntennas});
  for (auto& pair : c.jones_pairs)
    for (int e = 0; e < 4; ++e) pair.p[e].time = pair.q[e].time = 0;
  return c;
}

/// The host's portions of rows share one array of terms that vary in time, or do not; sides have many rows, or few.
inline std::vector<CaseOptions> many_times() {
  return {{.n_source = 2, .n_baseline = 36, .n_time = 60, .n_channel = 2, .jones = JonesKind::kAntennas},
          {.n_source = 2, .n_baseline = 36, .n_time = 12, .n_channel = 2, .jones = JonesKind::kTwoPairs},
          {.n_source = 2, .n_baseline = 300, .n_time = 4, .n_channel = 2, .jones = JonesKind::kMatrix}};
}

}  // namespace rimetree::testing
