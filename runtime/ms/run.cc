#include "runtime/ms/run.h"

#include <algorithm>
#include <cmath>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <set>

#include "runtime/core/stopwatch.h"
#include "runtime/ms/error.h"
#include "runtime/ms/join_windows.h"
#include "runtime/ms/tile_request.h"
#include "runtime/ms/tile_writer.h"

namespace rimetree::ms {

namespace {

constexpr std::size_t kDefaultTimeSlots = 64;
constexpr std::size_t kTilesInFlight = 3;  // one being read, one evaluated, one written

bool any_sink_writes_flags(const Forest& forest) {
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const DataUse* use = forest.node(static_cast<int>(i)).capabilities().data;
    if (use != nullptr && use->writes_flags) return true;
  }
  return false;
}

// Memory of visibilities between tiles; taken by the thread that reads, given back by the one that writes.
class SpareMemory {
 public:
  std::vector<std::complex<float>> take() {
    const std::lock_guard lock(mutex_);
    if (spare_.empty()) return {};
    auto memory = std::move(spare_.back());
    spare_.pop_back();
    return memory;
  }
  void give(std::vector<std::complex<float>> memory) {
    const std::lock_guard lock(mutex_);
    spare_.push_back(std::move(memory));
  }

 private:
  std::mutex mutex_;
  std::vector<std::vector<std::complex<float>>> spare_;
};

/// What is not a number is flagged where it is to be written.
void flag_not_finite(const std::vector<std::complex<float>>& values, std::vector<std::uint8_t>* flags) {
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i].real()) || !std::isfinite(values[i].imag())) (*flags)[i] = 1;
  }
}

