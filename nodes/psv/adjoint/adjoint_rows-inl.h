// The adjoint kernel (adjoint.h): vectors of rows through all runs of channels and blocks of sources. Included once per
// instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_ADJOINT_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_ADJOINT_ROWS_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_ADJOINT_ROWS_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_ADJOINT_ROWS_INL_H_
#endif

#include "nodes/psv/adjoint/jones_adjoint-inl.h"
#include "nodes/psv/adjoint/varying-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// The conjugate adjoint of a plane, for all lanes of a channel: re, then im.
inline void plane_adjoint(Plane plane, const double* HWY_RESTRICT a, std::size_t lanes, double* HWY_RESTRICT h) {
  std::fill_n(h, 2 * lanes, 0.0);
  const PlaneShares shares = shares_of(plane);
  for (int i = 0; i < shares.n; ++i) {
    const double sign = shares.share[i].sign;
    const double* from = a + 2 * static_cast<std::size_t>(shares.share[i].correlation) * lanes;
    if (!shares.share[i].turned)
      for (std::size_t k = 0; k < lanes; ++k) h[k] += sign * from[k], h[lanes + k] -= sign * from[lanes + k];
    else
      for (std::size_t k = 0; k < lanes; ++k) h[k] += sign * from[lanes + k], h[lanes + k] += sign * from[k];
  }
}

/// Conjugate adjoints of all components on a run, for rows [first, first + lanes) as far as they are below `end`.
inline HWY_NOINLINE void load_adjoints(const ReverseSum& job, const Run& run, std::size_t first, std::size_t end,
                                       AdjointScratch& own) {
  const std::size_t lanes = own.lanes, n = own.n_component;
  std::fill_n(own.h, run.n_tile * kTileChannels * n * 2 * lanes, 0.0);
  double a[8 * kMaxLanes];
  for (std::size_t k = 0; k < run.count; ++k) {
    std::fill_n(a, 8 * lanes, 0.0);
    for (std::size_t row = first; row < std::min(first + lanes, end); ++row) {
      const Complex<double>* from = job.adjoints.row[row] + run.first + k;
      for (int i = 0; i < 4; ++i) {
        const Complex<double> z = from[i * job.adjoints.plane_stride];
        a[2 * i * lanes + row - first] = z.re, a[(2 * i + 1) * lanes + row - first] = z.im;
      }
    }
    for (std::size_t p = 0; p < n; ++p)
      plane_adjoint(job.sky.planes[own.correlations ? 2 * p : p], a, lanes, own.h + (k * n + p) * 2 * lanes);
  }
  for (std::size_t k = 0; k < run.n_tile * kTileChannels; ++k) {
    const double nu = run.first_hz + double(k) * run.spacing_hz;
    own.wave[k] = nu / kSpeedOfLight_m_s, own.square_hz2[k] = nu * nu;
  }
}

/// Sums and differences of channels at equal distances from the middle of a tile, as pull_plain reads them.
inline HWY_NOINLINE void fold_adjoints(const Run& run, AdjointScratch& own, std::vector<double>& from) {
  const std::size_t lanes = own.lanes, width = 2 * own.n_component * lanes;
  from.assign(own.h, own.h + run.n_tile * kTileChannels * width);
  double* to = own.h;
  for (std::size_t number = 0; number < run.n_tile; ++number)
    for (std::size_t k = 0; k < kTilePairs; ++k) {
      const double* below = from.data() + (number * kTileChannels + kTilePairs - 1 - k) * width;
      const double* above = from.data() + (number * kTileChannels + kTilePairs + k) * width;
      for (std::size_t p = 0; p < own.n_component; ++p, to += 4 * lanes)
        for (std::size_t i = 0; i < 2 * lanes; ++i) {
          to[i] = above[2 * p * lanes + i] + below[2 * p * lanes + i];
          to[2 * lanes + i] = above[2 * p * lanes + i] - below[2 * p * lanes + i];
        }
    }
}

/// One block of sources over one run.
template <int P, bool kJones>
void pull_block(const ReverseSum& job, const Block<double>& block, const Run& run, const Method& m, bool plain,
                const LaneRows& lane_rows, AdjointScratch& own, const Scratch<double>& to, double* sums,
                const JonesSlopes& jones_out, double* channel_sums) {
  const AdjointTag d;
  const std::size_t lanes = own.lanes, n_weight = job.sky.n_weight_channel;
  seed_block(block, run, m, to);
  if constexpr (kJones) corrupt_block(block, job.jones, lane_rows, run.first, to);
  for (std::size_t s = 0; s < block.count; ++s) {
    const Sighting<double> place(block, to, s, lanes, 0);
    const std::size_t source = block.begin + s;
    const double* weights = kJones
                                ? to.jones_weight + s * 2 * P * lanes
                                : job.sky.weights.data() + source * n_weight * P + (n_weight > 1 ? run.first * P : 0);
    const SourceOnRun at{to, own, run, s, lanes, weights, n_weight > 1 ? std::size_t{P} : 0};
    RunSums of_run;
    for (auto& w : of_run.weight) w = hn::Zero(d);
    of_run.phase = of_run.real = of_run.cosine = of_run.square = hn::Zero(d);
    if (plain)
      pull_plain<P, kJones>(at, of_run);
    else if (n_weight == 1)
      pull_shaped<P, false, kJones>(at, m, place.change(), of_run, nullptr);
    else if constexpr (!kJones)
      pull_shaped<P, true, false>(at, m, place.change(), of_run, channel_sums + (source * n_weight + run.first) * P);
    if constexpr (kJones)
      if (job.wish.weights || job.jones.targets.any())
        pull_through_jones(job.sky, job.jones, lane_rows, source, jones_out, own.gathered, of_run.weight);
    add_source(place, run, m, job.wish, n_weight == 1 ? (kJones ? 2 * P : P) : 0, of_run,
               sums + s * kSourceSums * lanes);
  }
}

