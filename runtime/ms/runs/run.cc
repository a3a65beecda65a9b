#include "runtime/ms/runs/run.h"

#include <algorithm>
#include <complex>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <span>

#include "runtime/ms/runs/finite.h"
#include "runtime/ms/runs/fit_tiles.h"
#include "runtime/ms/runs/sinks_of_forest.h"
#include "runtime/ms/tables/error.h"
#include "runtime/ms/tiles/join_windows.h"
#include "runtime/ms/tiles/tile_request.h"

namespace rimetree::ms {

namespace {

bool any_sink_writes_flags(const Forest& forest) {
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const DataUse* use = forest.node(static_cast<int>(i)).capabilities().data;
    if (use != nullptr && use->writes_flags) return true;
  }
  return false;
}

std::vector<std::pair<int, StateArray>> values_to_start_anew_with(const Forest& forest) {
  std::vector<std::pair<int, StateArray>> found;
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const Node& node = forest.node(static_cast<int>(i));
    const UnknownsHolder* unknowns = node.capabilities().unknowns;
    if (unknowns != nullptr && unknowns->starts_anew()) found.emplace_back(node.index(), node.state().array("value"));
  }
  return found;
}

// A run of a forest.
class Run final : public TileRun {
 public:
  Run(MeasurementSet& ms, Evaluator& evaluator, const RunOptions& options)
      : TileRun(ms, options.shared),
        evaluator_(evaluator),
        options_(options),
        stages_(sink_stages(evaluator.forest())) {
    const std::vector<bool> evaluated = at_or_below(evaluator.forest(), stages_);
    require_places_of_their_own(evaluator.forest(), evaluated);
    warn_of_idle_nodes(evaluator.forest(), evaluated, &report_.warnings);
    writes_flags_ = any_sink_writes_flags(evaluator.forest());
    starting_values_ = values_to_start_anew_with(evaluator.forest());
    ReadSelection selection = reads_of(evaluator.forest(), options.rows, writes_flags_);
    if (selection.rows.time_slots == 0) selection.rows.time_slots = 1;
    selection.channels = options.channels;
    selection.chosen = options.chosen;
    reader_ = std::make_unique<TileReader>(ms, selection);
    outputs_ = columns_written(evaluator.forest());
    if (options.rows.time_slots == 0) choose_time_slots();
    if (!options.chosen.all() && !outputs_.empty())
      throw Error(
          "channels are chosen by several ranges for reading only: the forest has Sinks, which would write to " +
          outputs_.front() + "; give one range of channels");
    if (options.join_windows && !outputs_.empty())
      throw Error("spectral windows are joined for solving only: the forest has Sinks, which would write to " +
                  outputs_.front());
    if (options.join_windows)
      parts_ = windows_together(reader_->plan());
    else
      for (std::size_t i = 0; i < reader_->tiles().size(); ++i) parts_.push_back({i});
    report_.time_slots = reader_->selection().rows.time_slots;
    report_.columns = outputs_;
  }

  RunReport run(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress) {
    const double inside_before = arithmetic_seconds();
    go(cancellation, progress);
    report_.overhead_seconds =
        report_.total_seconds - report_.read_seconds - report_.write_seconds - (arithmetic_seconds() - inside_before);
    warn_of_sinks_without_data();
    for (const auto& [column, count] : not_finite_)
      report_.warnings.push_back(std::to_string(count) + " visibilities that were written to " + column +
                                 " are infinite or not a number");
    return report_;
  }

 private:
  /// As many as fit, but no more than make reading and evaluating worth while.
  void choose_time_slots() {
    constexpr std::size_t kLargeTile = 48u << 20;
    const std::uint64_t budget = evaluator_.memory_budget();
    // Baselines are evaluated some at a time if there are too many, but each needs the whole sky. Nodes take as much
    // again while they work.
    const TileMemory memory{budget / (2 * kTilesInFlight), budget / 2};
    std::vector<int> roots;
    for (const std::vector<int>& stage : stages_)
      if (!stage.empty()) roots.insert(roots.end(), {stage.front(), stage.back()});
    const std::size_t most = fit_tiles(*reader_, evaluator_, roots, memory, kDefaultTimeSlots, outputs_.size());
    const std::size_t of_slot = std::max<std::size_t>(1, reader_->largest_bytes(outputs_.size()) / most);
    if (of_slot * most > kLargeTile)
      reader_->fit(memory.data, std::clamp<std::size_t>(kLargeTile / of_slot, 1, most), outputs_.size());
  }

  double arithmetic_seconds() const {
    return evaluator_.timing().total_seconds - evaluator_.timing().overhead_seconds();
  }

  InFlight read(const std::vector<std::size_t>& parts) override {
    InFlight read{read_joined(*reader_, parts), {}};
    for (const std::string& column : outputs_) {
      if (read.tile.columns.contains(column)) continue;
      // What no Sink fills is not written, so it need not be cleared.
      std::vector<std::complex<float>> values = ms_.spare_arrays().column();
      values.resize(read.tile.n_visibility());
      read.tile.columns[column] = std::move(values);
    }
    return read;
  }

