#include "runtime/ms/tiles/tile_request.h"

#include <algorithm>
#include <atomic>

#include "runtime/core/error.h"

namespace rimetree::ms {

namespace {

std::vector<std::string> columns_used(const Forest& forest, bool written) {
  std::vector<std::string> columns;
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const DataUse* use = forest.node(static_cast<int>(i)).capabilities().data;
    if (use == nullptr || use->writes != written) continue;
    if (std::find(columns.begin(), columns.end(), use->column) == columns.end()) columns.push_back(use->column);
  }
  return columns;
}

}  // namespace

std::vector<std::string> columns_read(const Forest& forest) { return columns_used(forest, false); }
std::vector<std::string> columns_written(const Forest& forest) { return columns_used(forest, true); }

ReadSelection reads_of(const Forest& forest, const RowSelection& rows, bool flags) {
  ReadSelection selection;
  selection.rows = rows;
  selection.weights = false;
  for (const std::string& column : columns_read(forest)) {
    if (column == "WEIGHT")
      selection.weights = true;
    else if (column != "UVW" && column != "EXPOSURE")  // which are read anyway
      selection.columns.push_back(column);
  }
  selection.flags = !selection.columns.empty() || selection.weights || flags;
  return selection;
}

std::uint64_t next_data_id() {
  static std::atomic<std::uint64_t> last{0};
  return ++last;
}

std::shared_ptr<const Cells> cells_of(const Tile& tile) {
  return std::make_shared<const Cells>(
      Cells::time_frequency({tile.time_s, tile.interval_s}, {tile.frequency_hz, tile.channel_width_hz}));
}

void report_failures(const std::vector<Failure>& failures, const TileKey& key) {
  std::string text = "evaluation failed in the tile of DATA_DESC_ID " + std::to_string(key.data_desc_id) +
                     ", FIELD_ID " + std::to_string(key.field_id) + ":";
  constexpr std::size_t kMost = 10;
  for (std::size_t i = 0; i < std::min(failures.size(), kMost); ++i) {
    const Failure& failure = failures[i];
    text += "\n  " + (failure.origin.empty() ? "" : failure.origin + ": ") + "node \"" + failure.node + "\" (" +
            failure.node_class + "): " + failure.message;
  }
  if (failures.size() > kMost) text += "\n  and " + std::to_string(failures.size() - kMost) + " more";
  throw Error(text);
}

}  // namespace rimetree::ms
