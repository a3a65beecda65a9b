// The inputs of one point-source-visibility sum, as strided views into whatever arrays hold them.
#pragma once

#include <cstddef>

#include "runtime/math/complex.h"

namespace rimetree::psv {

/// A quantity per source, time and channel; an axis on which it does not vary has stride 0. Null where absent.
template <class T>
struct Strided {
  const T* data = nullptr;
  std::ptrdiff_t source = 0, time = 0, channel = 0;

  RT_HD explicit operator bool() const { return data != nullptr; }
  /// Whether its derivative, if it is of dual numbers, may be other than zero.
  RT_HD bool moves() const { return data != nullptr; }
  RT_HD const T& at(std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) const {
    return data[s * source + t * time + f * channel];
  }
};

/// One pair of Jones terms, applied as J_p X J_q^H: p holds J_p, and q holds J_q^H, as MeqTrees' children do. Each side
/// is a matrix (four views, XX XY YX YY; a null view is a zero element) or a scalar (the first view only). The views of
/// a side may be of the conjugates of its elements: where J_q itself is read.
template <class T>
struct JonesPair {
  Strided<Complex<T>> p[4], q[4];
  bool p_is_matrix = false, q_is_matrix = false;
  bool p_is_conjugated = false, q_is_conjugated = false;
  bool p_is_transposed = false, q_is_transposed = false;  ///< the views are of something that lies transposed
};

/// What a sum sees of its sources. Units: radians; brightness in any unit of flux, which is that of the result.
template <class T>
struct SkyViews {
  std::ptrdiff_t n_source = 0, n_channel = 1;
  int n_minus = 1;  ///< 1: phase zero at the phase centre; 0: no fringe stopping

  Strided<T> l, m, n;                       ///< direction cosines
  Strided<Complex<T>> brightness[4];        ///< XX XY YX YY; null is zero
  Strided<T> major, minor, position_angle;  ///< of shapes in the (l, m) plane, or
  Strided<T> axes[6];                       ///< components of both axes along u, v, w; all null: points
  Strided<T> profile;                       ///< numbers of profiles; null: the first one
};

/// Widths along an axis that smearing is over, of either sign: one for all cells, or what each of them has.
struct Widths {
  const double* of_cells;
  double all;  ///< 0: those of the cells

  RT_HD constexpr Widths(const double* of_cells = nullptr, double all = 0) : of_cells(of_cells), all(all) {}
  RT_HD explicit operator bool() const { return all != 0 || of_cells != nullptr; }
  RT_HD double operator[](std::ptrdiff_t cell) const { return all != 0 ? all : of_cells[cell]; }
};

/// Everything one baseline's visibilities depend on. T may be a dual number. Units: metres, metres per second, hertz,
/// seconds.
template <class T>
struct Problem : SkyViews<T> {
  using Number = T;
  std::ptrdiff_t n_time = 0;
  Strided<T> u, v, w;                   ///< source stride 0
  Strided<T> du, dv, dw;                ///< null: no smearing at all
  const JonesPair<T>* jones = nullptr;  ///< innermost (next to the brightness) first
  int n_jones = 0;

  const double* frequency_hz = nullptr;            ///< [channel]
  Widths width_hz;                                 ///< [channel]; without: no bandwidth smearing
  Widths exposure_s;                               ///< [time]; without: no time smearing
  bool smear_time = true, smear_frequency = true;  ///< switches on top of the above
};

}  // namespace rimetree::psv
