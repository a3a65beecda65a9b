#include <algorithm>
#include <map>

#include "runtime/math/conventions.h"
#include "runtime/ms/inspect_parts.h"

namespace rimetree::ms {
namespace {

/// At most `most` tiles of layer 0 of every group, spread evenly.
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
  return chosen;
}

}  // namespace

void summarise_uvw(const MeasurementSet& ms, const RowIndex& index, const TilePlan& plan, std::size_t time_slots,
                   MsSummary* summary) {
  std::vector<UvwRow> rows;
  double highest_hz = 0;
  for (const TileKey& tile : spread(plan, time_slots)) {
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
