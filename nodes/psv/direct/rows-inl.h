// One vector of rows through all runs of channels and blocks of sources, and the conversion of the accumulated planes
// to correlations. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_ROWS_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_ROWS_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_ROWS_INL_H_
#endif

#include "nodes/psv/direct/jones_rows-inl.h"
#include "nodes/psv/direct/method-inl.h"
#include "nodes/psv/plane_shares.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Whether smearing can be, and is faster, left to smeared_tile(): not for a single plane in double precision, whose
/// amplitudes cost as much.
template <class T, int kPlanes, bool kVector>
bool takes_narrow(const Method& m, std::size_t n_weight_channel) {
  constexpr bool kFaster = !kVector && (kPlanes > 1 || sizeof(T) == 4);
  return kFaster && n_weight_channel == 1 && m.smear && m.narrow_terms > 0 && !m.taper && !m.residual && !m.single;
}

/// One block of sources over one run: seeds, then tile after tile. kPlanes: all of the sky's, or its first.
template <class T, int kPlanes, bool kVector>
void run_block(const HostSum<T>& job, const Block<T>& block, const Run& run, const ChannelCut& cut, Method m,
               const LaneRows& lane_rows) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()),
                    tile_sums = kTileChannels * job.sky.planes.size() * 2 * lanes;
  const Scratch<T>& to = job.scratch;
  const bool relative = kPlanes > 1 && m.narrow && !job.sky.relative_weights.empty();
  m.weighted = !kVector && job.sky.n_weight_channel == 1 && (kPlanes == 1 || relative);
  seed_block(block, run, m, to);

  TileArrays<T> t = block_arrays<T, kVector>(job, block);
  double scale[kTileChannels];
  const bool plain = !kVector && t.weight_channel == 0 && !m.smear && !m.taper && !m.residual;
  const auto sum_of = [&](std::size_t number) { return to.sum + number * tile_sums; };
  // With a single plane, tiles above the middle are done together with those below.
  const std::size_t n_tile = plain && kPlanes == 1 ? (run.n_tile + 1) / 2 : run.n_tile;
  for (std::size_t number = 0; number < n_tile; ++number) {
    const std::size_t channel = run.first + number * kTileChannels;
    place_tile_arrays(job, run, cut, m, number, t, scale);
    t.weight =
        kVector ? to.jones_weight : job.sky.weights.data() + block.begin * t.weight_source + channel * t.weight_channel;
    if (relative) t.weight = job.sky.relative_weights.data() + block.begin * t.weight_source;
    t.sum = sum_of(number);
    if (kVector && number == 0) corrupt_block(block, job.jones, lane_rows, channel, to);
    if (m.single) {
      m.weighted ? sum_channel<kPlanes, Weights::kOne>(t, to.middle, 2, 1.0, t.sum)
                 : sum_channel<kPlanes, kVector ? Weights::kVector : Weights::kSource>(t, to.middle, 2, 1.0, t.sum);
      return;
    }
    if (m.taper && t.stored_tapers) store_tapers(m.shape, run, number, block.count, to);
    if constexpr (!kVector) {
      if (m.narrow) {
        smeared_tile<kPlanes>(t, run, m, number, m.weighted, to);
        continue;
      }
    }
    if constexpr (kVector)
      tile_with_shape<8, true>(t, m);
    else if (plain && kPlanes == 1 && 2 * number + 1 != run.n_tile)
      mirrored_tiles(t, sum_of(run.n_tile - 1 - number));
    else if (plain)
      plain_tile<kPlanes>(t, m);
    else
      tile_with_shape<kPlanes, false>(t, m);
  }
}

/// Adds plane `plane`, re and im for all lanes, to the correlations [XX XY YX YY][re, im][lane].
inline void add_plane(Plane plane, const double* HWY_RESTRICT s, std::size_t lanes, double* HWY_RESTRICT e) {
  const PlaneShares shares = shares_of(plane);
  for (int i = 0; i < shares.n; ++i) {
    const double sign = shares.share[i].sign;
    double* to = e + 2 * static_cast<std::size_t>(shares.share[i].correlation) * lanes;
    if (!shares.share[i].turned)
      for (std::size_t k = 0; k < 2 * lanes; ++k) to[k] += sign * s[k];
    else
      for (std::size_t k = 0; k < lanes; ++k) to[k] -= sign * s[lanes + k], to[lanes + k] += sign * s[k];
  }
}

