// One vector of rows through all runs of channels and blocks of sources: which method each takes, the tiles, and the
// conversion of the accumulated planes to correlations. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ROWS_INL_H_
#undef RIMETREE_NODES_PSV_ROWS_INL_H_
#else
#define RIMETREE_NODES_PSV_ROWS_INL_H_
#endif

#include <type_traits>

#include "nodes/psv/jones-inl.h"
#include "nodes/psv/rows_job.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Error bounds of the shortcuts, each as a fraction of a source's flux.
template <class T>
struct Bounds {
  static constexpr double kFit = sizeof(T) == 8 ? 1e-13 : 1e-8;       ///< of a polynomial for time smearing
  static constexpr double kNoSmear = sizeof(T) == 8 ? 1e-7 : 1e-4;    ///< sinc(x) is 1 within x^2/6
  static constexpr double kNoTurn = sizeof(T) == 8 ? 1e-13 : 1e-8;    ///< radians of irregularity that are ignored
  static constexpr double kSmallTurn = sizeof(T) == 8 ? 1e-7 : 1e-8;  ///< radians for which e^(ix) may be 1 + ix
};

/// Bounds of what a vector of rows does to any source of an extent.
struct Reach {
  double path = 0;    ///< metres
  double change = 0;  ///< turns per hertz over an exposure
};

/// An instance of the tile and how many channels it takes.
template <class T>
struct Tile {
  void (*function)(const TileJob<T>&);
  std::size_t n_channel;
};
template <class Kind, class T>
constexpr Tile<T> instance() {
  return {&tile<Kind, T>, Kind::kChannels};
}

/// The instance of the tile for a method, which is raised to the nearest one that exists.
template <class T, int kPlanes, bool kVector>
Tile<T> choose_tile(bool single, Method& m) {
  if (single) return instance<TileKind<kPlanes, kVector, 0, false, false, true>, T>();
  constexpr bool kDouble = std::is_same_v<T, double>;  // singles never need the residual
  if ((m.gaussian && m.fit == 2) || (m.residual && (m.gaussian || m.fit == 2))) {
    m.gaussian = true;
    m.residual = kDouble;
    m.fit = 2;
    return instance<TileKind<kPlanes, kVector, 8, true, kDouble>, T>();
  }
  if (m.gaussian || m.residual) m.fit = m.fit < 0 ? -1 : 1;
  if constexpr (kDouble)
    if (m.residual)
      return m.fit < 0 ? instance<TileKind<kPlanes, kVector, 0, false, true>, T>()
                       : instance<TileKind<kPlanes, kVector, 4, false, true>, T>();
  if (m.gaussian)
    return m.fit < 0 ? instance<TileKind<kPlanes, kVector, 0, true, false>, T>()
                     : instance<TileKind<kPlanes, kVector, 4, true, false>, T>();
  constexpr Tile<T> kPlain[4] = {instance<TileKind<kPlanes, kVector, 0, false, false>, T>(),
                                 instance<TileKind<kPlanes, kVector, 2, false, false>, T>(),
                                 instance<TileKind<kPlanes, kVector, 4, false, false>, T>(),
                                 instance<TileKind<kPlanes, kVector, 8, false, false>, T>()};
  return kPlain[m.fit + 1];
}

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
  // A Gaussian's step is shrunk anew at each channel, which costs accuracy with the square of the run's length.
  for (int i = job.sky.n_point < job.sky.n_source ? 1 : 0; i < 3; ++i) {
    const RunLevel& level = job.channels.level[i];
    const bool regular = 2 * kPi * reach.path * level.largest_residual <= Bounds<T>::kSmallTurn;
    const bool smooth = kPi * reach.change * level.largest_half_span_hz <= largest_half_span(2, Bounds<T>::kFit);
    if (regular && smooth) return level;
  }
  return job.channels.level[3];
}

template <class T>
Method choose_method(const RowsJob<T>& job, const Run& run, const RunLevel& level, const Reach& reach, bool shaped) {
  Method m;
  m.gaussian = shaped && run.count > 1;
  const double highest = std::max(std::abs(run.low_hz), std::abs(run.high_hz));
  const double time = kPi * reach.change * highest, half_span = kPi * reach.change * 0.5 * (run.high_hz - run.low_hz);
  if (time > Bounds<T>::kNoSmear) {
    m.small_time = time <= 1;
    m.time = run.count == 1;
    if (!m.time)
      for (m.fit = 0; m.fit < 2 && half_span > largest_half_span(m.fit, Bounds<T>::kFit);) ++m.fit;
  }
  if (job.rows.du != nullptr && job.rows.smear_frequency) {
    const double band = kPi * reach.path * run.width_hz / kSpeedOfLight_m_s;
    m.bandwidth = band > Bounds<T>::kNoSmear;
    m.small_bandwidth = band <= 1;
  }
  m.residual = run.count > 1 && 2 * kPi * reach.path * level.largest_residual > Bounds<T>::kNoTurn;
  return m;
}

/// One block of sources over one run: seeds, then tiles.
template <class T, int kPlanes, bool kVector>
void run_block(const RowsJob<T>& job, const Block<T>& block, const Run& run, const RunLevel& level, Method m,
               const LaneRows& lane_rows) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const Scratch<T>& to = job.scratch;
  const Tile<T> chosen = choose_tile<T, kPlanes, kVector>(run.count == 1, m);
  seed_block(block, run, m, to);

  TileJob<T> t;
  t.n_source = block.count;
  t.state = to.state;
  t.coefficient = to.coefficient;
  t.shrink = to.shrink;
  t.wave_number = to.wave_number;
  const std::size_t n_weight = job.sky.n_weight_channel;
  t.weight_channel = n_weight == 1 ? 0 : kPlanes;
  t.weight_source = kVector ? 8 * lanes : n_weight * kPlanes;
  const bool jones_vary = kVector && (job.jones.varies_in_frequency || n_weight > 1);
  const std::size_t chunk = m.gaussian ? kGaussianChunk : kSingleChunk;
  for (std::size_t k = 0; k < run.count; k += chosen.n_channel) {
    const std::size_t channel = run.first + k;
    if constexpr (std::is_same_v<T, float>)
      if (run.count > 1 && k % chunk == 0) refresh_from_masters(block.count, m.gaussian, to);
    if constexpr (kVector) {
      if (k == 0 || jones_vary) corrupt_block(block, job.jones, lane_rows, channel, to);
      t.weight = to.jones_weight;
    } else {
      t.weight = job.sky.weights.data() + block.begin * n_weight * kPlanes + channel * t.weight_channel;
    }
    if constexpr (std::is_same_v<T, float>)
      t.position = level.position_single.data() + channel;
    else
      t.position = level.position.data() + channel;
    t.residual = level.residual.data() + channel;
    t.sum = to.sum + k * kPlanes * 2 * lanes;
    chosen.function(t);
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
    std::fill_n(job.scratch.sum, (run.count + kMaxTile) * kPlanes * 2 * lanes, 0.0);
    for_each_block<T>(
        job.sky.n_source, job.sky.n_point, [&](std::size_t number, std::size_t source_begin, std::size_t source_end) {
          const Block<T> block{&job.sky, source_begin, source_end - source_begin, source_begin >= job.sky.n_point};
          const Reach reach = reach_of(job.scratch.rows, lanes, job.sky.block_extent[number]);
          const Method m = choose_method(job, run, level, reach, block.shaped);
          run_block<T, kPlanes, kVector>(job, block, run, level, m, lane_rows);
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