/// The longest runs on which derivatives may take channels as regular.
inline const ChannelCut& choose_adjoint_cut(const ReverseSum& job, const Reach& reach) {
  for (const ChannelCut& cut : job.channels.cut)
    if (!cut.runs.empty() && 2 * kPi * reach.path * cut.largest_residual <= kIgnoredTurn &&
        smearing_error(cut.largest_width_error, reach.path) <= kIgnoredTurn)
      return cut;
  return job.channels.cut[kCuts - 1];
}

template <int P, bool kJones = false>
void pull_rows(const ReverseSum& job, const HostSum<double>& rows, const AdjointPortion& portion, AdjointScratch& own,
               SourceAdjoints& out) {
  const std::size_t lanes = own.lanes;
  std::vector<double> unfolded;
  LaneRows lane_rows;
  JonesSlopes jones_out{portion.moving_jones, out.steady_jones.data(), job.jones.targets.n_moving, 0};
  for (std::size_t first = portion.row_begin; first < portion.row_end; first += lanes) {
    load_rows(rows, first, lanes, lane_rows);
    jones_out.n_row = std::min(lanes, portion.row_end - first);
    const ChannelCut& cut = choose_adjoint_cut(job, reach_of(rows.scratch.rows, lanes, job.sky.extent));
    for (const Run& run : cut.runs) {
      scale_rows(run, lanes, rows.scratch.rows, rows.scratch.scaled);
      bool folded = false;
      load_adjoints(job, run, first, portion.row_end, own);
      double* sums = own.sums;
      for (std::size_t number = portion.block_begin; number < portion.block_end; ++number) {
        const SourceBlock& sources = job.sky.blocks[number];
        const Block<double> block{&job.sky, sources.begin, sources.end - sources.begin, sources.profile};
        const Reach reach = reach_of(rows.scratch.rows, lanes, sources.extent);
        Method m = choose_method(rows, run, cut, reach, block.profile);
        m.single = m.residual = m.weighted = false;
        const bool plain = !m.smear && !m.taper && job.sky.n_weight_channel == 1;
        if (plain != folded) {
          if (plain)
            fold_adjoints(run, own, unfolded);
          else
            std::copy(unfolded.begin(), unfolded.end(), own.h);
          folded = plain;
        }
        if (m.smear)
          for (std::size_t t = 0; t < run.n_tile; ++t)
            smear_scale(run, t, tile_band(run, 0).third_hz, own.scale.data() + t * kTileChannels);
        pull_block<P, kJones>(job, block, run, m, plain, lane_rows, own, rows.scratch, sums, jones_out,
                              out.weights.data());
        sums += block.count * kSourceSums * lanes;
      }
    }
  }
}

inline void pull_portion(const ReverseSum& job, const AdjointPortion& portion, Workspace<double>& workspace,
                         SourceAdjoints& out) {
  const AdjointTag d;
  const HostSum<double> rows{job.sky, job.channels, job.rows, job.jones, workspace.scratch()};
  AdjointScratch own;
  own.lanes = hn::Lanes(d);
  own.correlations = job.jones.n_pair > 0;
  own.n_component = own.correlations ? 4 : job.sky.planes.size();
  const bool varying = matrices_vary(job.sky, job.jones);
  constexpr std::size_t kRun = kMaxTiles * kTileChannels;
  own.scale.resize(kRun), own.wave.resize(kRun), own.square_hz2.resize(kRun);
  const std::size_t first_source = job.sky.blocks[portion.block_begin].begin;
  const std::size_t n_source = job.sky.blocks[portion.block_end - 1].end - first_source;
  const std::size_t n_sum = n_source * kSourceSums * own.lanes;
  own.memory.allocate([&](ScratchMemory& cut) {
    cut(own.h, varying ? 0 : kRun * own.n_component * 2 * own.lanes);
    cut(own.gathered, static_cast<std::size_t>(job.jones.n_pair) * 16 * own.lanes);
    cut(own.sums, n_sum);
  });
  std::fill_n(own.sums, n_sum, 0.0);
  if (varying)
    pull_varying(job, rows, portion, own, out);
  else if (own.correlations)
    pull_rows<4, true>(job, rows, portion, own, out);
  else
    switch (own.n_component) {
      case 1:
        pull_rows<1>(job, rows, portion, own, out);
        break;
      case 2:
        pull_rows<2>(job, rows, portion, own, out);
        break;
      case 4:
        pull_rows<4>(job, rows, portion, own, out);
        break;
      default:
        pull_rows<8>(job, rows, portion, own, out);
    }
  for (std::size_t s = 0; s < n_source; ++s) {
    const std::size_t source = first_source + s;
    const auto total = [&](std::size_t i) HWY_ATTR {
      return hn::GetLane(hn::SumOfLanes(d, hn::Load(d, own.sums + (s * kSourceSums + i) * own.lanes)));
    };
    if (job.wish.weights && job.sky.n_weight_channel == 1)
      for (std::size_t p = 0; p < job.sky.planes.size(); ++p)
        out.weights[source * job.sky.planes.size() + p] += total(p);
    for (std::size_t i = 0; i < 3 && job.wish.positions; ++i) out.positions[3 * source + i] += total(kPositionSum + i);
    if (!job.wish.shapes || source < job.sky.n_point) continue;
    ShapeAxes<double>& axes = out.axes[source - job.sky.n_point];
    for (std::size_t i = 0; i < 3; ++i) {
      axes.major[i] += total(kShapeSum + i);
      axes.minor[i] += total(kShapeSum + 3 + i);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_ADJOINT_ROWS_INL_H_
