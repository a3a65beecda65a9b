// Reads a Measurement Set in time-slot groups.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/core/cells/tile.h"
#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/set/tile_plan.h"
#include "runtime/ms/tiles/channel_choice.h"

namespace rimetree::ms {

/// At most so many in a tile where nobody says how many.
inline constexpr std::size_t kDefaultTimeSlots = 64;

/// What to read of which rows.
struct ReadSelection {
  RowSelection rows;
  std::vector<std::string> columns;      ///< visibilities to read (DATA, ...); none: coordinates only
  std::optional<ChannelRange> channels;  ///< all if not given; must exist in every spectral window selected
  ChannelChoice chosen;                  ///< of these; what is between chosen ones is read and flagged
  bool flags = true;                     ///< fill Tile::flag
  bool weights = true;                   ///< fill Tile::weight
};

/// Plans on construction (reads only the columns that say what each row is), then reads any tile at any time, from any
/// thread. Keeps a reference to the Measurement Set.
class TileReader {
 public:
  /// Throws MsError if a column or an id selected does not exist or does not hold visibilities.
  TileReader(const MeasurementSet& ms, ReadSelection selection);

  const MeasurementSet& measurement_set() const { return ms_; }
  const ReadSelection& selection() const { return selection_; }
  const TilePlan& plan() const { return plan_; }
  const std::vector<TileKey>& tiles() const { return plan_.tiles; }
  /// Baselines that have a row in any tile, ascending.
  std::vector<Baseline> baselines() const;
  /// Channels of a data description that are read.
  std::size_t n_channel(int data_desc_id) const { return part(data_desc_id).n_channel; }
  /// Rows in all tiles.
  std::size_t n_row() const { return plan_.row_order.size(); }

  /// The axes of tile `index` as they are stored, before data are averaged; reads nothing.
  Tile stored_outline(std::size_t index) const;
  /// The axes of tile `index`: cells, correlations and baselines, without rows and arrays; reads nothing.
  Tile outline(std::size_t index) const;
  /// Reads tile `index`; rows absent have row -1, zero values and weight, and set flags. Throws MsError.
  Tile read(std::size_t index) const;

  /// Bytes that tile `index` takes while it is read, with `more_columns` columns of visibilities beside those read.
  std::size_t bytes(std::size_t index, std::size_t more_columns = 0) const;
  /// The most that any tile takes; 0 if there is none.
  std::size_t largest_bytes(std::size_t more_columns = 0) const;
  /// Changes the number of time slots per tile to the largest with which no tile takes more than `budget_bytes`, at
  /// least 1, at most `most`, and returns it. Throws MsError if even one slot takes more.
  std::size_t fit(std::size_t budget_bytes, std::size_t most, std::size_t more_columns = 0);

 private:
  Averaging averaging_of(std::size_t index) const {
    return selection_.rows.averaging_of(plan_.tiles.at(index).averaged);
  }
  /// The axes, and the data, of slots as they are stored; `axes`: their outline.
  Tile stored_outline(const TileKey& key) const;
  Tile read_stored(const TileKey& key, Tile axes) const;
  ChannelRange channels(int data_desc_id) const;
  CellPart part(int data_desc_id) const;
  void place_rows(const TileKey& key, Tile* tile) const;
  void fill_arrays(const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& rows,
                   const CellPart& part, Tile* tile) const;
  void fill_flags(const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& rows,
                  const CellPart& part, Tile* tile) const;
  void flag_between(const CellPart& part, Tile* tile) const;  ///< channels that are not chosen
  void fill_weights(const std::vector<std::size_t>& positions, const std::vector<std::int64_t>& rows,
                    const CellPart& part, Tile* tile) const;

  const MeasurementSet& ms_;
  ReadSelection selection_;
  std::shared_ptr<const RowIndex> index_;
  TilePlan plan_;
};

}  // namespace rimetree::ms