  void set_cells(const Tile& tile) {
    if (cells_ && cells_time_ == tile.time_s && cells_frequency_ == tile.frequency_hz &&
        cells_interval_ == tile.interval_s && cells_width_ == tile.channel_width_hz)
      return;
    cells_time_ = tile.time_s, cells_interval_ = tile.interval_s;
    cells_frequency_ = tile.frequency_hz, cells_width_ = tile.channel_width_hz;
    cells_ = cells_of(tile);
  }

  void work(InFlight& in_flight, const TileKey& key, Cancellation* cancellation) override {
    Tile& tile = in_flight.tile;
    set_cells(tile);
    Request request;
    request.cells = cells_;
    request.precision = options_.precision;
    request.tolerance = options_.tolerance;
    request.verify = results_to_verify(tiles_evaluated_++);
    request.tile = &tile;
    request.data_id = next_data_id();
    for (const auto& [node, value] : starting_values_)
      if (evaluator_.forest().node(node).state().array("value") != value)
        evaluator_.forest().set_state(node, {{"value", value}});
    for (const auto& stage : stages_) {
      std::vector<Failure> failures;
      const auto results = evaluator_.evaluate(request, stage, cancellation);
      for (std::size_t i = 0; i < results.size(); ++i) {
        failures.insert(failures.end(), results[i]->failures.begin(), results[i]->failures.end());
        if (results[i]->status == Result::Status::missing) ++report_.missing;
        if (results[i]->ok()) mark_written(in_flight, stage[i]);
      }
      if (!failures.empty()) report_failures(failures, key);
    }
  }

  // The share of a tile: together exactly what was asked for.
  int results_to_verify(std::size_t tile) const {
    const auto n = static_cast<std::uint64_t>(options_.verify), n_tile = parts_.size();
    return static_cast<int>(n * (tile + 1) / n_tile - n * tile / n_tile);
  }

  void before_writing(InFlight& in_flight) override {
    if (!writes_flags_ || in_flight.tile.flag.size() != in_flight.tile.n_visibility()) return add_not_finite(in_flight);
    for (const std::string& column : outputs_) flag_not_finite(in_flight.tile.columns[column], in_flight.tile.flag);
  }

  /// Of what is written, where it is not flagged for that.
  void add_not_finite(const InFlight& in_flight) {
    const Tile& tile = in_flight.tile;
    const std::size_t of_row = tile.n_channel() * tile.n_correlation();
    for (const auto& [column, baselines] : in_flight.written)
      for (const std::size_t baseline : baselines)
        for (std::size_t row = baseline * tile.n_time(); row < (baseline + 1) * tile.n_time(); ++row) {
          if (tile.row[row] < 0) continue;
          const std::span values(&tile.columns.at(column)[row * of_row], of_row);
          if (const std::size_t n = count_not_finite(values); n > 0) not_finite_[column] += n;
        }
  }

  void mark_written(InFlight& in_flight, int node) {
    const DataUse* use = writing_of(evaluator_.forest(), node);
    if (use == nullptr) return;
    wrote_.insert(node);
    const std::ptrdiff_t baseline = in_flight.tile.find(use->baseline);
    if (baseline >= 0) in_flight.written[use->column].insert(static_cast<std::size_t>(baseline));
  }

  void warn_of_sinks_without_data() {
    const Forest& forest = evaluator_.forest();
    std::vector<int> idle;
    for (const std::vector<int>& stage : stages_)
      std::copy_if(stage.begin(), stage.end(), std::back_inserter(idle),
                   [&](int node) { return writing_of(forest, node) != nullptr && !wrote_.contains(node); });
    if (idle.empty() || report_.tiles == 0) return;
    report_.warnings.push_back(counted(forest, idle) +
                               " wrote nothing: the rows that were taken are of other baselines than theirs, or than "
                               "those of Spigots below them (station_1_index is ANTENNA1, station_2_index ANTENNA2)");
  }

  Evaluator& evaluator_;
  const RunOptions& options_;
  std::vector<std::vector<int>> stages_;
  std::vector<std::pair<int, StateArray>> starting_values_;  // of Parms with which each tile begins
  std::set<int> wrote_;                                      // Sinks
  std::map<std::string, std::size_t> not_finite_;            // by column: visibilities that were written
  std::shared_ptr<const Cells> cells_;
  std::vector<double> cells_time_, cells_interval_, cells_frequency_, cells_width_;
  std::size_t tiles_evaluated_ = 0;
};

}  // namespace

std::vector<std::vector<int>> sink_stages(const Forest& forest) {
  std::vector<std::vector<int>> stages;
  std::vector<int> sinks;
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const Capabilities can = forest.node(static_cast<int>(i)).capabilities();
    if (can.data != nullptr && can.data->writes) sinks.push_back(static_cast<int>(i));
    if (can.run == nullptr) continue;
    for (std::vector<int>& stage : can.run->stages(forest.children(static_cast<int>(i))))
      stages.push_back(std::move(stage));
  }
  if (stages.empty() && !sinks.empty()) stages.push_back(sinks);
  if (stages.empty())
    throw Error(
        "the forest has no Sink, so there is nothing to write; add rimetree.Sink nodes (or a VisDataMux whose "
        "child \"pre\" is a Solver)");
  return stages;
}

RunReport run(MeasurementSet& ms, Evaluator& evaluator, const RunOptions& options, Cancellation* cancellation,
              const std::function<void(const RunProgress&)>& progress) {
  return Run(ms, evaluator, options).run(cancellation, progress);
}

}  // namespace rimetree::ms
