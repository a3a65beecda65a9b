// The solution tiles of a Parm: rectangles of time and frequency, each with a polynomial of its own, and where in the
// Parm's `value` each unknown (tile, coefficient) is kept.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/core/cells/cells.h"
#include "runtime/core/classes/state.h"

namespace rimetree {

class Node;

class SolutionTiles {
 public:
  /// From the state of a Parm. Throws StateError where edges do not ascend or `value` has no shape that fits them.
  explicit SolutionTiles(const State& parm);
  /// As above; throws Error if the node is no Parm.
  static SolutionTiles of(const Node& node);

  std::size_t n_time() const { return n_time_; }
  std::size_t n_frequency() const { return n_frequency_; }
  std::size_t n_tile() const { return n_time_ * n_frequency_; }
  /// Terms of the polynomial along time and frequency: degree + 1.
  std::size_t time_terms() const { return time_terms_; }
  std::size_t frequency_terms() const { return frequency_terms_; }
  /// Coefficients per tile. Coefficient k = i frequency_terms() + j belongs to x^i y^j: ParameterId::coefficient.
  std::size_t n_coefficient() const { return time_terms_ * frequency_terms_; }
  std::size_t n_unknown() const { return n_tile() * n_coefficient(); }
  /// Where in `values()` an unknown is.
  std::size_t at(std::size_t time_tile, std::size_t frequency_tile, std::size_t coefficient) const {
    return (time_tile * n_frequency_ + frequency_tile) * n_coefficient() + coefficient;
  }

  /// For each cell along an axis the number of the tile that holds its centre; cells outside all tiles take the nearest
  /// one. One entry, 0, if there is one tile along the axis (the grid then need not have the axis).
  std::vector<std::int32_t> of_cells(const Cells& cells, Axis axis) const;

  /// How many cells along an axis lie outside of all tiles: their centres do.
  std::size_t n_outside(const Cells& cells, Axis axis) const;

  const std::vector<double>& time_edges_s() const { return time_edges_s_; }    ///< [n_time() + 1], or empty: one tile
  const std::vector<double>& freq_edges_hz() const { return freq_edges_hz_; }  ///< [n_frequency() + 1], or empty
  /// [time tile, frequency tile, time term, frequency term], row-major; a `value` of one polynomial is the same in all.
  const std::vector<double>& values() const { return values_; }
  /// The shape of `value` that holds an unknown for each tile: the given one if there is one tile.
  const std::vector<std::int64_t>& value_shape() const { return value_shape_; }

 private:
  std::vector<double> time_edges_s_, freq_edges_hz_, values_;
  std::vector<std::int64_t> value_shape_;
  std::size_t n_time_ = 1, n_frequency_ = 1, time_terms_ = 1, frequency_terms_ = 1;
};

/// What is known of a Parm's coefficients before there are data: bounds and normal priors, each [coefficient], the
/// same in all tiles. Bounds are -inf and +inf where there are none, prior_sigma is 0.
struct ParmLimits {
  std::vector<double> minimum, maximum, prior_mean, prior_sigma;
  /// Throws StateError where shapes do not fit the polynomial, bounds exclude each other or sigma is negative.
  ParmLimits(const State& parm, const SolutionTiles& tiles);
};

}  // namespace rimetree