/// Writes the sums of a run to the rows [begin, end) among those that start at `first`, some channels of a row at a
/// time: as much as a line of the cache holds.
template <class T>
void store_run(const HostSum<T>& job, const Run& run, std::size_t first, std::size_t begin, std::size_t end,
               const Output& out) {
  constexpr std::size_t kChunk = 4;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_plane = job.sky.planes.size();
  alignas(128) double correlation[kChunk][8 * kMaxLanes];
  for (std::size_t from = 0; from < run.count; from += kChunk) {
    const std::size_t count = std::min(kChunk, run.count - from);
    for (std::size_t k = 0; k < count; ++k) {
      std::fill_n(correlation[k], 8 * lanes, 0.0);
      for (std::size_t p = 0; p < n_plane; ++p)
        add_plane(job.sky.planes[p], job.scratch.sum + ((from + k) * n_plane + p) * 2 * lanes, lanes, correlation[k]);
    }
    for (std::size_t row = std::max(first, begin); row < std::min(first + lanes, end); ++row)
      for (std::size_t i = 0; i < 4; ++i) {
        Complex<double>* to = out.row[row] + std::ptrdiff_t(i) * out.plane_stride + run.first + from;
        for (std::size_t k = 0; k < count; ++k) {
          const double* e = correlation[k] + 2 * i * lanes + (row - first);
          to[k] = {e[0], e[lanes]};
        }
      }
  }
}

/// What the sources of a block add to the sums of a run.
template <class T, int kPlanes, bool kVector>
void add_sources(const HostSum<T>& job, const SourceBlock& sources, const Run& run, const ChannelCut& cut,
                 const LaneRows& lane_rows) {
  const Reach reach = reach_of(job.scratch.rows, hn::Lanes(hn::ScalableTag<T>()), sources.extent);
  Method m = choose_method(job, run, cut, reach, sources.profile);
  m.narrow = takes_narrow<T, kPlanes, kVector>(m, job.sky.n_weight_channel);
  const std::size_t step = m.narrow && kPlanes == 1 ? kSmearedSources : kBlockSources;
  for (std::size_t s = sources.begin; s < sources.end; s += step) {
    const Block<T> block{&job.sky, s, std::min(step, sources.end - s), sources.profile};
    run_block<T, kPlanes, kVector>(job, block, run, cut, m, lane_rows);
  }
}

template <class T, int kPlanes, bool kVector>
void evaluate_group(const HostSum<T>& job, std::size_t first, std::size_t begin, std::size_t end, const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  LaneRows lane_rows;
  load_rows(job, first, lanes, lane_rows);
  const ChannelCut& cut = choose_cut(job, reach_of(job.scratch.rows, lanes, job.sky.extent));
  for (const Run& run : cut.runs) {
    scale_rows(run, lanes, job.scratch.rows, job.scratch.scaled);
    std::fill_n(job.scratch.sum, run.n_tile * kTileChannels * kPlanes * 2 * lanes, 0.0);
    for (const SourceBlock& sources : job.sky.blocks) {
      if (!kVector && sources.one_plane)
        add_sources<T, 1, false>(job, sources, run, cut, lane_rows);
      else
        add_sources<T, kPlanes, kVector>(job, sources, run, cut, lane_rows);
    }
    store_run(job, run, first, begin, end, out);
  }
}

/// Groups of rows start at multiples of the vector length, whatever range is asked for: a row always has the same
/// neighbours, and hence the same method and the same bits.
template <class T>
void evaluate_range(const HostSum<T>& job, std::size_t begin, std::size_t end, const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  if (matrices_vary(job.sky, job.jones)) return evaluate_varying(job, begin, end, out);
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
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_ROWS_INL_H_
