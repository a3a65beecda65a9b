// How a thread's scratch is divided, and how sources are cut into blocks.
#pragma once

#include <algorithm>
#include <cstddef>

namespace rimetree::psv {

inline constexpr std::size_t kMaxLanes = 16;  ///< singles in the widest vector supported
inline constexpr std::size_t kMaxTile = 8;    ///< channels a tile may reach beyond the end of its run
/// Channels that a phasor advances in single precision before it is taken from its master in double again; fewer where
/// the step shrinks too, whose rounding errors count twice.
inline constexpr std::size_t kSingleChunk = 8, kGaussianChunk = 4;

/// Sources per block: small enough that their phasors stay in the first-level cache and, in single precision, that the
/// rounding errors of a block's sum (32 additions) stay under 1e-6 of its flux; larger sums are in double.
template <class T>
inline constexpr std::size_t kBlockSources = sizeof(T) == 8 ? 64 : 32;

/// Calls f(number, begin, end) for each block of sources; points and Gaussians never share one.
template <class T, class F>
void for_each_block(std::size_t n_source, std::size_t n_point, F&& f) {
  std::size_t number = 0;
  for (std::size_t begin = 0; begin < n_source; ++number) {
    const std::size_t limit = begin < n_point ? n_point : n_source;
    const std::size_t end = std::min(begin + kBlockSources<T>, limit);
    f(number, begin, end);
    begin = end;
  }
}

/// Byte offsets of the arrays in a workspace; [lane] is always the fastest axis, of kMaxLanes at most.
struct Layout {
  std::size_t rows = 0;          ///< double [8][lane]: u v w du dv dw exposure/c
  std::size_t state = 0;         ///< T [source][4][lane]
  std::size_t coefficient = 0;   ///< T [source][9][lane]
  std::size_t shrink = 0;        ///< T [source][lane]
  std::size_t wave_number = 0;   ///< T [source][lane]
  std::size_t master = 0;        ///< double [source][8][lane], single precision only
  std::size_t jones_weight = 0;  ///< T [source][8][lane]
  std::size_t gathered = 0;      ///< double [2][8][lane]
  std::size_t sum = 0;           ///< double [channel of a run][plane][2][lane]
  std::size_t bytes = 0;

  template <class T>
  static Layout of(std::size_t n_plane, std::size_t longest_run, bool with_jones) {
    constexpr std::size_t kB = kBlockSources<T> * kMaxLanes;
    Layout a;
    const auto place = [&a](std::size_t bytes) {
      const std::size_t at = a.bytes;
      a.bytes += (bytes + 127) / 128 * 128;
      return at;
    };
    a.rows = place(8 * kMaxLanes * sizeof(double));
    a.state = place(4 * kB * sizeof(T));
    a.coefficient = place(9 * kB * sizeof(T));
    a.shrink = place(kB * sizeof(T));
    a.wave_number = place(kB * sizeof(T));
    a.master = place(sizeof(T) == 4 ? 8 * kB * sizeof(double) : 0);
    a.jones_weight = place(with_jones ? 8 * kB * sizeof(T) : 0);
    a.gathered = place(with_jones ? 16 * kMaxLanes * sizeof(double) : 0);
    a.sum = place((longest_run + kMaxTile) * n_plane * 2 * kMaxLanes * sizeof(double));
    return a;
  }
};

/// The same arrays as pointers.
template <class T>
struct Scratch {
  double* rows;
  T *state, *coefficient, *shrink, *wave_number;
  double* master;
  T* jones_weight;
  double *gathered, *sum;

  static Scratch in(unsigned char* base, const Layout& a) {
    const auto single = [base](std::size_t at) { return reinterpret_cast<T*>(base + at); };
    const auto wide = [base](std::size_t at) { return reinterpret_cast<double*>(base + at); };
    return {wide(a.rows),   single(a.state),        single(a.coefficient), single(a.shrink), single(a.wave_number),
            wide(a.master), single(a.jones_weight), wide(a.gathered),      wide(a.sum)};
  }
};

}  // namespace rimetree::psv
