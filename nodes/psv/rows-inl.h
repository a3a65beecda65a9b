// One vector of rows through all runs of channels and blocks of sources: which method each takes, the tiles, and the
// conversion of the accumulated planes to correlations. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ROWS_INL_H_
#undef RIMETREE_NODES_PSV_ROWS_INL_H_
#else
#define RIMETREE_NODES_PSV_ROWS_INL_H_
#endif

#include "nodes/psv/planes-inl.h"
#include "nodes/psv/rows_job.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
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
  static constexpr double kLongPath = 64;                             ///< radians across a channel
};

/// Bounds of what a vector of rows does to any source of an extent.
struct Reach {
  double path = 0;    ///< metres
  double change = 0;  ///< turns per hertz over an exposure
};

/// Copies rows [first, first + lanes) into the scratch, the last row repeated beyond the end.
template <class T>
void load_rows(const RowsJob<T>& job, std::size_t first, std::size_t lanes, LaneRows& lane_rows) {
  const Rows& r = job.rows;
  const double* source[7] = {r.u, r.v, r.w, r.du, r.dv, r.dw, r.exposure_s};
  const bool smear_time = r.du != nullptr && r.exposure_s != nullptr && r.smear_time;
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
    reach.change = std::max(reach.change, extent.bound(at(3), at(4), at(5)) * std::abs(at(6)));
  }
  return reach;
}

/// The longest runs whose shortcuts all hold for these rows.
template <class T>
const RunLevel& choose_level(const RowsJob<T>& job, const Reach& reach) {
  for (std::size_t i = 0; i + 1 < kLevels; ++i) {
    const RunLevel& level = job.channels.level[i];
    if (2 * kPi * reach.path * level.largest_residual <= Bounds<T>::kSmallTurn) return level;
  }
  return job.channels.level[kLevels - 1];
}

template <class T>
Method choose_method(const RowsJob<T>& job, const Run& run, const RunLevel& level, const Reach& reach, bool shaped) {
  Method m;
  m.single = run.count == 1;
  m.taper = shaped;
  // A tile may reach beyond its run.
  const double highest =
      std::max(std::abs(run.low_hz), std::abs(run.high_hz)) + kTileChannels * std::abs(run.spacing_hz);
  const double time = kPi * reach.change * highest;
  if (time > Bounds<T>::kNoSmear) {
    m.smear = true;
    m.time_terms = series_terms(time, Bounds<T>::kSinc);
  }
  if (job.rows.du != nullptr && job.rows.smear_frequency) {
    const double band = kPi * reach.path * run.width_hz / kSpeedOfLight_m_s;
    m.bandwidth = band > Bounds<T>::kNoSmear;
    m.bandwidth_terms = series_terms(band, Bounds<T>::kSinc);
    m.long_path = band > Bounds<T>::kLongPath;
  }
  m.step_terms = series_terms(2 * kPi * reach.path * std::abs(run.half_step_high), Bounds<T>::kSeries);
  m.residual = !m.single && 2 * kPi * reach.path * level.largest_residual > Bounds<T>::kNoTurn;
  return m;
}

/// What smearing leaves to be done to the sums of a tile: see Smearing.
inline void set_scale(const Run& run, std::size_t tile, bool smear, double reference_hz, double* scale) {
  for (std::size_t k = 0; k < kTileChannels; ++k) {
    const double nu = run.first_hz + double(tile * kTileChannels + k) * run.spacing_hz;
    scale[k] = smear && nu != 0 ? reference_hz / nu : 1.0;
  }
}

template <class T, int kPlanes, bool kVector>
TileJob<T> block_job(const RowsJob<T>& job, const Block<T>& block) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_weight = job.sky.n_weight_channel;
  const Scratch<T>& to = job.scratch;
  TileJob<T> t;
  t.n_source = block.count;
  t.middle = to.middle;
  t.inner = to.inner;
  t.tile_middle = to.tile_middle;
  t.smearing = to.smearing;
  t.taper = to.taper;
  t.single_taper = to.single_taper;
  t.wave_number = to.wave_number;
  t.phasor = t.placed_amplitude = to.phasor;  // never both at a time
  t.weight_channel = kVector || n_weight == 1 ? 0 : kPlanes;
  t.weight_source = kVector ? 8 * lanes : n_weight * kPlanes;
  t.sum_channel = 2 * kPlanes;
  return t;
}

