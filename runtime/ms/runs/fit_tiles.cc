#include "runtime/ms/runs/fit_tiles.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rimetree::ms {
namespace {

/// The most that a root needs for a tile of this reader.
std::uint64_t largest_evaluation(const TileReader& reader, const Evaluator& evaluator, std::span<const int> roots,
                                 bool all_stay) {
  std::set<std::pair<int, int>> shapes;  // time slots, channels
  for (const TileKey& key : reader.tiles())
    shapes.emplace(static_cast<int>(key.n_slot), static_cast<int>(reader.n_channel(key.data_desc_id)));
  std::uint64_t largest = 0;
  for (const auto& [n_slot, n_channel] : shapes) {
    rimetree::CellShape cells;
    cells[Axis::time] = n_slot;
    cells[Axis::frequency] = n_channel;
    for (const int& root : roots) {
      const std::span one(&root, 1);
      largest =
          std::max(largest, all_stay ? evaluator.plan().peak_bytes(one, cells) : evaluator.peak_bytes(one, cells));
    }
  }
  return largest;
}

}  // namespace

std::size_t fit_tiles(TileReader& reader, const Evaluator& evaluator, std::span<const int> roots,
                      const TileMemory& memory, std::size_t most_slots, std::size_t more_columns) {
  std::size_t slots = reader.fit(memory.data, most_slots, more_columns);
  while (slots > 1) {
    const std::uint64_t bytes = largest_evaluation(reader, evaluator, roots, memory.all_stay);
    if (bytes <= memory.results) break;
    const double share = double(memory.results) / double(bytes);
    const auto fewer = std::clamp<std::size_t>(static_cast<std::size_t>(double(slots) * share), 1, slots - 1);
    const std::size_t fitted = reader.fit(memory.data, fewer, more_columns);
    if (fitted >= slots) break;  // of joined windows: there are no shorter tiles
    slots = fitted;
  }
  return slots;
}

}  // namespace rimetree::ms
