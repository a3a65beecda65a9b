// Tiles stay in memory between calls as far as half of the memory budget goes; the others are read anew while the one
// before is evaluated. Results that depend on no unknown stay too, if all data leave room: an evaluator keeps those of
// one tile, so they are taken out of it after each tile (Evaluator::take_kept) and put back before the next call's.
// What is on a device is left to the device's own budget.
#include "runtime/ms/runs/ms_objective.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "runtime/core/error.h"
#include "runtime/evaluate/objective.h"
#include "runtime/ms/runs/fit_tiles.h"
#include "runtime/ms/tiles/tile_request.h"

namespace rimetree::ms {

namespace {

constexpr std::size_t kTilesInFlight = 2;  // one being read, one evaluated

const Objective& objective_of(const Forest& forest, int root) {
  const Node& node = forest.node(root);
  if (const Objective* objective = node.capabilities().objective) return *objective;
  throw Error("node \"" + node.name() + "\" is a " + node.node_class().name +
              "; what is summed over a Measurement Set is a ChiSquare or a LogLikelihood");
}

/// Whether any datum of a tile is not flagged, and has a weight, as far as these were read.
bool has_good(const Tile& tile) {
  const std::size_t n_cell = tile.n_channel() * tile.n_correlation();
  for (std::size_t i = 0; i < tile.n_visibility(); ++i) {
    const bool is_there = tile.row[i / n_cell] >= 0;
    if (is_there && (tile.flag.empty() || tile.flag[i] == 0) && (tile.weight.empty() || tile.weight[i] > 0))
      return true;
  }
  return false;
}

}  // namespace

MsObjective::MsObjective(std::unique_ptr<MeasurementSet> ms, Evaluator& evaluator, int root, const Options& options)
    : ms_(std::move(ms)), root_(root), options_(options) {
  objective_of(evaluator.forest(), root_);
  if (options_.memory_bytes == 0) options_.memory_bytes = evaluator.memory_budget() / 2;
  ReadSelection selection = reads_of(evaluator.forest(), options_.rows);
  selection.channels = options_.channels;
  selection.rows.time_slots = std::max<std::size_t>(1, selection.rows.time_slots);
  reader_ = std::make_unique<TileReader>(*ms_, std::move(selection));
  if (options_.rows.time_slots == 0) fit(evaluator);
  tiles_ = std::make_unique<TileStream>(*reader_, TileStream::Options{false, options_.memory_bytes});
  if (tiles_->size() > 1) refuse_what_is_no_data(evaluator);
  results_.resize(tiles_->size());
  has_good_.resize(tiles_->size());
  for (std::size_t i = 0; i < tiles_->size(); ++i) data_id_.push_back(next_data_id());
}

/// A residual that is the same for all tiles would count with each of them.
void MsObjective::refuse_what_is_no_data(Evaluator& evaluator) const {
  const Forest& forest = evaluator.forest();
  evaluator.update_plan();
  rimetree::CellShape cells;
  cells[Axis::time] = 2;
  for (const int child : forest.children(root_)) {
    const bool is_data = (forest.dependencies(child) & kData) != 0;
    if (is_data || evaluator.plan().result_cells(child, cells)[Axis::time] > 1) continue;
    const Node& node = forest.node(child);
    throw Error((node.origin().empty() ? "" : node.origin() + ": ") + "node \"" + node.name() + "\" (" +
                node.node_class().name +
                ") depends neither on data nor on time, so that it would count once for each of " +
                std::to_string(tiles_->size()) + " tiles. What is known of a Parm is said by its prior_mean and " +
                "prior_sigma, which a LogLikelihood with posterior=True takes once");
  }
}

/// Tiles such that their data and what is evaluated on one at a time stay within the budget.
void MsObjective::fit(Evaluator& evaluator) {
  const std::uint64_t budget = evaluator.memory_budget();
  fit_tiles(*reader_, evaluator, {&root_, 1}, {budget / (2 * kTilesInFlight), budget, true}, kDefaultTimeSlots);
}

MsObjective::Outcome MsObjective::evaluate(Evaluator& evaluator, bool gradient, Cancellation* cancellation) {
  Outcome outcome;
  for (std::size_t i = 0; i < tiles_->size(); ++i) {
    const std::shared_ptr<Tile> tile = tiles_->get(i);
    tiles_->read_ahead(i + 1);
    for (const KeptResults::One& one : results_[i].all) kept_result_bytes_ -= one.bytes;
    evaluator.put_back(std::exchange(results_[i], {}));
    add_tile(evaluator, *tile, i, gradient, cancellation, outcome);
    if (tiles_->size() > 1) keep_results(evaluator.evaluated(), i, evaluator.take_kept());  // of one the evaluator does
  }
  // What does not depend on data, a prior, is in the value of each tile, and belongs into the sum once.
  if (outcome.n_tiles > 1) {
    const double more = -static_cast<double>(outcome.n_tiles - 1);
    const Objective& objective = objective_of(evaluator.forest(), root_);
    outcome.value += more * objective.value_of({}, evaluator.forest(), gradient ? &outcome.gradient : nullptr, more);
  }
  return outcome;
}

/// Keeps what fits beside all data. Results of leaves, which are but data in another form, are worth the least: they
/// are kept only where everything can be.
void MsObjective::keep_results(const Forest& forest, std::size_t index, KeptResults results) {
  const std::uint64_t all_data = tiles_->all_bytes();
  const std::uint64_t budget = options_.memory_bytes - std::min(options_.memory_bytes, all_data);
  const auto is_leaf = [&](const KeptResults::One& one) { return forest.children(one.node).empty(); };
  const auto bytes = [&] {
    return std::accumulate(results.all.begin(), results.all.end(), std::uint64_t{0},
                           [](std::uint64_t sum, const KeptResults::One& one) { return sum + one.bytes; });
  };
  if (!keeps_leaves_) {
    const double share = static_cast<double>(tiles_->bytes(index)) / static_cast<double>(all_data);
    keeps_leaves_ = static_cast<double>(bytes()) <= share * static_cast<double>(budget);
  }
  if (!*keeps_leaves_) std::erase_if(results.all, is_leaf);
  if (kept_result_bytes_ + bytes() > budget) return;
  kept_result_bytes_ += bytes();
  results_[index] = std::move(results);
}

void MsObjective::add_tile(Evaluator& evaluator, Tile& tile, std::size_t index, bool gradient,
                           Cancellation* cancellation, Outcome& outcome) {
  Request request;
  request.cells = cells_of(tile);
  request.precision = options_.precision;
  request.tolerance = options_.tolerance;
  request.tile = &tile;
  request.data_id = data_id_[index];
  ValueAndGradient found;
  if (gradient)
    found = evaluator.value_and_gradient(request, root_, cancellation);
  else
    found.value = evaluator.evaluate_step(request, {root_}, cancellation).front();
  if (found.value->status == Result::Status::missing) return;
  if (!found.value->ok()) report_failures(found.value->failures, reader_->tiles()[index]);
  ++outcome.n_tiles;
  if (!has_good_[index]) has_good_[index] = has_good(tile);
  outcome.has_good = outcome.has_good || *has_good_[index];
  outcome.value += found.value->value.real()[0];
  for (const auto& [node, slope] : found.gradient.by_node()) {
    if (outcome.gradient.of(node).empty()) outcome.gradient.include(node, slope.size());
    const std::span<double> total = outcome.gradient.of(node);
    for (std::size_t k = 0; k < slope.size(); ++k) total[k] += slope[k];
  }
}

}  // namespace rimetree::ms
