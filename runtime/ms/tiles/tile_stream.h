// Tiles of a Measurement Set for those who go over them, perhaps again and again: the next one is read while one is
// looked at, and what there is memory for stays.
#pragma once

#include <cstdint>
#include <future>
#include <memory>
#include <vector>

#include "runtime/ms/tiles/tile_reader.h"

namespace rimetree::ms {

class TileStream {
 public:
  struct Options {
    bool join_windows = false;     ///< spectral windows observed at the same times are one tile (join_windows.h)
    std::uint64_t keep_bytes = 0;  ///< for tiles that stay in memory, besides the one that was asked for last
  };

  /// The reader must outlive it, and keep its plan. Reads nothing yet.
  TileStream(const TileReader& reader, const Options& options);

  std::size_t size() const { return parts_.size(); }
  bool joins_windows() const { return join_windows_; }
  /// The key of tile `index`; where windows are joined, of the first.
  const TileKey& key(std::size_t index) const { return reader_.tiles()[parts_[index].front()]; }
  /// The axes of tile `index` (TileReader::outline); reads nothing.
  Tile outline(std::size_t index) const;
  /// The tiles of the windows that are joined in tile `index`, before averaging.
  std::vector<Tile> stored_windows(std::size_t index) const;
  /// Of all tiles, in the order in which windows are joined.
  std::vector<int> data_desc_ids() const;

  /// Tile `index`; what is in memory is not read again. Spigots read it, nothing may be written to it. Throws MsError.
  std::shared_ptr<Tile> get(std::size_t index);
  /// Begins to read tile `index` in the background; nothing where there is no such tile or it is in memory.
  void read_ahead(std::size_t index);

  /// Tiles that stay, and bytes that they take.
  std::size_t n_kept() const;
  std::uint64_t kept_bytes() const { return kept_bytes_; }
  /// Bytes that tile `index` takes, and all tiles together.
  std::uint64_t bytes(std::size_t index) const;
  std::uint64_t all_bytes() const;

 private:
  using TilePtr = std::shared_ptr<Tile>;
  static constexpr std::size_t kNone = ~std::size_t{0};
  TilePtr read(std::size_t index) const;

  const TileReader& reader_;
  std::vector<std::vector<std::size_t>> parts_;  // by tile: tiles of the reader
  bool join_windows_;
  std::uint64_t keep_bytes_, kept_bytes_ = 0;
  std::vector<TilePtr> kept_;  // by tile, null where it did not fit
  TilePtr last_;
  std::size_t last_index_ = kNone, ahead_index_ = kNone;
  std::future<TilePtr> ahead_;  // waits where it goes out of scope
};

}  // namespace rimetree::ms
