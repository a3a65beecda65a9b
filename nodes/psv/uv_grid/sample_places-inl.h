// The samples that the visibilities of a row are made of, and where they are on the grids. Included once per
// instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_SAMPLE_PLACES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_SAMPLE_PLACES_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_SAMPLE_PLACES_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_SAMPLE_PLACES_INL_H_
#endif

#include <algorithm>
#include <cmath>

#include "nodes/psv/exposure_rule.h"
#include "nodes/psv/uv_grid/grids.h"
#include "nodes/psv/uv_grid/samples.h"
#include "nodes/psv/uv_grid/stencil-inl.h"
#include "runtime/math/conventions.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::uv_grid {
namespace HWY_NAMESPACE {

/// One visibility: a channel of a row, or a node of the rules that smear it.
struct Sample {
  std::int32_t first[2];  ///< of the modes that the widest kernel covers, in U and V, from the first of a grid
  double place[2];        ///< in that mode, see GriddingKernel
  double w;               ///< in [-1, 1] between the points in W
  Complex<double> phasor;
  bool mirrored;
};

/// What all samples of a row are made of, in metres.
struct RowPoint {
  Point at, change;  ///< U, V, W; over the exposure
  long double path = 0, path_change = 0;
};

inline RowPoint point_of(const UvGridPlan& plan, const Rows& rows, std::size_t r) {
  const Frame& frame = plan.frame;
  RowPoint point{frame.of_baseline(rows.u[r], rows.v[r], rows.w[r]),
                 {{0, 0, 0}},
                 frame.common_path(rows.u[r], rows.v[r], rows.w[r])};
  if (!plan.means.is_smeared_in_time(plan.means.rows[r])) return point;
  const Point rate = frame.of_baseline(rows.du[r], rows.dv[r], rows.dw[r]);
  for (int i = 0; i < 3; ++i) point.change.at[i] = rows.exposure_s[r] * rate.at[i];
  point.path_change = rows.exposure_s[r] * frame.common_path(rows.du[r], rows.dv[r], rows.dw[r]);
  return point;
}

/// The sample at p (U, V, W) + q (dU, dV, dW), p and q in turns per metre.
inline Sample place_sample(const UvGridPlan& plan, const RowPoint& point, long double p, long double q) {
  Sample sample;
  long double at[3], turns = p * point.path + q * point.path_change;
  for (int i = 0; i < 3; ++i) {
    at[i] = p * point.at.at[i] + q * point.change.at[i];
    turns += at[i] * plan.sources.middle(i);
  }
  const double angle = 2 * kPi * static_cast<double>(turns - std::rint(turns));
  sample.phasor = {std::cos(angle), std::sin(angle)};
  sample.mirrored = plan.mirror >= 0 && at[plan.mirror] < 0;
  if (sample.mirrored)
    for (long double& coordinate : at) coordinate = -coordinate;
  for (int i = 0; i < 2; ++i) {
    const GridAxis& axis = plan.axis[i];
    const long double start = (at[i] - plan.samples.middle(i)) * axis.modes_per_wavelength - 0.5L * plan.widest().width;
    const long double first = std::ceil(start);
    sample.first[i] = static_cast<std::int32_t>(static_cast<std::ptrdiff_t>(first) - axis.first_mode);
    sample.place[i] = static_cast<double>(2 * (first - start) - 1);
  }
  const double half = plan.samples.half(2);
  sample.w = half > 0 ? static_cast<double>(at[2] - plan.samples.middle(2)) / half : 0;
  return sample;
}

constexpr long double kPerMetre = 1 / static_cast<long double>(kSpeedOfLight_m_s);

/// Calls add(p, q) for the samples of some channels that have rules of their own, [channel][exposure][channel's width].
template <class F>
inline void for_samples_by_rules(const CellMeans& means, const Channels& channels, const RowMeans& how,
                                 std::size_t begin, std::size_t end, const F& add) {
  const ExposureRule &of_time = exposure_rule(how.n_time), &of_width = exposure_rule(how.n_frequency);
  for (std::size_t f = begin; f < end; ++f) {
    const long double nu = channels.frequency_hz[f] * kPerMetre, half = means.half_width_hz[f] * kPerMetre;
    for (int t = 0; t < how.n_time; ++t)
      for (int k = 0; k < how.n_frequency; ++k) add(nu + of_width.node[k] * half, 0.5L * of_time.node[t] * nu);
  }
}
/// So many channels at a time.
inline std::size_t channels_together(const RowMeans& how) {
  const std::size_t each = std::size_t{how.n_time} * how.n_frequency;
  return (127 + each) / each;
}

/// The same for the points of a segment, [point of the band][point of the exposure].
template <class F>
inline void for_samples_by_points(const CellMeans& means, const Segment& segment, const BandPoints& band,
                                  const ExposurePoints& exposure, const F& add) {
  const long double middle = 0.5L * segment.low_hz + 0.5L * segment.high_hz;
  const long double half = 0.5L * segment.high_hz - 0.5L * segment.low_hz;
  for (const double p : band.at)
    for (const double q : exposure.at) add((middle + half * p) * kPerMetre, 0.5L * q * means.highest_hz * kPerMetre);
}

/// T_0(x) to T_(n - 1)(x) of a channel.
inline void chebyshev_values(std::size_t channel, std::size_t n_channel, std::size_t n, double* values) {
  const double x = n_channel > 1 ? 2.0 * double(channel) / double(n_channel - 1) - 1 : 0;
  for (std::size_t j = 0; j < n; ++j) values[j] = j == 0 ? 1 : j == 1 ? x : 2 * x * values[j - 1] - values[j - 2];
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::uv_grid
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_UV_GRID_SAMPLE_PLACES_INL_H_
