// Large arrays of tiles that nobody needs any more, for the tiles that are read next: the first touch of fresh memory
// takes as long as reading what goes into it.
#pragma once

#include <complex>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/cells/tile.h"

namespace rimetree::ms {

/// The spare arrays of one Measurement Set. May be used from several threads.
class SpareArrays : public std::enable_shared_from_this<SpareArrays> {
 public:
  static std::shared_ptr<SpareArrays> create() { return std::shared_ptr<SpareArrays>(new SpareArrays); }

  /// What may wait; the rest goes back to the system. 128 MiB unless somebody says otherwise.
  void keep_up_to(std::size_t bytes);

  /// An array for the values of a column: of any size, and with any contents.
  std::vector<std::complex<float>> column();
  /// Gives a tile arrays, of any size and contents, for these columns, and for flags and weights if it is to have any.
  void lend(const std::vector<std::string>& columns, bool flags, bool weights, Tile* tile);
  /// Takes the arrays of a tile.
  void take_back(Tile* tile);
  /// A tile whose arrays come back when nobody holds it any more.
  std::shared_ptr<Tile> hold(Tile tile);

 private:
  SpareArrays() = default;
  template <class T>
  void keep(std::vector<T> array, std::vector<std::vector<T>>* to);
  template <class T>
  std::vector<T> take(std::vector<std::vector<T>>* from);

  std::mutex mutex_;
  std::size_t most_bytes_ = std::size_t{128} << 20, bytes_ = 0;
  std::vector<std::vector<std::complex<float>>> columns_;
  std::vector<std::vector<std::uint8_t>> flags_;
  std::vector<std::vector<float>> weights_;
};

}  // namespace rimetree::ms
