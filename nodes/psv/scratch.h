// Scratch memory of a thread, and how it is divided.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

#include "nodes/psv/blocks.h"

namespace rimetree::psv {

/// Vectors per source that recurrences keep from tile to tile: of the smearing, in double precision only, and of the
/// taper.
inline constexpr std::size_t kSmearingState = 5, kTaperState = 3;

/// Memory of one thread, cut into arrays once. Movable, not copyable.
class ScratchMemory {
 public:
  /// divide(cut) says cut(array, count) of each array, twice: to find what they take, and to place them.
  template <class F>
  void allocate(const F& divide) {
    divide(*this);
    storage_.reset(static_cast<unsigned char*>(std::aligned_alloc(kAlignment, bytes_)));
    if (!storage_) throw std::bad_alloc();
    bytes_ = 0;
    divide(*this);
  }
  template <class T>
  void operator()(T*& array, std::size_t count) {
    if (storage_) array = reinterpret_cast<T*>(storage_.get() + bytes_);
    // Not a multiple of the page: what is read and written together must not fall on the same lines of the cache.
    bytes_ += (count * sizeof(T) + kAlignment - 1) / kAlignment * kAlignment + 5 * kAlignment;
  }
  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kAlignment = 128;
  struct Free {
    void operator()(unsigned char* p) const { std::free(p); }
  };
  std::unique_ptr<unsigned char, Free> storage_;
  std::size_t bytes_ = 0;
};

/// Whether Jones terms are there, and vary along channels.
enum class JonesUse { kNone, kConstant, kVarying };

/// The arrays of a workspace; [lane] is always the fastest axis, of kMaxLanes at most.
template <class T>
struct Scratch {
  double* rows;       ///< [7][lane]: u v w du dv dw exposure/c
  double* scaled;     ///< [2][6][lane]: see scale_rows()
  T* middle;          ///< [source][re, im][lane]: phasor at the middle of the run
  T* outer;           ///< [tile pair][source][re, im][lane]: from there to the middle of a tile
  T* inner;           ///< [pair][source][re, im][lane]: from there to a channel
  T* bracket;         ///< [pair][source][4][lane]: see seed_brackets()
  T* tile_middle;     ///< [source][re, im][lane]: phasor at the middle of the current tile
  T* phasor;          ///< [source][channel of the tile][re, im][lane]
  T* smearing;        ///< [source][kSmearingState][lane]; singles: change of path
  double* taper;      ///< [source][kTaperState][lane]: see TaperState
  T* tile_taper;      ///< [source][channel of the tile][lane]
  T* wave_number;     ///< [source][lane]: 2 pi path
  T* jones_weight;    ///< [source][8][lane]
  double* gathered;   ///< [2][8][lane]
  T* sides;           ///< see fill_sides()
  T* turned;          ///< [row][source][re, im][channel of the window]
  double* jones_sum;  ///< [row][window][vector of the window][element][re, im][channel]
  double* sum;        ///< [channel of a run][plane][2][lane]

  void divide(ScratchMemory& cut, std::size_t n_plane, std::size_t longest_run, JonesUse jones) {
    constexpr std::size_t kB = kBlockSources * kMaxLanes;
    const std::size_t window = jones == JonesUse::kVarying ? windows_of(longest_run) * kWindowChannels : 0;
    cut(rows, 7 * kMaxLanes);
    cut(scaled, 12 * kMaxLanes);
    cut(middle, 2 * kB);
    cut(outer, kMaxTilePairs * kPairStride * kMaxLanes);
    cut(inner, kTilePairs * kPairStride * kMaxLanes);
    cut(bracket, 2 * kTilePairs * kPairStride * kMaxLanes);
    cut(tile_middle, 2 * kB);
    cut(phasor, 2 * kTileChannels * kB);
    cut(smearing, (sizeof(T) == 8 ? kSmearingState : 1) * kB);
    cut(taper, kTaperState * kB);
    cut(tile_taper, kTileChannels * kB);
    cut(wave_number, kB);
    cut(jones_weight, jones != JonesUse::kNone ? 8 * kB : 0);
    cut(gathered, jones != JonesUse::kNone ? 16 * kMaxLanes : 0);
    cut(sides, kJonesSides * window * kJonesSources<T> * 8);
    cut(turned, window > 0 ? kMaxLanes * kJonesSources<T> * 2 * kWindowChannels : 0);
    cut(jones_sum, kJonesRows * window * 8);
    cut(sum, (longest_run + kTileChannels) * n_plane * 2 * kMaxLanes);
  }
};

}  // namespace rimetree::psv
