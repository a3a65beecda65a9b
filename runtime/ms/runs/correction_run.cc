#include "runtime/ms/runs/correction_run.h"

#include <algorithm>

#include "runtime/core/error.h"

namespace rimetree::ms {

namespace {

constexpr std::size_t kMostTimeSlots = 64;
// Tiles of some MiB stay in the outer caches between reading, correcting and writing.
constexpr std::size_t kLargeTile = 6u << 20;

std::unique_ptr<TileReader> reader_of(const MeasurementSet& ms, const CorrectionOptions& options, bool flags_only) {
  ReadSelection selection;
  selection.rows = options.rows;
  if (options.rows.time_slots == 0) selection.rows.time_slots = 1;
  selection.channels = options.channels;
  if (!flags_only) selection.columns = {options.data_column};
  selection.weights = false;
  auto reader = std::make_unique<TileReader>(ms, selection);
  if (options.rows.time_slots > 0) return reader;
  const std::size_t of_slot = std::max<std::size_t>(1, reader->largest_bytes());
  std::size_t most = std::clamp<std::size_t>(kLargeTile / of_slot, 1, kMostTimeSlots);
  if (options.memory_bytes > 0)
    reader->fit(options.memory_bytes / TileRun::kLeastInFlight, most);
  else
    reader->fit(std::max(kLargeTile, of_slot), most);
  return reader;
}

class CorrectionRun final : public TileRun {
 public:
  CorrectionRun(MeasurementSet& ms, const CorrectionOptions& options, const InverseJonesOf& jones, FlagCounts& counts)
      : TileRun(ms, options.shared, kLeastInFlight),
        options_(options),
        jones_(jones),
        counts_(counts),
        threads_(options.threads) {
    reader_ = reader_of(ms, options, false);
    for (std::size_t i = 0; i < reader_->tiles().size(); ++i) parts_.push_back({i});
    outputs_ = {options.column};
    writes_flags_ = true;
    report_.time_slots = reader_->selection().rows.time_slots;
    report_.columns = outputs_;
  }

 private:
  InFlight read(const std::vector<std::size_t>& parts) override {
    InFlight read{reader_->read(parts.front()), {}};
    auto column = read.tile.columns.extract(options_.data_column);  // corrected where it is
    column.key() = options_.column;
    read.tile.columns.insert(std::move(column));
    return read;
  }

  void work(InFlight& in_flight, const TileKey&, Cancellation* cancellation) override {
    if (cancellation != nullptr && cancellation->check()) throw Cancelled();
    Tile& tile = in_flight.tile;
    in_flight.flags_changed = correct(tile, tile.columns[options_.column], jones_(tile, false), counts_, threads_);
    std::set<std::size_t>& written = in_flight.written[options_.column];
    for (std::size_t k = 0; k < tile.n_baseline(); ++k) written.insert(written.end(), k);
  }

  const CorrectionOptions& options_;
  const InverseJonesOf& jones_;
  FlagCounts& counts_;
  ThreadPool threads_;
};

}  // namespace

RunReport correct(MeasurementSet& ms, const CorrectionOptions& options, const InverseJonesOf& jones, FlagCounts& counts,
                  Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress) {
  CorrectionRun run(ms, options, jones, counts);
  run.go(cancellation, progress);
  RunReport report = run.report();
  report.overhead_seconds = report.total_seconds - report.read_seconds - report.write_seconds - report.evaluate_seconds;
  return report;
}

void count_flags(const MeasurementSet& ms, const CorrectionOptions& options, const InverseJonesOf& jones,
                 FlagCounts& counts, Cancellation* cancellation) {
  const auto reader = reader_of(ms, options, true);
  ThreadPool threads(options.threads);
  std::vector<std::complex<float>> none;
  for (std::size_t i = 0; i < reader->tiles().size(); ++i) {
    if (cancellation != nullptr && cancellation->check()) throw Cancelled();
    Tile tile = reader->read(i);
    correct(tile, none, jones(tile, true), counts, threads);
  }
}

std::size_t correction_bytes(const MeasurementSet& ms, const CorrectionOptions& options) {
  return TileRun::kLeastInFlight * reader_of(ms, options, false)->largest_bytes();
}

}  // namespace rimetree::ms
