#include "runtime/core/node/solution_tiles.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "runtime/core/error.h"
#include "runtime/core/node/node.h"

namespace rimetree {

namespace {

const StateArray& real_array(const State& state, const char* field) {
  const StateArray& array = state.array(field);
  if (array.type == NumberType::complex) throw StateError("state field \"" + std::string(field) + "\" must be real");
  return array;
}

std::vector<double> edges_of(const State& state, const char* field) {
  const StateArray& edges = real_array(state, field);
  if (edges.size() == 0) return {};
  bool good = edges.shape.size() == 1 && edges.size() >= 2;
  for (std::size_t i = 0; i < edges.data.size(); ++i)
    good = good && std::isfinite(edges.data[i]) && (i == 0 || edges.data[i] > edges.data[i - 1]);
  if (!good)
    throw StateError("state field \"" + std::string(field) +
                     "\" must be a list of two or more ascending numbers, the edges of the solution tiles, or empty");
  return edges.data.vector();
}

/// One number per coefficient, from a field that is empty, a number for the constant term, or all coefficients.
std::vector<double> per_coefficient(const State& state, const char* field, const SolutionTiles& tiles, double absent) {
  const StateArray& given = real_array(state, field);
  std::vector<double> result(tiles.n_coefficient(), absent);
  if (given.size() == result.size())
    result = given.data.vector();
  else if (given.size() == 1)
    result[0] = given.data[0];
  else if (given.size() != 0)
    throw StateError("state field \"" + std::string(field) + "\" has " + std::to_string(given.size()) +
                     " numbers; expected none, one for the constant term, or one for each of the " +
                     std::to_string(result.size()) + " coefficients");
  if (std::any_of(result.begin(), result.end(), [](double x) { return std::isnan(x); }))
    throw StateError("state field \"" + std::string(field) + "\" must not be NaN");
  return result;
}

}  // namespace

SolutionTiles::SolutionTiles(const State& parm)
    : time_edges_s_(edges_of(parm, "time_edges_s")), freq_edges_hz_(edges_of(parm, "freq_edges_hz")) {
  if (!time_edges_s_.empty()) n_time_ = time_edges_s_.size() - 1;
  if (!freq_edges_hz_.empty()) n_frequency_ = freq_edges_hz_.size() - 1;
  const StateArray& value = parm.array("value");
  if (value.type == NumberType::complex)
    throw StateError("a Parm is real; make a complex parameter of two Parms with ToComplex or Polar");
  const std::vector<std::int64_t>& shape = value.shape;
  const bool tiled = shape.size() == 4;
  const bool fits =
      tiled ? shape[0] == static_cast<std::int64_t>(n_time_) && shape[1] == static_cast<std::int64_t>(n_frequency_)
            : shape.size() <= 2;
  if (!fits || value.size() == 0)
    throw StateError(
        "state field \"value\" must be a number, coefficients [time degree + 1, freq degree + 1], or "
        "coefficients per solution tile [" +
        std::to_string(n_time_) + ", " + std::to_string(n_frequency_) + ", time degree + 1, freq degree + 1]");
  // What could be a value per tile as well is not guessed at.
  const std::vector<std::int64_t> of_tiles{static_cast<std::int64_t>(n_time_), static_cast<std::int64_t>(n_frequency_)};
  const auto n_tiles = static_cast<std::int64_t>(n_tile());
  if (!tiled && n_tile() > 1 && (shape == of_tiles || shape == std::vector<std::int64_t>{n_tiles})) {
    const std::string tiles = "[" + std::to_string(n_time_) + ", " + std::to_string(n_frequency_) + ", ";
    throw StateError("state field \"value\" has as many numbers as there are solution tiles, " +
                     std::to_string(n_tiles) + ": write " + tiles + "1, 1] for one value per tile, or " + tiles +
                     "time degree + 1, freq degree + 1] for polynomial coefficients of each tile");
  }
  const std::size_t first = tiled ? 2 : 0;
  if (shape.size() > first) time_terms_ = static_cast<std::size_t>(shape[first]);
  if (shape.size() > first + 1) frequency_terms_ = static_cast<std::size_t>(shape[first + 1]);
  if (tiled) {
    values_ = value.data.vector();
  } else {
    for (std::size_t tile = 0; tile < n_tile(); ++tile)
      values_.insert(values_.end(), value.data.begin(), value.data.end());
  }
  value_shape_ = shape;
  if (n_tile() > 1)
    value_shape_ = {static_cast<std::int64_t>(n_time_), static_cast<std::int64_t>(n_frequency_),
                    static_cast<std::int64_t>(time_terms_), static_cast<std::int64_t>(frequency_terms_)};
}

SolutionTiles SolutionTiles::of(const Node& node) {
  if (node.algebra() != Algebra::parameter)
    throw Error("node \"" + node.name() + "\" is a " + node.node_class().name + ", not a Parm");
  return SolutionTiles(node.state());
}

std::vector<std::int32_t> SolutionTiles::of_cells(const Cells& cells, Axis axis) const {
  const std::vector<double>& edges = axis == Axis::time ? time_edges_s_ : freq_edges_hz_;
  if (edges.size() <= 2) return {0};
  std::vector<std::int32_t> tiles;
  for (const double centre : cells.require(axis).centre) {
    // A tile holds its lower edge. Inner edges decide, so that the outermost tiles take what lies beyond them.
    const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, centre);
    tiles.push_back(static_cast<std::int32_t>(above - edges.begin() - 1));
  }
  return tiles;
}

std::size_t SolutionTiles::n_outside(const Cells& cells, Axis axis) const {
  const std::vector<double>& edges = axis == Axis::time ? time_edges_s_ : freq_edges_hz_;
  if (edges.empty() || !cells.has(axis)) return 0;
  const std::vector<double>& centres = cells.axis(axis).centre;
  return static_cast<std::size_t>(std::count_if(
      centres.begin(), centres.end(), [&](double centre) { return centre < edges.front() || centre > edges.back(); }));
}

ParmLimits::ParmLimits(const State& parm, const SolutionTiles& tiles) {
  constexpr double kNone = std::numeric_limits<double>::infinity();
  minimum = per_coefficient(parm, "minimum", tiles, -kNone);
  maximum = per_coefficient(parm, "maximum", tiles, kNone);
  prior_mean = per_coefficient(parm, "prior_mean", tiles, 0);
  prior_sigma = per_coefficient(parm, "prior_sigma", tiles, 0);
  for (std::size_t k = 0; k < tiles.n_coefficient(); ++k) {
    if (!(minimum[k] <= maximum[k]))
      throw StateError("state field \"minimum\" is " + std::to_string(minimum[k]) + ", but \"maximum\" is " +
                       std::to_string(maximum[k]));
    if (minimum[k] == kNone || maximum[k] == -kNone)
      throw StateError("state fields \"minimum\" and \"maximum\" leave no finite value");
    if (std::isinf(prior_mean[k])) throw StateError("state field \"prior_mean\" must be finite");
    if (prior_sigma[k] < 0) throw StateError("state field \"prior_sigma\" must not be negative");
    if (std::isinf(prior_sigma[k])) prior_sigma[k] = 0;
  }
}

}  // namespace rimetree
