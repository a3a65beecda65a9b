// Which rows form which tile. Needs the row index only, no visibilities.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "runtime/ms/set/averaging.h"
#include "runtime/ms/set/phase_centre.h"
#include "runtime/ms/set/row_index.h"

namespace rimetree::ms {

/// Which rows to take, and how many time slots at most go into one tile.
struct RowSelection {
  int data_desc_id = -1;          ///< -1: all, each in tiles of its own
  int field_id = -1;              ///< -1: all, each in tiles of its own
  bool autocorrelations = false;  ///< rows with ANTENNA1 = ANTENNA2
  std::size_t time_slots = 32;    ///< per tile, at least 1
  /// Rows whose TIME is in [first_time_s, last_time_s] (MJD seconds).
  double first_time_s = -std::numeric_limits<double>::infinity();
  double last_time_s = std::numeric_limits<double>::infinity();
  /// Further choices, of which each is all where it is empty: data descriptions, scans, ranges of TIME (both ends
  /// included), and baselines (the lower antenna first; rows may have them in either order).
  std::set<int> data_desc_ids = {}, scans = {};
  std::vector<std::pair<double, double>> times_s = {};
  std::set<std::pair<int, int>> baselines = {};
  bool one_order = false;                        ///< rows of (q, p) count as of (p, q), as one_order.h says
  std::optional<PhaseCentre> phase_centre = {};  ///< what is read is moved there from that of the FIELD table
  Averaging averaging = {};                      ///< of what is read; tiles have whole multiples of its slots
  /// Baselines that are averaged otherwise: as TileKey::averaged counts them, from 1 on.
  std::vector<AveragedBaselines> averaged = {};

  /// How the baselines of number `which` are averaged; 0: those in none of `averaged`.
  Averaging averaging_of(int which) const;
  /// Tiles begin with a slot at which cells of all baselines do, of so many slots each (where that is not too many).
  std::size_t slot_unit() const;
};

/// How many rows of a tile are of a scan.
struct ScanRows {
  int observation = 0;  ///< OBSERVATION_ID; 0 where nobody knows
  int scan = 0;         ///< SCAN_NUMBER; likewise
  std::size_t n_row = 0;
};

/// One tile: time slots [first_slot, first_slot + n_slot) of the plan.
struct TileKey {
  int data_desc_id = 0;
  int field_id = 0;
  int layer = 0;     ///< see plan_tiles
  int averaged = 0;  ///< whose tile this is: of baselines in RowSelection::averaged[averaged - 1], or (0) in none
  std::size_t first_slot = 0;
  std::size_t n_slot = 0;
  double window_s = 0;          ///< centre of the first slot that any layer has in these time_slots slots
  std::size_t n_row = 0;        ///< rows present
  std::size_t n_baseline = 0;   ///< baselines with a row in this tile
  double first_time_s = 0;      ///< centre of the first slot
  double last_time_s = 0;       ///< centre of the last slot
  std::vector<ScanRows> scans;  ///< of its rows, as they come: sub-arrays may be in different ones at one time
};

struct TilePlan {
  /// By window_s, then data description and field, then layer, the highest first, then how they are averaged.
  std::vector<TileKey> tiles;

  // Time slots of all tiles; those of one tile are adjacent.
  std::vector<double> slot_time_s;      ///< [slot] mean TIME of its rows
  std::vector<double> slot_interval_s;  ///< [slot] largest finite EXPOSURE of its rows
  std::vector<std::size_t> slot_begin;  ///< [slot + 1] where its rows begin in row_order
  std::vector<std::int64_t> row_order;  ///< rows by slot, then baseline
};

/// Groups rows into time slots and slots into tiles.
///
/// Rows may come in any order. Rows of one data description and field belong to one slot when their TIME is within
/// slot_tolerance_s() of the slot's first; TIME_CENTROID is not looked at. Rows of different EXPOSURE
/// (baseline-dependent averaging) share a slot when their centres coincide, and not otherwise. A second row of the same
/// baseline in the same slot (sub-arrays, several receivers) goes to layer 1, a third to layer 2, and so on: layers are
/// tiled separately, so that every row selected is in exactly one tile. So are baselines that are averaged differently.
TilePlan plan_tiles(const RowIndex& index, const RowSelection& selection);

/// 0.1 s, or a quarter of the shortest positive EXPOSURE of the rows where that is less; 1 ms where EXPOSURE says
/// nothing.
double slot_tolerance_s(const RowIndex& index, const std::vector<std::int64_t>& rows);
/// The same of slots that are so long.
double slot_tolerance_s(double exposure_s);

}  // namespace rimetree::ms
