// Random inputs for tests of the PSV kernel, with the oracle's answer and the code's.
#pragma once

#include <vector>

#include "nodes/psv/kernel.h"
#include "tests/support/psv_oracle.h"

namespace rimetree::testing {

/// kFew: one source in five is polarised.
enum class Polarisation { kUnpolarised, kCircular, kFull, kGeneral, kFew };
enum class Grid { kRegular, kRounded, kDescending, kGapped, kIrregular, kSingle, kWide };
/// kAntennas: one matrix per antenna, varying in time and frequency; baselines share their antennas' values.
enum class JonesKind { kNone, kScalar, kMatrix, kTwoPairs, kVarying, kAntennas };

struct CaseOptions {
  std::size_t n_source = 20, n_baseline = 3, n_time = 4, n_channel = 24;
  Polarisation polarisation = Polarisation::kUnpolarised;
  Grid grid = Grid::kRegular;
  JonesKind jones = JonesKind::kNone;
  bool spectra = false;  ///< brightness varies along channels
  bool smooth = false;   ///< as a power law; else at random
  double spacing_hz = 2.5e5;
  bool gaussians = false;  ///< every other source
  bool disks = false;      ///< the same, exponential and uniform ones; with Gaussians every other of them
  bool smearing = false;
  bool dark_source = false;  ///< the first one has no Stokes I
  double phase_rad = 1e4;    ///< about the largest phase
  double exposure_s = 4;     ///< of the first row; others vary
  unsigned seed = 1;
};

struct Case {
  explicit Case(const CaseOptions& options);

  std::size_t n_row() const { return rows.size(); }
  std::size_t n_channel() const { return channels.size(); }
  /// Sum over sources of the largest |B| (times the Jones terms' largest gain squared): what errors are measured in.
  double total_flux() const;

  /// The oracle's answer for one row and channel.
  oracle::Matrix expected_at(std::size_t row, std::size_t channel) const;
  /// [row][XX XY YX YY][channel]
  std::vector<oracle::Number> expected() const;
  /// The kernel's answer, the rows cut at `cuts` into calls with a workspace each.
  template <class T>
  std::vector<Complex<double>> fast(std::vector<std::size_t> cuts = {}) const;
  std::vector<Complex<double>> reference() const;

  psv::SkyInput sky_input() const;
  bool extended() const { return options.gaussians || options.disks; }
  /// Whether axes of shapes are given as vectors, which see w; else they lie in the (l, m) plane.
  bool axes_are_vectors() const { return options.gaussians && options.disks; }
  psv::Problem<double> problem(std::size_t baseline) const;
  psv::Rows psv_rows() const;

  CaseOptions options;
  std::vector<oracle::Source> sources;
  std::vector<oracle::Row> rows;  ///< [baseline][time]
  std::vector<oracle::Channel> channels;
  // The same as arrays.
  std::vector<double> l, m, n, major, minor, angle, profile, frequency, width;
  std::vector<double> axes;                          ///< [source][both axes along u, v, w], of vectors
  std::vector<Complex<double>> brightness;           ///< [element][source][channel or 1]
  std::vector<double> uvw[3], duvw[3], exposure;     ///< [row]
  std::vector<std::int32_t> row_baseline, row_time;  ///< [row]
  std::vector<Complex<double>>
      jones_values;  ///< [baseline][pair][p, q] or [antenna], then [element][source][time][channel]
  std::vector<psv::JonesPair<double>> jones_pairs;  ///< [baseline][pair]
  int n_pair = 0;

 private:
  void make_sources();
  void make_channels();
  void make_rows();
  void make_jones();
  void make_antenna_jones();
  bool jones_vary() const { return options.jones >= JonesKind::kVarying; }
  oracle::Matrix jones_at(std::size_t baseline, int pair, int side, std::size_t s, std::size_t t, std::size_t f) const;
};

/// Largest |got - expected| in units of the total flux.
double largest_error(const std::vector<Complex<double>>& got, const std::vector<oracle::Number>& expected, double flux);

}  // namespace rimetree::testing
