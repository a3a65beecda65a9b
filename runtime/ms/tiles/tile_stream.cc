#include "runtime/ms/tiles/tile_stream.h"

#include <algorithm>

#include "runtime/ms/tiles/join_windows.h"

namespace rimetree::ms {

TileStream::TileStream(const TileReader& reader, const Options& options)
    : reader_(reader), join_windows_(options.join_windows), keep_bytes_(options.keep_bytes) {
  if (options.join_windows)
    parts_ = windows_together(reader.plan());
  else
    for (std::size_t i = 0; i < reader.tiles().size(); ++i) parts_.push_back({i});
  kept_.resize(parts_.size());
}

Tile TileStream::outline(std::size_t index) const {
  std::vector<Tile> windows;
  for (const std::size_t part : parts_.at(index)) windows.push_back(reader_.outline(part));
  return windows.size() == 1 ? std::move(windows.front()) : join_outlines(windows);
}

std::vector<Tile> TileStream::stored_windows(std::size_t index) const {
  std::vector<Tile> windows;
  for (const std::size_t part : parts_.at(index)) windows.push_back(reader_.stored_outline(part));
  return windows;
}

std::vector<int> TileStream::data_desc_ids() const {
  std::vector<int> ids;
  for (const TileKey& key : reader_.tiles())
    if (std::find(ids.begin(), ids.end(), key.data_desc_id) == ids.end()) ids.push_back(key.data_desc_id);
  return ids;
}

TileStream::TilePtr TileStream::read(std::size_t index) const {
  return reader_.measurement_set().spare_arrays().hold(read_joined(reader_, parts_[index]));
}

std::uint64_t TileStream::bytes(std::size_t index) const {
  std::uint64_t sum = 0;
  for (const std::size_t part : parts_[index]) sum += reader_.bytes(part);
  return sum;
}

std::uint64_t TileStream::all_bytes() const {
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < size(); ++i) sum += bytes(i);
  return sum;
}

std::shared_ptr<Tile> TileStream::get(std::size_t index) {
  if (index == last_index_) return last_;
  if (kept_.at(index)) return kept_[index];
  last_ = nullptr;
  last_index_ = kNone;
  TilePtr tile;
  if (index == ahead_index_) {
    ahead_index_ = kNone;
    tile = ahead_.get();
  } else {
    tile = read(index);
  }
  if (kept_bytes_ + bytes(index) <= keep_bytes_) {
    kept_[index] = tile;
    kept_bytes_ += bytes(index);
  } else {
    last_ = tile;
    last_index_ = index;
  }
  return tile;
}

void TileStream::read_ahead(std::size_t index) {
  if (index >= parts_.size() || index == ahead_index_ || index == last_index_ || kept_[index]) return;
  if (ahead_.valid()) ahead_.wait();  // one at a time
  ahead_index_ = index;
  ahead_ = std::async(std::launch::async, [this, index] { return read(index); });
}

std::size_t TileStream::n_kept() const {
  return static_cast<std::size_t>(
      std::count_if(kept_.begin(), kept_.end(), [](const TilePtr& tile) { return tile != nullptr; }));
}

}  // namespace rimetree::ms
