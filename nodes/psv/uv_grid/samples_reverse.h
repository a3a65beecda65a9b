// From the visibilities of rows to the grids, and from there to sources: the transposes of samples.h and grids.h.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/psv/uv_grid/grids.h"
#include "nodes/psv/uv_grid/samples.h"

namespace rimetree::psv::uv_grid {

/// Modes of U, to which samples are added together. Narrower strips share dense parts of the grid better among threads,
/// and cut more samples in two.
inline constexpr std::size_t kStripModes = 32;

/// The samples of some rows, and what they bring to series [first_series, end_series).
struct SampleBatch {
  std::size_t first_series = 0, end_series = 0;
  std::vector<std::int32_t> first[2];  ///< [sample]: of the modes that the widest kernel covers, in U and V
  std::vector<double> place[2];        ///< [sample]: in that mode, see GriddingKernel
  std::vector<double> w;               ///< [sample]: in [-1, 1] between the points in W
  std::vector<Complex<double>> value;  ///< [series][sample]

  std::size_t size() const { return w.size(); }
  void resize(std::size_t n_sample) {
    for (int i = 0; i < 2; ++i) first[i].resize(n_sample), place[i].resize(n_sample);
    w.resize(n_sample);
    value.resize((end_series - first_series) * n_sample);
  }
};

/// A row whose adjoints become samples.
struct AdjointRow {
  const UvGridPlan& plan;
  const Summed& of;
  SampleBatch& batch;
  std::size_t number = 0;
  std::size_t first_sample = 0;              ///< in the batch
  const Complex<double>* adjoint = nullptr;  ///< [plane of the sky][channel]: conjugates
  std::vector<double>& sums;                 ///< scratch of a thread
};
/// How many samples a row has.
std::size_t samples_of_row(const UvGridPlan& plan, std::size_t n_channel, std::size_t row);

/// A strip of modes of U, to which samples are added.
struct ModeStrip {
  const UvGridPlan& plan;
  const std::vector<Points>& w_points;  ///< [number of points]
  const SampleBatch& batch;
  std::size_t first_grid = 0, n_grid = 0;  ///< of the plan's
  Complex<double>* grids = nullptr;        ///< [grid][mode of U][mode of V]
  std::size_t begin = 0, end = 0;          ///< modes of U
  const std::uint32_t* samples = nullptr;  ///< those that reach the strip
  std::size_t n_sample = 0;
};

/// Sources that read what they gain.
struct ReadSources {
  const UvGridPlan& plan;
  const PlacedSources& sources;
  GridNumber grid;
  const Complex<double>* amplitude = nullptr;  ///< [source]: see corrected_amplitudes()
  const Complex<double>* cells = nullptr;      ///< [row of cells][stride]
  std::size_t stride = 0;
  std::size_t begin = 0, end = 0;     ///< in the order of `sources`
  Complex<double>* gained = nullptr;  ///< [source], in that order: is added to
};

// Per instruction set.
void place_adjoints(const AdjointRow& row);
void spread_samples(const ModeStrip& strip);
void read_cells(const ReadSources& job);

}  // namespace rimetree::psv::uv_grid