// One run: what lives from its first tile to its last.
class Run {
 public:
  Run(MeasurementSet& ms, Evaluator& evaluator, const RunOptions& options)
      : ms_(ms), evaluator_(evaluator), options_(options), stages_(sink_stages(evaluator.forest())) {
    writes_flags_ = any_sink_writes_flags(evaluator.forest());
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

  RunReport go(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress) {
    const double inside_before = arithmetic_seconds();
    {
      const TimedScope watch(report_.total_seconds);
      open_writers();
      pipeline(cancellation, progress);
      const TimedScope write_watch(report_.write_seconds);
      for (auto& writer : writers_) writer->finish();
    }
    report_.overhead_seconds =
        report_.total_seconds - report_.read_seconds - report_.write_seconds - (arithmetic_seconds() - inside_before);
    return report_;
  }

 private:
  /// As many as fit, but no more than make reading and evaluating worth while.
  void choose_time_slots() {
    constexpr std::size_t kLargeTile = 48u << 20;
    const std::size_t budget = evaluator_.memory_budget() / (2 * kTilesInFlight);
    const std::size_t most = reader_->fit(budget, kDefaultTimeSlots, outputs_.size());
    const std::size_t of_slot = std::max<std::size_t>(1, reader_->largest_bytes(outputs_.size()) / most);
    if (of_slot * most > kLargeTile)
      reader_->fit(budget, std::clamp<std::size_t>(kLargeTile / of_slot, 1, most), outputs_.size());
  }

  double arithmetic_seconds() const {
    return evaluator_.timing().total_seconds - evaluator_.timing().overhead_seconds();
  }

  // A tile on its way through the run: what Sinks filled, by column and baseline.
  struct InFlight {
    Tile tile;
    std::map<std::string, std::set<std::size_t>> written;
  };

  // Tile k + 1 is read and tile k - 1 written while tile k is evaluated. Futures wait where they go out of scope, so a
  // failure leaves no task behind, and what had been evaluated before it is written.
  void pipeline(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress) {
    const std::size_t n_tile = parts_.size();
    const auto read = [this](std::size_t index) {
      return std::async(std::launch::async, [this, index] { return read_tile(index); });
    };
    std::future<std::int64_t> writing;
    std::future<InFlight> reading;
    if (n_tile > 0) reading = read(0);
    const auto finish_writing = [&](std::size_t index) {
      {
        const TimedScope watch(report_.write_seconds);
        report_.rows_written += writing.get();
      }
      ++report_.tiles;
      for (const std::size_t part : parts_[index])
        report_.rows += static_cast<std::int64_t>(reader_->tiles()[part].n_row);
      if (progress)
        progress({index + 1, n_tile, report_.rows, static_cast<std::int64_t>(reader_->n_row()),
                  reader_->tiles()[parts_[index].back()].last_time_s});
    };
    for (std::size_t i = 0; i < n_tile; ++i) {
      auto tile = [&] {
        const TimedScope watch(report_.read_seconds);
        return std::make_shared<InFlight>(reading.get());
      }();
      if (i + 1 < n_tile) reading = read(i + 1);
      evaluate(*tile, reader_->tiles()[parts_[i].front()], cancellation);
      if (i > 0) finish_writing(i - 1);
      writing = std::async(std::launch::async, [this, tile] { return write_tile(*tile); });
    }
    if (n_tile > 0) finish_writing(n_tile - 1);
  }

  InFlight read_tile(std::size_t index) {
    std::vector<Tile> windows;
    for (const std::size_t part : parts_[index]) windows.push_back(reader_->read(part));
    InFlight read{join_windows(std::move(windows)), {}};
    for (const std::string& column : outputs_) {
      if (read.tile.columns.contains(column)) continue;
      // The memory of an earlier tile serves again. What no Sink fills is not written, so it need not be cleared.
      std::vector<std::complex<float>> values = spare_.take();
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

  void evaluate(InFlight& in_flight, const TileKey& key, Cancellation* cancellation) {
    const TimedScope watch(report_.evaluate_seconds);
    Tile& tile = in_flight.tile;
    set_cells(tile);
    Request request;
    request.cells = cells_;
    request.precision = options_.precision;
    request.tolerance = options_.tolerance;
    request.verify = results_to_verify(tiles_evaluated_++);
    request.tile = &tile;
    request.data_id = next_data_id();
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

  void open_writers() {
    const TimedScope watch(report_.write_seconds);
    WriteOptions write_options;
    write_options.flags = writes_flags_;
    write_options.rows_expected =
        options_.rows_expected > 0 ? options_.rows_expected : static_cast<std::int64_t>(reader_->n_row());
    write_options.continues = options_.continues;
    write_options.more_follow = options_.more_follow;
    for (const std::string& column : outputs_)
      writers_.push_back(std::make_unique<TileWriter>(ms_, column, write_options));
  }

  void mark_written(InFlight& in_flight, int node) {
    const DataUse* use = evaluator_.forest().node(node).capabilities().data;
    if (use == nullptr || !use->writes) return;
    const std::ptrdiff_t baseline = in_flight.tile.find(use->baseline);
    if (baseline >= 0) in_flight.written[use->column].insert(static_cast<std::size_t>(baseline));
  }

  // Returns the number of rows written. Rows of baselines for which no Sink had a value keep what the Measurement Set
  // holds.
  std::int64_t write_tile(InFlight& in_flight) {
    Tile& tile = in_flight.tile;
    std::int64_t rows_written = 0;
    const std::vector<std::int64_t> all_rows = tile.row;
    for (auto& writer : writers_) {
      const std::set<std::size_t>& written = in_flight.written[writer->column()];
      for (std::size_t baseline = 0; baseline < tile.n_baseline(); ++baseline) {
        const auto first = tile.row.begin() + static_cast<std::ptrdiff_t>(baseline * tile.n_time());
        const auto last = first + static_cast<std::ptrdiff_t>(tile.n_time());
        if (!written.contains(baseline)) std::fill(first, last, -1);
        rows_written += std::count_if(first, last, [](std::int64_t row) { return row >= 0; });
      }
      if (writes_flags_ && tile.flag.size() == tile.n_visibility()) {
        flag_not_finite(tile.columns[writer->column()], &tile.flag);
      }
      writer->write(tile);
      tile.row = all_rows;
      spare_.give(std::move(tile.columns[writer->column()]));
    }
    return rows_written;
  }

  MeasurementSet& ms_;
  Evaluator& evaluator_;
  const RunOptions& options_;
  std::vector<std::vector<int>> stages_;
  std::unique_ptr<TileReader> reader_;
  std::vector<std::vector<std::size_t>> parts_;  // by tile evaluated: tiles of the reader
  std::vector<std::string> outputs_;
  std::vector<std::unique_ptr<TileWriter>> writers_;
  std::shared_ptr<const Cells> cells_;
  std::vector<double> cells_time_, cells_interval_, cells_frequency_, cells_width_;
  SpareMemory spare_;
  bool writes_flags_ = false;
  std::size_t tiles_evaluated_ = 0;
  RunReport report_;
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
  return Run(ms, evaluator, options).go(cancellation, progress);
}

}  // namespace rimetree::ms