/// Tile number `number` of a block with Jones terms.
template <class T>
void jones_tile(const RowsJob<T>& job, const Block<T>& block, const Run& run, const Method& m, std::size_t number,
                const LaneRows& lane_rows, const TileJob<T>& t) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const std::size_t channel = run.first + number * kTileChannels;
  const std::size_t n_channel = std::min(kTileChannels, run.count - number * kTileChannels);
  const bool vary = job.jones.varies_in_frequency || job.sky.n_weight_channel > 1;
  if (!vary && number == 0) corrupt_block(block, job.jones, lane_rows, channel, job.scratch);
  if (!vary) return tile_with_shape<8, true>(t, m);
  choose_shaped_tile<false, Weights::kOne>(t, m);
  for (std::size_t k = 0; k < n_channel; ++k) {
    corrupt_block(block, job.jones, lane_rows, channel + k, job.scratch);
    sum_channel<8, Weights::kVector>(t, t.phasor + 2 * k * lanes, 2 * kTileChannels, t.scale[k],
                                     t.sum + k * t.sum_channel * lanes);
  }
}

/// One block of sources over one run: seeds, then tile after tile.
template <class T, int kPlanes, bool kVector>
void run_block(const RowsJob<T>& job, const Block<T>& block, const Run& run, const RunLevel& level, Method m,
               const LaneRows& lane_rows) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const Scratch<T>& to = job.scratch;
  m.weighted = kPlanes == 1 && !kVector && job.sky.n_weight_channel == 1;
  seed_block(block, run, m, to);

  TileJob<T> t = block_job<T, kPlanes, kVector>(job, block);
  double scale[kTileChannels];
  t.scale = scale;
  const bool plain = !kVector && t.weight_channel == 0 && !m.smear && !m.taper && !m.residual;
  for (std::size_t number = 0; number < run.n_tile; ++number) {
    const std::size_t channel = run.first + number * kTileChannels;
    // Tiles are at -7/2, -5/2 .. 7/2 or at -3, -2 .. 3 tile lengths; the table has the ones that are not negative.
    const bool below = 2 * number + 1 < run.n_tile;
    const std::size_t pair = (below ? run.n_tile - 1 - 2 * number : 2 * number + 1 - run.n_tile) / 2;
    t.outer = to.outer + pair * kPairStride<T> * lanes;
    t.outer_sign = below ? T(-1) : T(1);
    t.weight =
        kVector ? to.jones_weight : job.sky.weights.data() + block.begin * t.weight_source + channel * t.weight_channel;
    t.residual = level.residual.data() + channel;
    t.band = tile_band(run, number);
    set_scale(run, number, m.smear, tile_band(run, sizeof(T) == 8 ? 0 : number).third_hz, scale);
    t.sum = to.sum + number * kTileChannels * kPlanes * 2 * lanes;
    if (m.single) {
      if (kVector) corrupt_block(block, job.jones, lane_rows, channel, to);
      m.weighted ? sum_channel<kPlanes, Weights::kOne>(t, to.middle, 2, 1.0, t.sum)
                 : sum_channel<kPlanes, kVector ? Weights::kVector : Weights::kSource>(t, to.middle, 2, 1.0, t.sum);
      return;
    }
    if constexpr (sizeof(T) == 4)
      if (m.taper) advance_tapers(block.count, to);
    if constexpr (kVector)
      jones_tile(job, block, run, m, number, lane_rows, t);
    else if (plain)
      plain_tile<kPlanes>(t, m);
    else
      tile_with_shape<kPlanes, false>(t, m);
  }
}

