#include "runtime/ms/tiles/count_cells.h"

#include <cmath>
#include <limits>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {

namespace {

void check_sizes(const DataCells& cells) {
  const std::size_t rows = cells.n_baseline * cells.n_time, all = rows * cells.n_channel * cells.n_correlation;
  if (cells.value.size() != all || cells.weight.size() != all || cells.flag.size() != all || cells.row.size() != rows ||
      cells.hand.size() != cells.n_correlation ||
      (!cells.within.empty() && cells.within.size() != rows * cells.n_channel))
    throw MsError("arrays of a tile of different shapes: " + std::to_string(cells.n_baseline) + " baselines, " +
                  std::to_string(cells.n_time) + " times, " + std::to_string(cells.n_channel) + " channels and " +
                  std::to_string(cells.n_correlation) + " correlations were expected");
}

}  // namespace

CellCounts count_cells(const DataCells& cells, bool magnitudes) {
  check_sizes(cells);
  CellCounts counts;
  for (std::vector<double>* one : {&counts.good, &counts.measured, &counts.magnitude}) one->resize(cells.n_baseline);
  counts.linked.resize(cells.row.size() * cells.n_channel);
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::size_t n = cells.n_correlation;
  for (std::size_t r = 0; r < cells.row.size(); ++r) {
    if (cells.row[r] < 0) continue;
    const std::size_t b = r / cells.n_time;
    std::size_t good = 0, measured = 0;
    double power = 0, magnitude = 0;
    for (std::size_t cell = r * cells.n_channel; cell < (r + 1) * cells.n_channel; ++cell) {
      const bool within = cells.within.empty() || cells.within[cell] != 0;
      for (std::size_t c = 0; c < n; ++c) {
        const std::size_t i = cell * n + c;
        const double re = cells.value[i].real(), im = cells.value[i].imag(), square = re * re + im * im;
        const float weight = cells.weight[i];
        if (cells.flag[i] != 0 || !(weight > 0 && weight < kInfinity) || !std::isfinite(square)) continue;
        ++good;
        if (within) power += weight * square, counts.linked[cell] = 1;
        if (!magnitudes || cells.hand[c] == 0) continue;
        ++measured;
        magnitude += std::sqrt(square);
      }
    }
    counts.good[b] += static_cast<double>(good);
    counts.measured[b] += static_cast<double>(measured);
    counts.magnitude[b] += magnitude;
    counts.power += power;
  }
  return counts;
}

}  // namespace rimetree::ms
