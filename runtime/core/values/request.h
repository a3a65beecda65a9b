// What is asked of a forest: on which cells, to which precision, with or without derivatives, on which data.
#pragma once

#include <memory>

#include "runtime/core/cells/cells.h"
#include "runtime/core/cells/tile.h"
#include "runtime/core/values/result.h"

namespace rimetree {

enum class Precision : std::uint8_t {
  double_,  ///< everything in double precision
  single,   ///< phases in double, the rest of monolithic kernels in single precision
};

/// What a result depends on; a set of these decides what is computed once, once per tile, once per iteration.
enum Dependency : std::uint8_t {
  kNothing = 0,
  kDomain = 1,     ///< the cells
  kData = 2,       ///< the tile's data
  kParameter = 4,  ///< values of parameters
  kIteration = 8,  ///< the number of the iteration
  kSolvable = 16,  ///< values of parameters that may be solved for: only then are there derivatives
  kCall = 32,      ///< what may change between two calls of a forest (Evaluator::begin_call): objects of Python
};
using DependencySet = std::uint8_t;

struct Request {
  std::shared_ptr<const Cells> cells;
  Precision precision = Precision::double_;
  /// What a result may be wrong by, as a fraction of the sum of what it adds up (the total flux of a sky); nodes that
  /// know several methods take the cheapest that meets it. 0: that of the precision. See tolerance_of().
  double tolerance = 0;
  bool derivatives = false;      ///< with respect to all solvable parameters
  bool along_direction = false;  ///< with derivatives: one only, kDirection, along direction_component()
  Tile* tile = nullptr;          ///< data for Spigots and what Sinks fill; may be null
  std::uint64_t data_id = 0;     ///< differs whenever the tile's data differ
  std::uint64_t iteration = 0;   ///< of a fitting loop
  int verify = 0;                ///< results per batch that nodes that can are to compute again, in extended precision
};

/// The derivative along one direction in the space of all unknowns, instead of those with respect to each.
inline constexpr ParameterId kDirection{-1, 0};
/// The direction's component along an unknown of a node: between 1/2 and 3/2, of either sign, without regularities.
double direction_component(int node, std::size_t unknown);

/// The tolerance that a request asks for, in one way or the other.
inline double tolerance_of(const Request& request) {
  if (request.tolerance > 0) return request.tolerance;
  return request.precision == Precision::single ? 1e-6 : 1e-12;
}

}  // namespace rimetree
