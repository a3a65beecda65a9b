#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/math/conventions.h"
#include "runtime/ms/inspect/inspect_parts.h"

namespace rimetree::ms {
namespace {

/// At most `most` tiles of layer 0 of every group, spread evenly; by field and time.
std::vector<TileKey> spread(const TilePlan& plan, std::size_t most) {
  std::map<std::pair<int, int>, std::vector<TileKey>> groups;
  for (const TileKey& tile : plan.tiles) {
    if (tile.layer == 0) groups[{tile.data_desc_id, tile.field_id}].push_back(tile);
  }
  std::vector<TileKey> chosen;
  for (const auto& [ids, tiles] : groups) {
    const std::size_t n = std::min(std::max<std::size_t>(1, most), tiles.size());
    for (std::size_t i = 0; i < n; ++i) {
      chosen.push_back(tiles[n == 1 ? 0 : i * (tiles.size() - 1) / (n - 1)]);
    }
  }
  std::sort(chosen.begin(), chosen.end(), [](const TileKey& a, const TileKey& b) {
    return std::make_pair(a.field_id, a.first_time_s) < std::make_pair(b.field_id, b.first_time_s);
  });
  return chosen;
}

}  // namespace

void summarise_uvw(const MeasurementSet& ms, const RowIndex& index, const TilePlan& plan, std::size_t time_slots,
                   MsSummary* summary) {
  std::vector<UvwRow> rows;
  double highest_hz = 0;
  constexpr double kSimultaneous_s = 1e-3;  // spectral windows of one field close their loops together
  std::size_t slot = 0;
  const TileKey* previous = nullptr;
  const std::vector<TileKey> tiles = spread(plan, time_slots);
  for (const TileKey& tile : tiles) {
    if (previous &&
        (tile.field_id != previous->field_id || tile.first_time_s - previous->first_time_s > kSimultaneous_s)) {
      ++slot;
    }
    previous = &tile;
    highest_hz =
        std::max(highest_hz,
                 summary->channels[ms.metadata().data_descriptions[tile.data_desc_id].spectral_window_id].highest_hz);
    std::vector<std::int64_t> numbers;
    for (std::size_t i = plan.slot_begin[tile.first_slot]; i < plan.slot_begin[tile.first_slot + 1]; ++i) {
      const std::int64_t row = plan.row_order[i];
      if (index.antenna1[row] != index.antenna2[row]) numbers.push_back(row);
    }
    std::sort(numbers.begin(), numbers.end());
    std::vector<double> uvw_m(3 * numbers.size());
    ms.table().read_vectors("UVW", numbers, 3, uvw_m.data());
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::int64_t row = numbers[i];
      if (!std::isfinite(uvw_m[3 * i] + uvw_m[3 * i + 1] + uvw_m[3 * i + 2])) continue;  // counted with the cells
      rows.push_back({index.time_s[row],
                      tile.first_slot,
                      tile.field_id,
                      index.antenna1[row],
                      index.antenna2[row],
                      {uvw_m[3 * i], uvw_m[3 * i + 1], uvw_m[3 * i + 2]}});
    }
  }
  // A thousandth of the shortest wavelength: 0.4 degrees of phase.
  const double tolerance_m = highest_hz > 0 ? 1e-3 * kSpeedOfLight_m_s / highest_hz : 1e-3;
  summary->uvw = check_uvw(ms.metadata().antennas, ms.metadata().fields, rows, tolerance_m);
}

}  // namespace rimetree::ms
