// The sky as methods by Fourier transform read it: which planes need a grid, and spectra as short Chebyshev series in
// frequency, each term of which is a grid of its own.
#pragma once

#include <string>
#include <vector>

#include "nodes/psv/fourier/chebyshev.h"
#include "nodes/psv/kernel.h"

namespace rimetree::psv::fourier {

inline constexpr std::size_t kSourcePad = 64;  ///< sources that weigh nothing, after the others

/// The sources with their weights on each grid.
struct SeriesSky {
  std::size_t n_source = 0, n_point = 0;
  std::vector<double> l, m, n_high, n_low;  ///< [source], padded
  std::vector<ShapeAxes<double>> axes;      ///< [source - n_point]
  std::vector<AlikeSources> alike;
  bool stokes = true;         ///< planes are kI, kQ, kU, kV; else kXxRe, kXyRe, kYxRe, kYyRe, which are complex then
  std::vector<Plane> planes;  ///< those that are not zero everywhere
  std::size_t n_term = 1;     ///< Chebyshev terms of the spectra, in the number of the channel
  std::vector<Complex<double>> weight;  ///< [source][plane][term]
  double series_error = 0;              ///< bound of what the series leave out, as a fraction of the total flux
  std::string obstacle;                 ///< why spectra have no such series within the error asked for
  bool in_parts = false;                ///< those of parts of the band may have, see split_of_band()

  /// Which of I, Q, U, V, or of XX, XY, YX, YY, a plane is.
  std::size_t slot_of(std::size_t plane) const {
    const auto number = static_cast<std::size_t>(planes[plane]);
    return stokes ? number : (number - static_cast<std::size_t>(Plane::kXxRe)) / 2;
  }
};

/// Spectra become series that are wrong by at most `error` of the total flux, if that takes no longer than so many
/// seconds of one core.
SeriesSky expand_sky(const Sky<double>& sky, double error, double worth_seconds);

/// The same for derivatives with respect to all weights: of all planes, with series for how these may move in place of
/// weights. Where nobody knows how, there are no weights, and spectra that vary are an obstacle.
SeriesSky expand_moves(const Sky<double>& sky, double error, double worth_seconds);
/// Where spectra, or how they may move (`moves`), are divided best if they have no series over the whole band: the
/// first channel of the second part. Between two channels where they have a kink, as beams do that are linear between
/// the frequencies of a file; else in the middle.
std::size_t split_of_band(const Sky<double>& sky, bool moves);

/// Which plane of an expanded sky a plane goes to, and whether as its real or its imaginary part.
struct SeriesPlane {
  std::size_t plane;
  bool imaginary;
};
SeriesPlane plane_in(const SeriesSky& sky, Plane plane);
/// What the terms of a series gain, in terms of the weights that it was made from, [channel]: adds to these.
void pull_back_series(std::size_t n_term, std::size_t n_channel, const double* terms, double* weights,
                      std::size_t stride);

}  // namespace rimetree::psv::fourier