/// Adds plane `plane`, re and im for all lanes, to the correlations [XX XY YX YY][re, im][lane].
inline void add_plane(Plane plane, const double* HWY_RESTRICT s, std::size_t lanes, double* HWY_RESTRICT e) {
  // out += sign * s, or sign * i s.
  const auto real = [&](int i, double sign) {
    for (std::size_t k = 0; k < 2 * lanes; ++k) e[2 * i * lanes + k] += sign * s[k];
  };
  const auto imaginary = [&](int i, double sign) {
    for (std::size_t k = 0; k < lanes; ++k) {
      e[2 * i * lanes + k] -= sign * s[lanes + k];
      e[(2 * i + 1) * lanes + k] += sign * s[k];
    }
  };
  switch (plane) {
    case Plane::kI:
      return real(0, 1), real(3, 1);
    case Plane::kQ:
      return real(0, 1), real(3, -1);
    case Plane::kU:
      return real(1, 1), real(2, 1);
    case Plane::kV:
      return imaginary(1, 1), imaginary(2, -1);
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(Plane::kXxRe);
      return i % 2 == 0 ? real(i / 2, 1) : imaginary(i / 2, 1);
    }
  }
}

/// Writes the sums of a run to the rows [begin, end) among those that start at `first`.
template <class T>
void store_run(const RowsJob<T>& job, const Run& run, std::size_t first, std::size_t begin, std::size_t end,
               const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_plane = job.sky.planes.size();
  double correlation[8 * kMaxLanes];
  for (std::size_t k = 0; k < run.count; ++k) {
    std::fill(correlation, correlation + 8 * lanes, 0.0);
    for (std::size_t p = 0; p < n_plane; ++p)
      add_plane(job.sky.planes[p], job.scratch.sum + (k * n_plane + p) * 2 * lanes, lanes, correlation);
    for (std::size_t row = std::max(first, begin); row < std::min(first + lanes, end); ++row) {
      const double* e = correlation + (row - first);
      Complex<double>* to = out.row[row] + run.first + k;
      for (int i = 0; i < 4; ++i) to[i * out.plane_stride] = {e[2 * i * lanes], e[(2 * i + 1) * lanes]};
    }
  }
}

template <class T, int kPlanes, bool kVector>
void evaluate_group(const RowsJob<T>& job, std::size_t first, std::size_t begin, std::size_t end, const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  LaneRows lane_rows;
  load_rows(job, first, lanes, lane_rows);
  const RunLevel& level = choose_level(job, reach_of(job.scratch.rows, lanes, job.sky.extent));
  for (const Run& run : level.runs) {
    scale_rows(run, lanes, job.scratch.rows, job.scratch.scaled);
    std::fill_n(job.scratch.sum, run.n_tile * kTileChannels * kPlanes * 2 * lanes, 0.0);
    for_each_block<T>(
        job.sky.n_source, job.sky.n_point, [&](std::size_t number, std::size_t source_begin, std::size_t source_end) {
          const Block<T> block{&job.sky, source_begin, source_end - source_begin, source_begin >= job.sky.n_point};
          const Reach reach = reach_of(job.scratch.rows, lanes, job.sky.block_extent[number]);
          run_block<T, kPlanes, kVector>(job, block, run, level, choose_method(job, run, level, reach, block.shaped),
                                         lane_rows);
        });
    store_run(job, run, first, begin, end, out);
  }
}

/// Groups of rows start at multiples of the vector length, whatever range is asked for: a row always has the same
/// neighbours, and hence the same method and the same bits.
template <class T>
void evaluate_range(const RowsJob<T>& job, std::size_t begin, std::size_t end, const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  for (std::size_t first = begin / lanes * lanes; first < end; first += lanes) {
    if (job.jones.n_pair > 0) {
      evaluate_group<T, 8, true>(job, first, begin, end, out);
      continue;
    }
    switch (job.sky.planes.size()) {
      case 1:
        evaluate_group<T, 1, false>(job, first, begin, end, out);
        break;
      case 2:
        evaluate_group<T, 2, false>(job, first, begin, end, out);
        break;
      case 4:
        evaluate_group<T, 4, false>(job, first, begin, end, out);
        break;
      default:
        evaluate_group<T, 8, false>(job, first, begin, end, out);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ROWS_INL_H_
