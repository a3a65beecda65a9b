// The matrix product over sources on the host: V_pq = L_p R_q, with the phasors and Jones terms of an antenna on either
// side. Which antennas stand on which side of which rows, cut into tiles whose sides and sums stay in a cache. What
// depends on a baseline and a source together, smearing and tapers, is a real factor within the sum.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "nodes/psv/antennas.h"
#include "nodes/psv/pipeline/jones_chains.h"
#include "nodes/psv/summed.h"

namespace rimetree::psv::matrix {
using namespace pipeline;

/// Ends of baselines on either side of a tile, sources of a block: few enough that their sides stay in the second-level
/// cache.
inline constexpr std::int32_t kTileEnds = 64;
inline constexpr std::size_t kSideSources = 16;
/// Sources from end to end in memory, as there is a pair more in each row of them: were they whole pages apart, they
/// would share few places of the cache.
inline constexpr std::size_t kEndRoom = kSideSources + 1;

/// Rows of some layers between some ends. Its cells are the layers' channels, one layer after the other.
struct SidesTile {
  std::int32_t first_layer = 0, n_layer = 0;
  std::vector<std::int32_t> antenna;    ///< numbers in the layers
  std::vector<AntennaEnd> left, right;  ///< by antenna, its number in the tile
  std::size_t n_left = 0, n_right = 0;  ///< filled up to whole blocks
  std::vector<std::int32_t> row;        ///< [layer][left][right]: the caller's number, or -1
  /// First left and right end of each block of pairs among which there are rows; what shares a few right ends comes
  /// together.
  std::vector<std::pair<std::uint8_t, std::uint8_t>> blocks;

  std::size_t pair_row() const { return n_right + 1; }  ///< from one left end to the next
  std::size_t n_pair() const { return n_left * pair_row(); }
  std::int32_t row_at(std::size_t layer, std::size_t l, std::size_t r) const {
    return l < left.size() && r < right.size() ? row[(layer * left.size() + l) * right.size() + r] : -1;
  }
};

/// What the two sides of a source are: real weights of planes and one factor on either side, or matrices.
struct SidesShape {
  std::vector<Plane> planes;    ///< of the sums: 1, 2 or 4; empty: the sums are the correlations
  std::vector<double> weights;  ///< [source][weight channel][plane]
  bool left_matrix = false;     ///< some term on the left is one
  bool right_matrix = false;    ///< the same on the right
  bool unpolarised = false;     ///< the brightness is a multiple of the unit matrix
  bool diagonal_brightness = false;
  bool looks_diagonal = false;  ///< so are all matrices, where one looked: for estimates
  /// On the left stand matrices, be the terms that they are made of scalars.
  bool left_has_elements() const { return left_matrix || right_matrix; }
  int n_sum() const { return planes.empty() ? 4 : static_cast<int>(planes.size()); }
  int n_left() const { return n_sum(); }
  int n_right() const { return right_matrix ? 4 : 1; }
  /// Pairs of a block.
  std::size_t block_rows() const { return n_sum() == 1 ? 2 : 1; }
  static constexpr std::size_t kBlockColumns = 2;
  /// Cells that are computed together: some lines of the cache of each term.
  std::size_t window_cells() const { return right_matrix ? 8 : 16; }
  std::size_t n_vector() const { return window_cells() / std::min(rows_per_block<double>(), window_cells()); }
  /// Right ends whose sides at a vector of cells stay in the first-level cache.
  std::size_t near_ends() const {
    constexpr std::size_t kBytes = std::size_t{16} << 10;
    const std::size_t end = 2 * static_cast<std::size_t>(n_right()) * kSideSources * rows_per_block<double>() * 8;
    return std::max(kBytes / end, kBlockColumns);
  }
};

/// How much there is to do for each source.
struct SidesWork {
  double pair_cells = 0;     ///< of whole blocks and vectors
  double end_cells = 0;      ///< of both sides
  double antenna_cells = 0;  ///< whose phasors are made
};

struct SidesPlan {
  std::string obstacle;  ///< why the method is out of the question; empty if it is not
  AntennaPlan antennas;
  JonesChains jones;
  SidesShape shape;
  std::vector<SidesTile> tiles;
  bool smear_time = false, smear_frequency = false;
  bool left_moves = false, right_moves = false;  ///< some term does; see JonesTerms::tangents
  double bound = 0;                              ///< of the error, as a fraction of the total flux

  std::size_t cells(const SidesTile& tile, const Channels& channels) const {
    return static_cast<std::size_t>(tile.n_layer) * channels.frequency_hz.size();
  }
};

SidesWork work_of(const SidesPlan& plan, const Channels& channels);

/// `tolerance`: of the total flux. `elements`: the sums are the correlations, whatever planes the brightness has.
SidesPlan sides_plan(const Summed& of, double tolerance, ThreadPool& threads, bool elements = false);

}  // namespace rimetree::psv::matrix
