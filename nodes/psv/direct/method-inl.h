// Which method a vector of rows takes for a block of sources on a run of channels, and where each tile of channels
// starts. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_METHOD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_METHOD_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_METHOD_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_METHOD_INL_H_
#endif

#include "nodes/psv/direct/planes-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Error bounds of the shortcuts, each as a fraction of a source's flux.
template <class T>
struct Bounds {
  static constexpr double kSeries = sizeof(T) == 8 ? 2e-17 : 1e-11;   ///< terms of series that are left out
  static constexpr double kSinc = sizeof(T) == 8 ? 2e-17 : 1e-9;      ///< the same, of sinc
  static constexpr double kNoSmear = sizeof(T) == 8 ? 1e-7 : 1e-4;    ///< sinc(x) is 1 within x^2/6
  static constexpr double kNoTurn = sizeof(T) == 8 ? 1e-13 : 1e-8;    ///< radians of irregularity that are ignored
  static constexpr double kSmallTurn = sizeof(T) == 8 ? 1e-7 : 1e-8;  ///< radians for which e^(ix) may be 1 + ix
  static constexpr double kWidths = sizeof(T) == 8 ? 4e-13 : 1e-8;    ///< of smearing, where widths are rounded
  static constexpr double kLongPath = 64;                             ///< radians across a channel
};

/// Bounds of what a vector of rows does to any source of an extent.
struct Reach {
  double path = 0;    ///< metres
  double change = 0;  ///< turns per hertz over an exposure
};

/// Copies rows [first, first + lanes) into the scratch, the last row repeated beyond the end.
template <class T>
void load_rows(const HostSum<T>& job, std::size_t first, std::size_t lanes, LaneRows& lane_rows) {
  const Rows& r = job.rows;
  const double* source[7] = {r.u, r.v, r.w, r.du, r.dv, r.dw, r.exposure_s};
  const bool smear_time = r.is_smeared_in_time();
  for (std::size_t lane = 0; lane < lanes; ++lane) {
    const std::size_t row = std::min(first + lane, r.n_row - 1);
    for (int i = 0; i < 7; ++i) job.scratch.rows[i * lanes + lane] = i < 3 || smear_time ? source[i][row] : 0.0;
    job.scratch.rows[6 * lanes + lane] /= kSpeedOfLight_m_s;
    lane_rows.baseline[lane] = r.baseline != nullptr ? r.baseline[row] : 0;
    lane_rows.time[lane] = r.time != nullptr ? r.time[row] : 0;
  }
}

inline Reach reach_of(const double* rows, std::size_t lanes, const Extent& extent) {
  Reach reach;
  for (std::size_t i = 0; i < lanes; ++i) {
    const auto at = [&](int k) { return rows[k * lanes + i]; };
    reach.path = std::max(reach.path, extent.bound(at(0), at(1), at(2)));
    reach.change = std::max(reach.change, extent.bound_of_change(at(3), at(4), at(5), at(6)));
  }
  return reach;
}

/// The longest runs whose shortcuts all hold for these rows.
template <class T>
const ChannelCut& choose_cut(const HostSum<T>& job, const Reach& reach) {
  for (std::size_t i = 0; i + 1 < kCuts; ++i) {
    const ChannelCut& cut = job.channels.cut[i];
    const bool one_width = !job.rows.is_smeared_in_frequency() ||
                           smearing_error(cut.largest_width_error, reach.path) <= Bounds<T>::kWidths;
    const bool even = 2 * kPi * reach.path * cut.largest_residual <= Bounds<T>::kSmallTurn;
    if (!cut.runs.empty() && even && one_width) return cut;
  }
  return job.channels.cut[kCuts - 1];
}

template <class T>
Method choose_method(const HostSum<T>& job, const Run& run, const ChannelCut& cut, const Reach& reach,
                     Profile profile) {
  Method m;
  m.single = run.count == 1;
  m.taper = profile != kPoint;
  m.shape = taper_on<T>(profile, run);
  // A tile may reach beyond its run.
  const double highest =
      std::max(std::abs(run.low_hz), std::abs(run.high_hz)) + kTileChannels * std::abs(run.spacing_hz);
  const double time = kPi * reach.change * highest;
  if (time > Bounds<T>::kNoSmear) {
    m.smear = true;
    m.time_terms = series_terms(time, Bounds<T>::kSinc);
    const int terms = series_terms(kPi * reach.change * kTileChannels * std::abs(run.spacing_hz), Bounds<T>::kSinc);
    if (terms > 0 && terms <= 5 && middle_hz(run, 0) != 0) m.narrow_terms = terms <= 3 ? 3 : 5;
  }
  if (job.rows.is_smeared_in_frequency()) {
    const double band = kPi * reach.path * run.width_hz / kSpeedOfLight_m_s;
    m.bandwidth = band > Bounds<T>::kNoSmear;
    m.bandwidth_terms = series_terms(band, Bounds<T>::kSinc);
    m.long_path = band > Bounds<T>::kLongPath;
  }
  m.step_terms = series_terms(2 * kPi * reach.path * std::abs(run.half_step_high), Bounds<T>::kSeries);
  m.residual = !m.single && 2 * kPi * reach.path * cut.largest_residual > Bounds<T>::kNoTurn;
  return m;
}

template <class T, bool kVector>
TileArrays<T> block_arrays(const HostSum<T>& job, const Block<T>& block) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_weight = job.sky.n_weight_channel;
  const std::size_t n_plane = job.sky.planes.size();
  const Scratch<T>& to = job.scratch;
  TileArrays<T> t;
  t.n_source = block.count;
  t.middle = to.middle;
  t.inner = to.inner;
  t.tile_middle = to.tile_middle;
  t.smearing = to.smearing;
  t.taper = to.taper;
  t.tile_taper = to.tile_taper;
  t.stored_tapers = stores_tapers<T>(block.profile);
  t.wave_number = to.wave_number;
  t.phasor = t.placed_amplitude = to.phasor;  // never both at a time
  t.weight_channel = kVector || n_weight == 1 ? 0 : n_plane;
  t.weight_source = kVector ? 8 * lanes : n_weight * n_plane;
  t.sum_channel = 2 * n_plane;
  return t;
}

/// The tile's place in the run: the rotation to its middle, its frequencies, its distances from the regular grid, and
/// what smearing leaves to be done to its sums.
template <class T>
void place_tile_arrays(const HostSum<T>& job, const Run& run, const ChannelCut& cut, const Method& m,
                       std::size_t number, TileArrays<T>& t, double (&scale)[kTileChannels]) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  // Tiles are at -7/2, -5/2 .. 7/2 or at -3, -2 .. 3 tile lengths; the table has the ones that are not negative.
  const bool below = 2 * number + 1 < run.n_tile;
  const std::size_t pair = (below ? run.n_tile - 1 - 2 * number : 2 * number + 1 - run.n_tile) / 2;
  t.outer = job.scratch.outer + pair * kPairStride * lanes;
  t.outer_sign = below ? T(-1) : T(1);
  t.residual = cut.residual.data() + run.first + number * kTileChannels;
  t.band = tile_band(run, number);
  t.scale = scale;
  if (m.smear)
    smear_scale(run, number, tile_band(run, sizeof(T) == 8 ? 0 : number).third_hz, scale);
  else
    std::fill_n(scale, kTileChannels, 1.0);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_METHOD_INL_H_
