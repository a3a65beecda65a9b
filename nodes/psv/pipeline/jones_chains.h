// Jones terms as the kernel for devices reads them: whatever applies to one antenna multiplied once for all its
// baselines.
#pragma once

#include <vector>

#include "nodes/psv/kernel.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/math/jones.h"

namespace rimetree::psv::pipeline {

/// One side of a pair of Jones terms: of one antenna (see JonesPair), for all sources.
struct JonesFactor {
  Strided<Complex<double>> view[4];
  bool is_matrix = false;
  bool is_conjugated = false;           ///< the views are of the conjugates of its elements
  Strided<Complex<double>> tangent[4];  ///< JonesTerms::tangents; without views it does not move
  bool tangent_is_conjugated = false;
  bool moves() const { return tangent[0] || tangent[1] || tangent[2] || tangent[3]; }
  bool is_transposed = false;  ///< what the views are of lies transposed; its target does not, unless it is of that
  std::ptrdiff_t target = -1;  ///< where derivatives with respect to it go; see JonesTargets
  TermSlopes slopes;           ///< the same
};
/// What applies to a source, in the caller's order.
Jones<double> jones_of(const JonesFactor& factor, std::size_t source, std::int32_t time, std::int32_t channel);

/// Along which axes Jones terms vary: their lengths, 1 where they do not.
struct JonesAxes {
  std::int32_t n_time = 1, n_channel = 1;
};

/// Which Jones terms apply to which baseline: chains of terms, innermost first, each distinct chain once (one per
/// antenna, usually).
struct JonesChains {
  using Chain = std::vector<JonesFactor>;
  struct OfSide {
    std::vector<Chain> chains;
    std::vector<std::int32_t> of_baseline;
    JonesAxes axes;
  };
  OfSide left, right;
  const OfSide& of(bool is_right) const { return is_right ? right : left; }
  bool empty() const { return left.chains.empty(); }
};

/// Chains of the baselines of some rows; sides with the same views, and the same targets, are one. `n_channel`: where
/// terms vary along them.
JonesChains jones_chains(const JonesTerms& jones, const Rows& rows, std::size_t n_channel);

/// Of a source of the packed sky.
Jones<double> brightness_of(const Sky<double>& sky, std::size_t source, std::int32_t channel);

/// Sources [source_begin, source_end) of the packed sky, and channels [first_channel, first_channel + n_channel).
struct ProductRange {
  std::size_t source_begin = 0, source_end = 0;
  std::int32_t first_channel = 0, n_channel = 1;
};
/// Products of the chains of one side, each multiplied once: [chain][time][channel][source][4]; one channel only where
/// none varies along `axes`. Left: J_n .. J_1 B, or without B; right: J_1^H .. J_n^H.
template <class T>
std::vector<Complex<T>> products_of(const JonesChains& chains, bool right, bool with_brightness, const JonesAxes& axes,
                                    const Sky<double>& sky, const ProductRange& range, ThreadPool& threads);

}  // namespace rimetree::psv::pipeline
