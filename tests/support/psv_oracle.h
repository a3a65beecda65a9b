// An independent text of the point-source-visibility sum, in 80-bit extended precision, for tests. Nothing here is
// shared with the code under test.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace rimetree::oracle {

using Real = long double;
using Number = std::complex<long double>;

/// A 2x2 matrix XX XY YX YY.
struct Matrix {
  Number e[4];
};
Matrix operator*(const Matrix& a, const Matrix& b);
Matrix adjoint(const Matrix& a);

struct Source {
  Real l = 0, m = 0, n = 1;
  std::vector<Matrix> brightness;  ///< [channel] or [1]
  Real major = 0, minor = 0, position_angle = 0;
  Real axes[2][3] = {};  ///< instead: both axes as vectors, along u, v and w
  int profile = 0;       ///< a Gaussian, 1: an exponential disk, 2: a uniform disk
};

struct Row {
  double u = 0, v = 0, w = 0, du = 0, dv = 0, dw = 0;  ///< metres, metres per second
  double exposure = 0;                                 ///< seconds
};

struct Channel {
  double frequency = 0, width = 0;  ///< hertz
};

/// exp(+2 pi i nu/c (u l + v m + w (n - n_minus))).
Number fringe(const Source& source, const Row& row, Real frequency, int n_minus);
/// The fringe times both sincs and the transform of the shape.
Number coherence(const Source& source, const Row& row, const Channel& channel, int n_minus);

/// Sum over sources of J_p B J_q^H times the coherence. `jones_p[s]`, `jones_q[s]`: product of all terms, outermost
/// left; empty for none.
Matrix visibility(const std::vector<Source>& sources, const Row& row, const Channel& channel, std::size_t f,
                  const std::vector<Matrix>& jones_p, const std::vector<Matrix>& jones_q, int n_minus = 1);

/// How (u, v, w) move during an exposure.
enum class Motion { kLinear, kRotation };

/// The fringe averaged over exposure and channel width by Gauss-Legendre quadrature with `n_node` nodes a side. Under
/// rotation, (u, v, w) turn rigidly with the hour angle about the pole of a phase centre at `declination`; du, dv and
/// dw are then not used.
Number average_fringe(const Source& source, const Row& row, const Channel& channel, Motion motion, double declination,
                      int n_node);

}  // namespace rimetree::oracle
