// One window of a tile's cells, as the instruction sets' versions of the kernel share it.
#pragma once

#include <memory>

#include "nodes/psv/matrix/sides_solve.h"

namespace rimetree::psv::matrix {

/// What the cells of a channel need, [channel].
struct ChannelNumbers {
  std::vector<double> turns_high, turns_low;  ///< frequency over c, turns per metre
  std::vector<double> half_width;             ///< pi |width| / c
};
ChannelNumbers channel_numbers(const Channels& channels);

/// Ends on either side of a block of pairs in reverse, at the most.
inline constexpr std::size_t kReverseEnds = 16;
/// So many that what a few of them meet stays in the first-level cache.
inline std::size_t reverse_ends(const SidesShape& shape) { return shape.n_sum() > 2 ? kReverseEnds / 2 : kReverseEnds; }

/// Derivatives that a pass over the sides works with: none, those of the sides along an unknown, or those with respect
/// to the sides.
enum class SideSlopes : std::uint8_t { kNone, kForward, kReverse };

/// Scratch of one thread for all tiles of a plan. A vector has kMaxLanes / 2 lanes at most.
struct SidesScratch {
  SidesScratch(const SidesPlan& plan, SideSlopes slopes);
  double* scaled;       ///< [vector][u, v, w][high, low][lane] of one antenna
  double* phasor;       ///< [vector][source][re, im][lane] of one antenna
  double* left;         ///< [vector][end][source][element][re, im][lane]
  double* right;        ///< the same
  double* amplitude;    ///< [pair of a block][source][lane]
  double* sum;          ///< [vector][left][right][sum][re, im][lane]; in reverse their adjoints, in up to three parts
  double* left_slope;   ///< as left
  double* right_slope;  ///< as right
  double* sum_slope;    ///< as sum; forward only
  std::size_t bytes = 0;

 private:
  struct Free {
    void operator()(double* p) const;
  };
  std::unique_ptr<double, Free> storage_;
};

/// Sources of one profile that pass together.
struct SideBlock {
  std::size_t begin, count;
  Profile profile;
};
std::vector<SideBlock> side_blocks(const Sky<double>& sky);

struct SidesProblem {
  const Summed& of;
  const SidesPlan& plan;
  const ChannelNumbers& numbers;
  /// Sides that are not finite are zero: in reverse nothing depends on them, and they must not reach other sides.
  bool finite = false;
};
struct SidesSum : SidesProblem {
  const SidesOutput& out;
};

/// Visibilities of the rows of a tile at a window of cells: as many as the vectors of the shape hold.
void evaluate_sides(const SidesSum& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch);

}  // namespace rimetree::psv::matrix
