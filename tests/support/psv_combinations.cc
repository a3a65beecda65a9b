#include "tests/support/psv_combinations.h"

namespace rimetree::testing {

std::vector<CaseOptions> combinations() {
  std::vector<CaseOptions> cases;
  unsigned seed = 1;
  for (const Polarisation polarisation : kPolarisations)
    for (const Grid grid : kGrids)
      for (int bits = 0; bits < 8; ++bits) {
        CaseOptions o;
        o.polarisation = polarisation;
        o.grid = grid;
        o.spectra = bits & 1;
        o.gaussians = bits & 2;
        o.disks = o.gaussians && (static_cast<int>(grid) + static_cast<int>(polarisation)) % 2 == 0;
        o.smearing = bits & 4;
        o.seed = ++seed;
        cases.push_back(o);
      }
  return cases;
}

std::vector<CaseOptions> long_phases() {
  std::vector<CaseOptions> cases;
  for (const Grid grid : kGrids)
    for (const bool smearing : {false, true})
      for (const bool gaussians : {false, true})
        for (const std::size_t n_source : {1, 30}) {
          CaseOptions o;
          o.polarisation = Polarisation::kFull;
          o.grid = grid;
          o.smearing = smearing;
          o.gaussians = gaussians;
          o.disks = gaussians && n_source > 1;
          o.phase_rad = 1e6;
          o.n_source = n_source;
          cases.push_back(o);
        }
  return cases;
}

std::vector<CaseOptions> strong_smearing() {
  std::vector<CaseOptions> cases;
  for (const Grid grid : {Grid::kRegular, Grid::kRounded, Grid::kWide, Grid::kDescending})
    for (const double exposure : {0.0, 1e-4, 1e-2, 1.0, 10.0, 100.0, 1000.0})
      for (const bool gaussians : {false, true}) {
        CaseOptions o;
        o.grid = grid;
        o.smearing = true;
        o.gaussians = gaussians;
        o.disks = gaussians && grid != Grid::kRegular;
        o.exposure_s = exposure;
        o.n_channel = 150;
        o.n_source = 5;
        cases.push_back(o);
      }
  return cases;
}

std::vector<CaseOptions> jones_terms(std::vector<JonesKind> kinds) {
  std::vector<CaseOptions> cases;
  for (const JonesKind jones : kinds)
    for (const Polarisation polarisation : {Polarisation::kUnpolarised, Polarisation::kGeneral})
      for (int bits = 0; bits < 8; ++bits) {
        CaseOptions o;
        o.jones = jones;
        o.polarisation = polarisation;
        o.grid = bits & 1 ? Grid::kIrregular : Grid::kRegular;
        o.spectra = bits & 2;
        o.gaussians = o.disks = o.smearing = bits & 4;
        o.n_source = 7;
        cases.push_back(o);
      }
  return cases;
}

std::ostream& operator<<(std::ostream& out, const CaseOptions& o) {
  return out << "polarisation " << int(o.polarisation) << " grid " << int(o.grid) << " jones " << int(o.jones)
             << " spectra " << o.spectra << " gaussians " << o.gaussians << " disks " << o.disks << " smearing "
             << o.smearing << " phase " << o.phase_rad << " exposure " << o.exposure_s << " sources " << o.n_source
             << " rows " << o.n_baseline * o.n_time << " channels " << o.n_channel << " seed " << o.seed;
}

}  // namespace rimetree::testing
