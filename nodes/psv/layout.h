// How a thread's scratch is divided, and how sources are cut into blocks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rimetree::psv {

inline constexpr std::size_t kMaxLanes = 16;  ///< singles in the widest vector supported

/// Channels are evaluated in pairs at equal distances from the middle of a tile of eight, and tiles in pairs at equal
/// distances from the middle of a run.
inline constexpr std::size_t kTileChannels = 8, kTilePairs = kTileChannels / 2;
inline constexpr std::size_t kMaxTiles = 8, kMaxTilePairs = kMaxTiles / 2;

/// Sources per block: few enough that what a pass over them reads stays in the first-level cache and, in single
/// precision, that the rounding errors of a block's sum (32 additions) stay under 1e-6 of its flux; larger sums are in
/// double.
inline constexpr std::size_t kBlockSources = 48;

/// Sources whose phasors at all channels of a tile are stored at a time, in the first-level cache too.
inline constexpr std::size_t kStoredSources = 16;

/// Sources seeded at a time in single precision.
inline constexpr std::size_t kSeedSources = 12;

/// With Jones terms that vary along channels: channels per window, the widest vector's at least and whole tiles;
/// sources per block, few enough that the sides of all antennas stay in a nearby cache and, for singles, enough that
/// sums are not widened too often; rows that share their antennas' sides.
inline constexpr std::size_t kWindowChannels = kMaxLanes;
template <class T>
inline constexpr std::size_t kJonesSources = sizeof(T) == 8 ? 8 : 16;
inline constexpr std::size_t kJonesRows = 1024, kJonesSides = 256;
constexpr std::size_t windows_of(std::size_t n_channel) { return (n_channel + kWindowChannels - 1) / kWindowChannels; }

/// Sources per block with smearing of a single plane in a narrow band, which passes over twice the tables at a time.
inline constexpr std::size_t kSmearedSources = 24;

/// From one pair to the next in `outer` and `inner`, in vectors: what a pass over the sources reads is contiguous.
inline constexpr std::size_t kPairStride = 2 * kBlockSources;

/// Vectors per source that recurrences keep from tile to tile: of the smearing, in double precision only, and of the
/// taper.
inline constexpr std::size_t kSmearingState = 5, kTaperState = 3;

/// Byte offsets of the arrays in a workspace; [lane] is always the fastest axis, of kMaxLanes at most.
struct Layout {
  std::size_t rows = 0;          ///< double [7][lane]: u v w du dv dw exposure/c
  std::size_t scaled = 0;        ///< double [2][6][lane]: see scale_rows()
  std::size_t middle = 0;        ///< T [source][re, im][lane]: phasor at the middle of the run
  std::size_t outer = 0;         ///< T [tile pair][source][re, im][lane]: from there to the middle of a tile
  std::size_t inner = 0;         ///< T [pair][source][re, im][lane]: from there to a channel
  std::size_t bracket = 0;       ///< T [pair][source][4][lane]: see seed_brackets()
  std::size_t tile_middle = 0;   ///< T [source][re, im][lane]: phasor at the middle of the current tile
  std::size_t phasor = 0;        ///< T [source][channel of the tile][re, im][lane]
  std::size_t smearing = 0;      ///< T [source][kSmearingState][lane]; singles: change of path
  std::size_t taper = 0;         ///< double [source][kTaperState][lane]: see TaperState
  std::size_t tile_taper = 0;    ///< T [source][channel of the tile][lane]
  std::size_t wave_number = 0;   ///< T [source][lane]: 2 pi path
  std::size_t jones_weight = 0;  ///< T [source][8][lane]
  std::size_t gathered = 0;      ///< double [2][8][lane]
  std::size_t sum = 0;           ///< double [channel of a run][plane][2][lane]
  std::size_t sides = 0;         ///< T: see fill_sides()
  std::size_t turned = 0;        ///< T [row][source][re, im][channel of the window]
  std::size_t jones_sum = 0;     ///< double [row][window][vector of the window][element][re, im][channel]
  std::size_t bytes = 0;

  /// Whether Jones terms are there, and vary along channels.
  enum class Jones { kNone, kConstant, kVarying };

  template <class T>
  static Layout of(std::size_t n_plane, std::size_t longest_run, Jones jones) {
    constexpr std::size_t kB = kBlockSources * kMaxLanes;
    Layout a;
    // Not a multiple of the page: what is read and written together must not fall on the same lines of the cache.
    const auto place = [&a](std::size_t bytes) {
      const std::size_t at = a.bytes;
      a.bytes += (bytes + 127) / 128 * 128 + 5 * 128;
      return at;
    };
    a.rows = place(7 * kMaxLanes * sizeof(double));
    a.scaled = place(12 * kMaxLanes * sizeof(double));
    a.middle = place(2 * kB * sizeof(T));
    a.outer = place(kMaxTilePairs * kPairStride * kMaxLanes * sizeof(T));
    a.inner = place(kTilePairs * kPairStride * kMaxLanes * sizeof(T));
    a.bracket = place(2 * kTilePairs * kPairStride * kMaxLanes * sizeof(T));
    a.tile_middle = place(2 * kB * sizeof(T));
    a.phasor = place(2 * kTileChannels * kB * sizeof(T));
    a.smearing = place((sizeof(T) == 8 ? kSmearingState : 1) * kB * sizeof(T));
    a.taper = place(kTaperState * kB * sizeof(double));
    a.tile_taper = place(kTileChannels * kB * sizeof(T));
    a.wave_number = place(kB * sizeof(T));
    a.jones_weight = place(jones != Jones::kNone ? 8 * kB * sizeof(T) : 0);
    a.gathered = place(jones != Jones::kNone ? 16 * kMaxLanes * sizeof(double) : 0);
    const std::size_t window = jones == Jones::kVarying ? windows_of(longest_run) * kWindowChannels : 0;
    a.sides = place(kJonesSides * window * kJonesSources<T> * 8 * sizeof(T));
    a.turned = place(window > 0 ? kMaxLanes * kJonesSources<T> * 2 * kWindowChannels * sizeof(T) : 0);
    a.jones_sum = place(kJonesRows * window * 8 * sizeof(double));
    a.sum = place((longest_run + kTileChannels) * n_plane * 2 * kMaxLanes * sizeof(double));
    return a;
  }
};

/// The same arrays as pointers.
template <class T>
struct Scratch {
  double *rows, *scaled;
  T *middle, *outer, *inner, *bracket, *tile_middle, *phasor, *smearing;
  double* taper;
  T *tile_taper, *wave_number, *jones_weight;
  double* gathered;
  T *sides, *turned;
  double *jones_sum, *sum;

  static Scratch in(unsigned char* base, const Layout& a) {
    const auto own = [base](std::size_t at) { return reinterpret_cast<T*>(base + at); };
    const auto wide = [base](std::size_t at) { return reinterpret_cast<double*>(base + at); };
    return {wide(a.rows),      wide(a.scaled),     own(a.middle),       own(a.outer),     own(a.inner),
            own(a.bracket),    own(a.tile_middle), own(a.phasor),       own(a.smearing),  wide(a.taper),
            own(a.tile_taper), own(a.wave_number), own(a.jones_weight), wide(a.gathered), own(a.sides),
            own(a.turned),     wide(a.jones_sum),  wide(a.sum)};
  }
};

}  // namespace rimetree::psv
