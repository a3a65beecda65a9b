// The kernel that moves sources to a regular grid and off it again: Kaiser-Bessel, psi(x) = I0(b sqrt(1 - (2x/w)^2)) /
// I0(b) for |x| <= w/2 grid cells.
//
// An exponential of kappa cycles per cell, |kappa| <= 0.225, is replaced by sum_j psi(x - j) exp(2 pi i kappa j) /
// transform(kappa). What that gets wrong is periodic in x, so it is bounded by its largest value over one cell and
// these kappa (`bound`). Shape parameter: Beatty, Nishimura & Pauly 2005 (IEEE Trans. Med. Imaging 24, 799) eq. 5 for
// an oversampling of s = 1/(2 * 0.225); that the error falls by about exp(-pi sqrt(1 - 1/s)) per unit of width, as for
// the kernel of Barnett, Magland & af Klinteberg 2019 (SIAM J. Sci. Comput. 41, C479), see there section 4.
#pragma once

#include <cstddef>
#include <vector>

namespace rimetree::psv::fourier {

inline constexpr int kMaxKernelWidth = 16;
/// Largest frequency that the kernel serves, cycles per cell. A little less than the 1/4 of twofold oversampling makes
/// its error half as large.
inline constexpr double kLargestKappa = 0.225;

/// psi in the form in which it is evaluated: on the cells that it covers, one polynomial per cell.
struct GriddingKernel {
  int width = 0;    ///< w, cells; even
  int degree = 0;   ///< of the polynomials
  int stride = 0;   ///< doubles per coefficient: each cell's twice (for re and im), cells padded to a multiple of 4
  double beta = 0;  ///< b
  long double peak = 1;  ///< I0(b)
  /// What one interpolation by this kernel may be wrong by, as a fraction of the exponential's amplitude.
  double bound = 0;
  /// transform(0) / transform(kLargestKappa): how much an error of the grid's values may grow.
  double growth = 0;
  /// [degree + 1][stride]: with t in [-1, 1] the place in the first cell (-1: at the edge psi(-w/2), 1: a cell
  /// further), psi at cell j is sum_p coefficient[p][j] t^p.
  std::vector<double> coefficient;
  /// 1 / transform(kappa) = sum_p inverse[p] (2 (kappa / kLargestKappa)^2 - 1)^p.
  std::vector<double> inverse;

  /// psi(x), x in cells.
  long double value(long double x) const;
  /// The Fourier transform of psi, in closed form; kappa in cycles per cell.
  long double transform(long double kappa) const;
  /// 1 / transform(kappa), |kappa| <= kLargestKappa.
  double inverse_transform(double kappa) const;
};

/// The kernel of an even width in 4 .. 16; made once.
const GriddingKernel& gridding_kernel(int width);

/// The narrowest kernel with which moving sources to a grid and the grid's transform to channels is wrong by at most
/// `error` of the total flux, or 0 if none is.
int kernel_width_for(double error);

/// That bound: the second interpolation's error, and the first's, which the second lets grow.
double two_step_bound(const GriddingKernel& kernel);

}  // namespace rimetree::psv::fourier
