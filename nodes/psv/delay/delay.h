// The delay method: visibilities of a regular band of many channels by Fourier transform. On a regular band
//   V(k) = sum_s A_s(k) exp(2 pi i phi_s (k - k0)),   phi_s = delay of the source in turns per channel,
// is a Fourier transform over delay. Row by row, each source goes to a grid of delays by a kernel (gridding.h), one
// transform gives the visibilities at every D-th channel, and the same kernel interpolates those in between. D is the
// largest power of two at which the delays of the row stay below kLargestKappa turns from sample to sample: the shorter
// the delays, the shorter the transform. With D = 1 nothing is interpolated, and delays beyond one turn per channel
// fold back exactly. The cost of a row is that of its sources and of its channels, not of their product.
//
// What varies along the band: the phase at k0 is exact. Spectra and the tapers of shapes become Chebyshev series in
// frequency, one grid for each term. Bandwidth smearing is one factor per source and row. Time smearing, the mean of
// the fringe over the exposure, is the sum over the nodes of a Gauss-Legendre rule, each a source of its own at the
// delay it has at that moment: exact in frequency.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "nodes/psv/exposure_rule.h"
#include "nodes/psv/fourier/gridding.h"
#include "nodes/psv/fourier/spectra.h"
#include "nodes/psv/fourier/transform.h"
#include "nodes/psv/summed.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv::delay {
using namespace fourier;

inline constexpr std::size_t kDelayBlock = kSourcePad;  ///< sources prepared at a time
inline constexpr std::size_t kDelayTile = 128;          ///< channels finished at a time
inline constexpr std::size_t kLargestStep = 128;        ///< the largest D
inline constexpr std::size_t kGridPad = 16;  ///< cells beside the grid, for kernels that reach over its edges

/// All channels as one regular band.
struct Band {
  std::size_t n_channel = 0;
  double first_hz = 0, low_hz = 0, high_hz = 0, width_hz = 0;
  DoubleDouble<double> spacing_hz;
  double largest_residual = 0;     ///< of a frequency from the regular one, over c, turns per metre
  double largest_width_error = 0;  ///< hertz
  std::string obstacle;            ///< why this is no regular band; empty if it is

  double centre_hz() const { return 0.5 * low_hz + 0.5 * high_hz; }
};
Band analyse_band(const Channels& channels);

/// Transforms and tables for one D.
struct Sampling {
  std::size_t step = 1;           ///< D, channels
  std::size_t block = 16;         ///< channels that one window of samples covers: max(D, 16); 1 with D = 1
  std::size_t n_window = 0;       ///< samples per block
  std::ptrdiff_t first_mode = 0;  ///< mode number of the first sample; mode m is channel middle + m D
  std::size_t n_sample = 0;
  std::size_t middle = 0;                ///< k0, a multiple of the block
  DoubleDouble<double> k0;               ///< frequency of channel k0 over c, turns per metre
  DoubleDouble<double> cells_per_metre;  ///< grid cells by which a metre of path moves a source
  std::shared_ptr<const FourierTransform> transform;
  std::vector<double> correction;  ///< [sample]: 1 / transform of the kernel, with the sign that centres the grid
  std::vector<double> window;      ///< [sample of the window][channel of the block]; empty with D = 1
};

/// How each row is evaluated.
struct DelayRow {
  std::uint8_t sampling = 0;      ///< index into DelayPlan::samplings
  std::uint8_t n_node = 1;        ///< nodes of time smearing
  std::uint8_t n_taper_term = 1;  ///< Chebyshev terms of the tapers
};

/// Everything that the rows share; made once per sky, band and set of rows, then read by all threads.
struct DelayPlan {
  Band band;
  SeriesSky sky;
  const GriddingKernel* kernel = nullptr;
  std::vector<Sampling> samplings;
  std::vector<DelayRow> rows;  ///< [row]
  std::size_t n_term = 1;      ///< most terms of any row
  double bound = 0;            ///< of the error, as a fraction of the total flux
  std::string obstacle;        ///< why the method cannot be used; the rest is not filled then
};

/// What would be done, without making tables: enough to tell the cost. Then `finish_delay_plan` makes the tables. Where
/// finding out takes longer than `worth_seconds`, which another method needs to be done with it, that is an obstacle.
DelayPlan plan_delay(const Summed& of, double tolerance,
                     double worth_seconds = std::numeric_limits<double>::infinity());
void finish_delay_plan(DelayPlan& plan);

/// Scratch of one thread.
class DelayWorkspace {
 public:
  explicit DelayWorkspace(const DelayPlan& plan);
  struct Arrays {
    double *cell, *place, *re, *im;          ///< [source of a block]: first cell, place in it, amplitude at one node
    Complex<double>* weight;                 ///< [source of a block][plane][term]: extended sources
    Complex<double>* grid;                   ///< [plane][term][pad, cells, pad]
    Complex<double>* spectrum;               ///< [cell]
    double* sample;                          ///< [plane][term][re, im][sample]
    double* tile;                            ///< [22][channel of a tile]
    std::size_t grid_stride, sample_stride;  ///< per grid; per part
  };
  const Arrays& arrays() const { return arrays_; }

 private:
  ScratchMemory memory_;
  Arrays arrays_{};
};

/// One row, as the halves of its evaluation share it.
struct GriddedRow {
  const DelayPlan& plan;
  const Sampling& sampling;
  const DelayRow& how;
  const DelayWorkspace::Arrays& arrays;
  bool past_caches = false;       ///< results are too many for caches
  std::size_t n_term = 1;         ///< of this row: spectra times tapers
  double u = 0, v = 0, w = 0;     ///< metres
  double du = 0, dv = 0, dw = 0;  ///< change over the exposure, metres
  double width_per_metre = 0;     ///< turns across a channel per metre of path; 0: no bandwidth smearing
  bool small_width = false;       ///< no source's phase changes by more than 2 radians across a channel
  alignas(64) double square_hz[kMaxTerms + 8] = {};  ///< nu^2 at the Chebyshev points of the tapers
};

/// Visibilities of rows [row_begin, row_end). Allocates nothing; a row's bits do not depend on the range.
void evaluate_delay_rows(const DelayPlan& plan, const Rows& rows, std::size_t row_begin, std::size_t row_end,
                         const DelayWorkspace& workspace, const Output& out);

// --------------------------------------------------------------------------------- parts, with their proven bounds

/// How many terms the series of a profile's taper G(X nu^2), 0 <= X <= x_max, needs on [low, high] to be within `error`
/// everywhere; 0 if more than kMaxTerms.
int taper_terms(Profile profile, double x_max, double low_hz, double high_hz, double error);

}  // namespace rimetree::psv::delay
