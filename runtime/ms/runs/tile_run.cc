#include "runtime/ms/runs/tile_run.h"

#include <algorithm>
#include <future>

#include "runtime/core/threads/stopwatch.h"

namespace rimetree::ms {

void TileRun::go(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress) {
  const TimedScope watch(report_.total_seconds);
  const RowSelection& rows = reader_->selection().rows;
  if ((rows.averaging.any() || !rows.averaged.empty()) && !outputs_.empty())
    throw Error("data are averaged for reading only, but " + outputs_.front() + " would be written: do not average");
  if (reader_->selection().rows.phase_centre && !outputs_.empty())
    throw Error("data are moved to another phase centre for reading only, but " + outputs_.front() +
                " would be written: take them as they are stored");
  if (reader_->selection().rows.one_order && !outputs_.empty())
    throw Error("rows are turned to one order of their antennas for reading only, but " + outputs_.front() +
                " would be written: take them as they are stored");
  open_writers();
  ms_.spare_arrays().keep_up_to(in_flight_ * reader_->largest_bytes(outputs_.size()));
  pipeline(cancellation, progress);
  const TimedScope write_watch(report_.write_seconds);
  for (auto& writer : writers_) writer->finish();
}

// Tile k + 1 is read and tile k - 1 written while tile k is worked on; with kLeastInFlight it is read while tile k is
// written. Futures wait where they go out of scope, so a
// failure leaves no task behind, and what had been worked on before it is written.
void TileRun::pipeline(Cancellation* cancellation, const std::function<void(const RunProgress&)>& progress) {
  const std::size_t n_tile = parts_.size();
  const auto begin_reading = [this](std::size_t index) {
    return std::async(std::launch::async, [this, index] { return read(parts_[index]); });
  };
  std::future<std::int64_t> writing;
  std::future<InFlight> reading;
  if (n_tile > 0) reading = begin_reading(0);
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
    const bool more = i + 1 < n_tile, early = in_flight_ > kLeastInFlight;
    if (more && early) reading = begin_reading(i + 1);
    {
      const TimedScope watch(report_.evaluate_seconds);
      work(*tile, reader_->tiles()[parts_[i].front()], cancellation);
    }
    if (i > 0) finish_writing(i - 1);
    writing = std::async(std::launch::async, [this, tile] { return write(*tile); });
    if (more && !early) reading = begin_reading(i + 1);
  }
  if (n_tile > 0) finish_writing(n_tile - 1);
}

void TileRun::open_writers() {
  const TimedScope watch(report_.write_seconds);
  WriteOptions write_options;
  write_options.flags = writes_flags_;
  write_options.rows_expected =
      shared_.rows_expected > 0 ? shared_.rows_expected : static_cast<std::int64_t>(reader_->n_row());
  write_options.continues = shared_.continues;
  write_options.more_follow = shared_.more_follow;
  for (const std::string& column : outputs_)
    writers_.push_back(std::make_unique<TileWriter>(ms_, column, write_options));
}

// Returns the number of rows written. Rows of baselines without a value keep what the Measurement Set holds.
std::int64_t TileRun::write(InFlight& in_flight) {
  before_writing(in_flight);
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
    writer->write(tile, in_flight.flags_changed);
    tile.row = all_rows;
  }
  ms_.spare_arrays().take_back(&tile);
  return rows_written;
}

}  // namespace rimetree::ms
