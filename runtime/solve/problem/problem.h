// What a Solver has to solve: its equations (Condeqs), its unknowns (one for each Parm, solution tile and coefficient),
// and which unknowns share data. Unknowns that share none, directly or through others, are groups solved by themselves.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/core/node/solution_tiles.h"
#include "runtime/core/values/request.h"
#include "runtime/evaluate/plan.h"
#include "runtime/fit/sparsity.h"

namespace rimetree::solve {

/// A Condeq and its children, by index in the forest.
struct Equation {
  int condeq = 0, data = 0, model = 0, weight = -1;  ///< weight -1: all weigh the same
  double weight_factor = 1;
  /// A Parm that is solved for and on which it depends: index into Problem::parms, and the axes along which a node on
  /// the way up mixes cells, so that each cell depends on the Parm's tiles everywhere along them.
  struct Parm {
    int index = 0;
    AxisSet mixed = kNoAxes;
  };
  std::vector<Parm> parms;
};

struct SolvableParm {
  int node = 0;
  std::string name;
  SolutionTiles tiles;
  ParmLimits limits;
  std::size_t first_unknown = 0;
  /// Solution tile of each segment of the cells.
  std::vector<std::int32_t> time_tile, frequency_tile;
  /// Solution tiles that occur, ascending.
  std::vector<std::int32_t> time_tiles, frequency_tiles;
};

/// Runs of cells along an axis: segment i is [begin[i], begin[i + 1]).
struct Segments {
  std::vector<std::size_t> begin;
  std::size_t size() const { return begin.size() - 1; }
  /// As many segments, of other cells: `places` says within which of these cells each is, ascending; empty: they are
  /// the same. Some may have none.
  Segments of(const std::vector<std::size_t>& places) const;
  /// Drops segments without cells before the first cell and behind the last; the number of the first that is left.
  std::uint32_t drop_empty_ends();
};

/// One equation on the cells of one block (time segment, frequency segment), where all solution tiles stay the same.
struct Item {
  std::uint32_t equation = 0, time_segment = 0, frequency_segment = 0;
};

/// Solvable Parms below a node, itself included, ascending.
std::vector<int> solvable_below(const Forest& forest, int root);
/// Nodes below one, itself included, that depend on these; with the axes along which nodes above them mix cells.
std::map<int, AxisSet> mixed_above(const Forest& forest, int root);

/// Where blocks end besides at the edges of what is solved for.
struct BlockEdges {
  std::array<bool, 2> each_cell{false, false};  ///< along time, frequency
  std::vector<SolutionTiles> held;              ///< of Parms that are not solved for
};

/// Of so many unknowns a dense matrix is no trouble; elimination leaves little empty of one that is fuller than this.
inline constexpr std::size_t kFewUnknowns = 500;
inline constexpr double kMostDensity = 0.3;

class Problem {
 public:
  /// `parm_names`: what to solve for; empty: all solvable Parms below the node. Throws Error where there is nothing to
  /// solve for, or a name is no solvable Parm below the node.
  Problem(const Forest& forest, int solver, const Request& request, const std::vector<std::string>& parm_names);
  /// Divides the cells into blocks on which no solution tile changes.
  void divide(const Cells& cells, const BlockEdges& also = {});

  /// The cells that were divided.
  const CellShape& cells() const { return cells_; }

  std::vector<Equation> equations;
  std::vector<SolvableParm> parms;
  std::vector<int> parm_of_node;  ///< by node of the forest, -1: not solved for

  std::size_t n_unknown() const { return n_unknown_; }
  const Segments& time_segments() const { return segments_[0]; }
  const Segments& frequency_segments() const { return segments_[1]; }
  std::size_t n_block() const { return segments_[0].size() * segments_[1].size(); }
  /// Whether an equation says the same of each part of the cells, so that it counts with the first only.
  bool is_same_in_all_parts(const Forest& forest, const Plan& plan, std::size_t equation) const;
  /// Solves for some of the unknowns only, and holds the others where they are; empty: for all.
  void activate(std::vector<bool> active);

  /// Whether a Parm has unknowns that are solved for now.
  bool is_active(std::size_t parm) const { return active_.empty() || active_[parms[parm].first_unknown]; }

  /// The unknown that a derivative is with respect to in a block; -1: not solved for. Several derivatives may be with
  /// respect to one unknown: that of the block's own tile, and that of the tile below a node that mixes cells.
  std::int64_t unknown(ParameterId id, const Item& item) const;

  std::size_t n_group() const { return groups_.size(); }
  /// Unknowns of a group, ascending.
  const std::vector<std::uint32_t>& group(std::size_t g) const { return groups_[g]; }
  /// -1: the unknown occurs in no equation on these cells.
  std::int32_t group_of(std::size_t unknown) const { return group_of_[unknown]; }
  std::uint32_t place_in_group(std::size_t unknown) const { return place_[unknown]; }
  /// The group of an item; -1: it has no unknowns.
  std::int32_t group_of(const Item& item) const;
  /// First and last segment in time, then in frequency, on which a group has unknowns.
  const std::array<std::uint32_t, 4>& extent(std::size_t g) const { return extents_[g]; }

  /// Which elements the normal matrix of each group has, for groups where that saves much; nothing for others. Found
  /// when first asked for, and then kept as long as groups stay.
  const std::vector<std::shared_ptr<const fit::Sparsity>>& sparsities();
  /// Elements of the normal matrices of all groups, if only those that may differ from zero are kept.
  double n_element() const;
  /// By Parm, the number of its way to divide the cells into solution tiles: 0, 1, ...
  std::vector<int> tilings() const;
  /// Leaves out of large normal matrices what is between unknowns of different parts: each part's equations are then
  /// those with all others held. Groups stay what they are.
  void uncouple(std::vector<int> part_of_parm);

  /// Values of all unknowns, from the forest.
  std::vector<double> values(const Forest& forest) const;
  /// Writes them into the forest; Parms whose values stay the same are not touched.
  void set_values(Forest& forest, const std::vector<double>& values) const;

 private:
  void find_groups();
  // Of normal matrices; see problem_sparsity.cc.
  /// Tiles of two Parms that occur together along time and frequency, ascending.
  struct TogetherOnTiles {
    std::vector<std::pair<std::int32_t, std::int32_t>> times, frequencies;
  };
  /// Whether two Parms are of one part; all are where there are none.
  bool is_of_part_of(std::size_t a, std::size_t b) const;
  TogetherOnTiles together(std::size_t a, std::size_t b, const std::vector<AxisSet>& mixed) const;
  template <class Body>
  void for_each_pair_of_parms(const Body& body) const;
  std::vector<AxisSet> mixed_of_parms() const;
  std::vector<std::uint32_t> parts_of(std::size_t g) const;
  /// Adds the elements of all pairs of unknowns of two Parms.
  void connect(std::size_t a, std::size_t b, const TogetherOnTiles& together,
               std::vector<std::unique_ptr<fit::SparsityBuilder>>& builders) const;
  template <class Body>
  void for_each_unknown(const Item& item, const Body& body) const;

  CellShape cells_;
  std::size_t n_unknown_ = 0;
  std::array<Segments, 2> segments_;
  std::vector<std::vector<std::uint32_t>> groups_;
  std::vector<std::array<std::uint32_t, 4>> extents_;
  std::vector<bool> active_;  // by unknown; empty: all
  std::vector<std::int32_t> group_of_;
  std::vector<std::uint32_t> place_;
  std::vector<int> part_of_parm_;  // empty: all is coupled
  std::optional<std::vector<std::shared_ptr<const fit::Sparsity>>> sparsities_;
};

}  // namespace rimetree::solve
