// Rows with Jones terms that vary along the channels. What each end of the baselines does to the sources is worked out
// once for all rows of a group, J_n .. J_1 B on the side of p and J_1^H .. J_n^H on that of q; a row is left with one
// product of matrices per source and channel. SIMD runs over channels here, along which both sides are contiguous:
// phasors, made for a vector of rows at a time, are transposed. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_JONES_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_JONES_ROWS_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_JONES_ROWS_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_JONES_ROWS_INL_H_
#endif

#include <algorithm>
#include <numeric>
#include <utility>

#include "hwy/cache_control.h"
#include "nodes/psv/direct/jones_sides.h"
#include "nodes/psv/direct/method-inl.h"
#include "runtime/math/transpose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Channels that are taken together: a regular run, or some runs of one channel.
struct Span {
  const Run* run = nullptr;
  std::size_t first = 0, count = 0;
  bool singles = false;
};

template <class F>
void for_each_span(const ChannelCut& cut, F&& f) {
  const std::vector<Run>& runs = cut.runs;
  for (std::size_t i = 0; i < runs.size();) {
    Span span{&runs[i], runs[i].first, runs[i].count, runs[i].count == 1};
    ++i;
    for (; span.singles && i < runs.size() && runs[i].count == 1 && span.count < kWindowChannels; ++i) ++span.count;
    f(span);
  }
}

/// Rows that share their sides, with the numbers of these.
struct RowGroup {
  std::size_t first = 0, last = 0;  ///< whole vectors of rows
  const ChannelCut* cut = nullptr;
  SideTable sides;
  RowSides row_sides[kJonesRows];
  std::size_t n_vector = 0;
  std::uint16_t order[kJonesRows];  ///< of the vectors: what shares a few sides of q comes together

  /// Blocks of sides that fit into the second-level cache; vectors keep their order within a block.
  void set_order(std::size_t lanes) {
    constexpr std::size_t kBlock = 16;
    n_vector = (last - first) / lanes;
    std::iota(order, order + n_vector, std::uint16_t{0});
    const auto block_of = [&](std::uint16_t i) { return row_sides[i * lanes + lanes / 2].q / kBlock; };
    std::sort(order, order + n_vector, [&](std::uint16_t a, std::uint16_t b) {
      return std::make_pair(block_of(a), a) < std::make_pair(block_of(b), b);
    });
  }
};

/// Elements of a view at a vector of channels from `channel` on; those from `limit` on repeat the last.
template <class D>
HWY_INLINE void load_channels(D d, const Strided<Complex<double>>& view, std::ptrdiff_t source, std::ptrdiff_t time,
                              std::size_t channel, std::size_t limit, hn::Vec<D>& re, hn::Vec<D>& im) {
  const std::size_t lanes = hn::Lanes(d);
  if (!view) {
    re = im = hn::Zero(d);
  } else if (view.channel == 0) {
    const Complex<double> z = view.at(source, time, 0);
    re = hn::Set(d, z.re), im = hn::Set(d, z.im);
  } else if (view.channel == 1 && channel + lanes <= limit) {
    hn::LoadInterleaved2(d, &view.at(source, time, std::ptrdiff_t(channel)).re, re, im);
  } else {
    alignas(128) double part[2][kMaxLanes];
    for (std::size_t i = 0; i < lanes; ++i) {
      const Complex<double> z = view.at(source, time, std::ptrdiff_t(std::min(channel + i, limit - 1)));
      part[0][i] = z.re, part[1][i] = z.im;
    }
    re = hn::Load(d, part[0]), im = hn::Load(d, part[1]);
  }
}

/// The brightness of a packed source, as load_channels().
template <class D, class T>
HWY_INLINE Matrix<hn::Vec<D>> load_brightness(D d, const Sky<T>& sky, std::size_t source, std::size_t channel,
                                              std::size_t limit) {
  // Four elements of re and im per channel, of which a view takes one.
  const auto* first = reinterpret_cast<const Complex<double>*>(&sky.brightness[source * sky.n_weight_channel * 8]);
  Matrix<hn::Vec<D>> b;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    load_channels(d, {first + i, 0, 0, sky.n_weight_channel > 1 ? 4 : 0}, 0, 0, channel, limit, b.re[i], b.im[i]);
  return b;
}

/// One term of a side, J_p or J_q^H, a scalar as its multiple of the unit matrix.
template <class D>
HWY_INLINE Matrix<hn::Vec<D>> load_term(D d, const JonesSide& side, int pair, std::ptrdiff_t source,
                                        std::size_t channel, std::size_t limit) {
  Matrix<hn::Vec<D>> a;
  const auto load = [&](int i) HWY_ATTR {
    load_channels(d, side.views(pair)[i], source, side.time, channel, limit, a.re[i], a.im[i]);
  };
  load(0);
  if (side.is_matrix(pair)) {
    load(1), load(2), load(3);
  } else {
    a.re[3] = a.re[0], a.im[3] = a.im[0];
    a.re[1] = a.im[1] = a.re[2] = a.im[2] = hn::Zero(d);
  }
  return side.is_conjugated(pair) ? conjugates(a) : a;
}

/// All terms of a side, or the first `n_pair`, for a vector of channels, with the brightness if it is p's. `finite`:
/// see finite_part().
template <class D, class T>
HWY_INLINE Matrix<hn::Vec<D>> chain(D d, const Sky<T>& sky, int n_pair, const JonesSide& side, std::size_t source,
                                    std::size_t channel, std::size_t limit, bool finite) {
  using M = Matrix<hn::Vec<D>>;
  const auto order = static_cast<std::ptrdiff_t>(sky.order[source]);
  const auto term = [&](int pair) HWY_ATTR {
    const M a = load_term(d, side, pair, order, channel, limit);
    return finite ? finite_part(a) : a;
  };
  const auto brightness = [&]() HWY_ATTR {
    const M b = load_brightness(d, sky, source, channel, limit);
    return finite ? finite_part(b) : b;
  };
  M y = side.is_q ? term(0) : brightness();
  for (int k = side.is_q ? 1 : 0; k < n_pair; ++k) y = side.is_q ? product(y, term(k)) : product(term(k), y);
  return y;
}

/// Chains of all sides of a group: [side][vector of channels][source][element][re, im][channel].
template <class T>
HWY_NOINLINE void fill_sides(const HostSum<T>& job, const RowGroup& group, const Block<T>& block, const Span& span,
                             bool finite = false) {
  const hn::ScalableTag<double> d;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_channel = windows_of(span.count) * kWindowChannels;
  const std::size_t limit = span.first + span.count;
  T* to = job.scratch.sides;
  for (std::size_t i = 0; i < group.sides.size(); ++i, to += kJonesSources<T> * 8 * n_channel)
    for (std::size_t s = 0; s < block.count; ++s)
      for (std::size_t k = 0; k < n_channel; k += hn::Lanes(d)) {
        const auto x =
            chain(d, job.sky, job.jones.n_pair, group.sides[i], block.begin + s, span.first + k, limit, finite);
        T* at = to + (k / lanes * kJonesSources<T> + s) * 8 * lanes + k % lanes;
#pragma GCC unroll 4
        for (std::size_t e = 0; e < 4; ++e) {
          store_as(d, x.re[e], at + 2 * e * lanes);
          store_as(d, x.im[e], at + (2 * e + 1) * lanes);
        }
      }
}

/// Adds to a row the visibilities of `count` sources at the first channels of one window, `n_channel` at least. `p` and
/// `q`: as fill_sides() makes them; `phasor`: [source][re, im][channel of the window]; `sum`: [vector of the
/// window][element][re, im][channel].
template <class T>
HWY_NOINLINE void add_row(const T* HWY_RESTRICT p, const T* HWY_RESTRICT q, const T* HWY_RESTRICT phasor,
                          std::size_t count, std::size_t n_channel, double* HWY_RESTRICT sum) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t first = 0; first < n_channel; first += lanes) {
    V re[4], im[4];
    for (int e = 0; e < 4; ++e) re[e] = im[e] = hn::Zero(d);
    for (std::size_t s = 0; s < count; ++s) {
      const T *at_p = p + (first * kJonesSources<T> + s * lanes) * 8,
              *at_q = q + (first * kJonesSources<T> + s * lanes) * 8;
      const V zr = hn::Load(d, phasor + 2 * s * kWindowChannels + first);
      const V zi = hn::Load(d, phasor + (2 * s + 1) * kWindowChannels + first);
#pragma GCC unroll 2
      for (int i = 0; i < 2; ++i)
#pragma GCC unroll 2
        for (int k = 0; k < 2; ++k) {
          V ar = hn::Load(d, at_p + (4 * i + 2 * k) * lanes), ai = hn::Load(d, at_p + (4 * i + 2 * k + 1) * lanes);
          multiply(ar, ai, zr, zi);
#pragma GCC unroll 2
          for (int j = 0; j < 2; ++j) {
            const V br = hn::Load(d, at_q + (4 * k + 2 * j) * lanes),
                    bi = hn::Load(d, at_q + (4 * k + 2 * j + 1) * lanes);
            V &to_re = re[2 * i + j], &to_im = im[2 * i + j];
            to_re = hn::MulAdd(ar, br, to_re);
            to_im = hn::MulAdd(ar, bi, to_im);
            to_re = hn::NegMulAdd(ai, bi, to_re);
            to_im = hn::MulAdd(ai, br, to_im);
          }
        }
    }
    for (int e = 0; e < 4; ++e) {
      flush(d, re[e], 1.0, sum + first * 8 + 2 * e * lanes);
      flush(d, im[e], 1.0, sum + first * 8 + (2 * e + 1) * lanes);
    }
  }
}

/// From [source][channel of the tile][re, im][row] to [row][source][re, im][channel of the window], times `scale`.
template <class T>
HWY_NOINLINE void turn_phasors(const T* HWY_RESTRICT phasor, std::size_t count, const double* scale,
                               T* HWY_RESTRICT turned) {
  const hn::CappedTag<T, kTileChannels> d;
  using V = hn::Vec<decltype(d)>;
  constexpr std::size_t N = hn::MaxLanes(d);
  const std::size_t rows = hn::Lanes(hn::ScalableTag<T>());
  V by[kTileChannels / N];
  for (std::size_t k = 0; k < kTileChannels; ++k) turned[k] = static_cast<T>(scale[k]);
  for (std::size_t k = 0; k < kTileChannels; k += N) by[k / N] = hn::Load(d, turned + k);
  for (std::size_t s = 0; s < count; ++s, phasor += 2 * kTileChannels * rows)
    for (std::size_t c = 0; c < 2; ++c)
      for (std::size_t k = 0; k < kTileChannels; k += N)
        for (std::size_t row = 0; row < rows; row += N) {
          V a[N];
#pragma GCC unroll 8
          for (std::size_t i = 0; i < N; ++i) a[i] = hn::Load(d, phasor + (2 * (k + i) + c) * rows + row);
          transpose(d, a);
#pragma GCC unroll 8
          for (std::size_t i = 0; i < N; ++i)
            hn::Store(hn::Mul(a[i], by[k / N]), d,
                      turned + (((row + i) * kJonesSources<T> + s) * 2 + c) * kWindowChannels + k);
        }
}

/// Makes the phasors of the tiles of a span one after the other, for a block of sources and the rows that are loaded.
template <class T>
class SpanPhasors {
 public:
  SpanPhasors(const HostSum<T>& job, const ChannelCut& cut, const Block<T>& block, const Reach& reach, const Span& span)
      : job_(job), cut_(cut), block_(block), reach_(reach), span_(span) {
    if (!span.singles) seed(*span.run);
  }

  /// To scratch.phasor; scale: what remains to be done to them, per channel.
  void make_tile(std::size_t number, double (&scale)[kTileChannels]) {
    if (span_.singles) return make_singles(number, scale);
    TileArrays<T> t = block_arrays<T, true>(job_, block_);
    place_tile_arrays(job_, *span_.run, cut_, method_, number, t, scale);
    if (method_.taper && t.stored_tapers) store_tapers(method_.shape, *span_.run, number, block_.count, job_.scratch);
    choose_shaped_tile<false, Weights::kOne>(t, method_);
  }

  /// Of a regular run.
  const Method& method() const { return method_; }

 private:
  void seed(const Run& run) {
    scale_rows(run, hn::Lanes(hn::ScalableTag<T>()), job_.scratch.rows, job_.scratch.scaled);
    method_ = choose_method(job_, run, cut_, reach_, block_.profile);
    seed_block(block_, run, method_, job_.scratch);
  }

  void make_singles(std::size_t number, double (&scale)[kTileChannels]) {
    const std::size_t vector = 2 * hn::Lanes(hn::ScalableTag<T>());
    for (std::size_t k = 0; k < kTileChannels; ++k) {
      // Places beyond the last channel repeat it.
      if (number * kTileChannels + k < span_.count) seed(span_.run[number * kTileChannels + k]);
      for (std::size_t s = 0; s < block_.count; ++s)
        std::copy_n(job_.scratch.middle + s * vector, vector, job_.scratch.phasor + (s * kTileChannels + k) * vector);
      scale[k] = 1.0;
    }
  }

  const HostSum<T>& job_;
  const ChannelCut& cut_;
  const Block<T>& block_;
  const Reach reach_;  // a copy: callers give a temporary
  const Span& span_;
  Method method_;
};

/// Adds a block of sources to the sums of a vector of rows, the sides being filled.
template <class T>
void add_block(const HostSum<T>& job, const RowGroup& group, const Block<T>& block, const Extent& extent,
               const Span& span, std::size_t vector) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_window = windows_of(span.count);
  constexpr std::size_t kTiles = kWindowChannels / kTileChannels;
  const Scratch<T>& to = job.scratch;
  LaneRows lane_rows;
  load_rows(job, vector, lanes, lane_rows);
  SpanPhasors<T> phasors(job, *group.cut, block, reach_of(to.rows, lanes, extent), span);
  const std::size_t n_row = std::min(lanes, job.rows.n_row - vector);
  for (std::size_t window = 0; window < n_window; ++window) {
    for (std::size_t tile = 0; tile < kTiles; ++tile) {
      if ((window * kTiles + tile) * kTileChannels >= span.count) break;
      double scale[kTileChannels];
      phasors.make_tile(window * kTiles + tile, scale);
      turn_phasors(to.phasor, block.count, scale, to.turned + tile * kTileChannels);
    }
    const std::size_t n_channel = std::min(kWindowChannels, span.count - window * kWindowChannels);
    const auto sum_of = [&](std::size_t i) {
      return to.jones_sum + ((vector - group.first + i) * n_window + window) * 8 * kWindowChannels;
    };
    for (std::size_t i = 0; i < n_row; ++i) {
      // The sums of all rows of a group do not stay nearby; the next row's are asked for while this one is computed.
      const double* next = sum_of(i + 1 < n_row ? i + 1 : 0) + (i + 1 < n_row ? 0 : 8 * kWindowChannels);
      for (std::size_t k = 0; k < 8 * n_channel; k += 8) hwy::Prefetch(next + k);
      const RowSides& sides = group.row_sides[vector - group.first + i];
      const std::size_t size = kJonesSources<T> * 8 * kWindowChannels;
      add_row(to.sides + (sides.p * n_window + window) * size, to.sides + (sides.q * n_window + window) * size,
              to.turned + i * kJonesSources<T> * 2 * kWindowChannels, block.count, n_channel, sum_of(i));
    }
  }
}

/// Writes the sums of a span to the rows [begin, end) of the group.
template <class T>
void store_span(const HostSum<T>& job, const RowGroup& group, const Span& span, std::size_t begin, std::size_t end,
                const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>()), n_window = windows_of(span.count);
  for (std::size_t row = std::max(group.first, begin); row < std::min(group.last, end); ++row) {
    const double* sum = job.scratch.jones_sum + (row - group.first) * n_window * 8 * kWindowChannels;
    for (std::size_t k = 0; k < span.count; ++k) {
      const double* e = sum + k / lanes * 8 * lanes + k % lanes;
      Complex<double>* to = out.row[row] + span.first + k;
      for (int i = 0; i < 4; ++i) to[i * out.plane_stride] = {e[2 * i * lanes], e[(2 * i + 1) * lanes]};
    }
  }
}

template <class T>
void evaluate_span(const HostSum<T>& job, const RowGroup& group, const Span& span, std::size_t begin, std::size_t end,
                   const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  std::fill_n(job.scratch.jones_sum, (group.last - group.first) * windows_of(span.count) * 8 * kWindowChannels, 0.0);
  for (const SourceBlock& sources : job.sky.blocks) {
    for (std::size_t s = sources.begin; s < sources.end; s += kJonesSources<T>) {
      const Block<T> block{&job.sky, s, std::min(kJonesSources<T>, sources.end - s), sources.profile};
      fill_sides(job, group, block, span);
      for (std::size_t i = 0; i < group.n_vector; ++i)
        add_block(job, group, block, sources.extent, span, group.first + group.order[i] * lanes);
    }
  }
  store_span(job, group, span, begin, end, out);
}

/// As many vectors of rows from `first` on as take the same runs of channels and have places for their sides.
template <class T>
void collect_group(const HostSum<T>& job, std::size_t first, std::size_t end, RowGroup& group) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  group.first = group.last = first;
  group.sides.clear();
  while (group.last < end && group.last + lanes - first <= kJonesRows && group.sides.has_room_for(2 * lanes)) {
    LaneRows lane_rows;
    load_rows(job, group.last, lanes, lane_rows);
    const ChannelCut& cut = choose_cut(job, reach_of(job.scratch.rows, lanes, job.sky.extent));
    if (group.last > first && &cut != group.cut) return;
    group.cut = &cut;
    for (std::size_t i = 0; i < lanes; ++i) {
      const JonesPair<double>* pairs = job.jones.pairs + std::ptrdiff_t{lane_rows.baseline[i]} * job.jones.n_pair;
      RowSides& sides = group.row_sides[group.last - first + i];
      sides.p = group.sides.add(job.jones, pairs, false, lane_rows.time[i]);
      sides.q = group.sides.add(job.jones, pairs, true, lane_rows.time[i]);
    }
    group.last += lanes;
  }
}

/// Rows [begin, end). As in evaluate_range(), a row always has the same neighbours where that matters.
template <class T>
void evaluate_varying(const HostSum<T>& job, std::size_t begin, std::size_t end, const Output& out) {
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  // Half of a window that a run does not reach is computed in vectors of whole windows, and not used.
  std::fill_n(job.scratch.turned, kMaxLanes * kJonesSources<T> * 2 * kWindowChannels, T(0));
  RowGroup group;
  for (std::size_t first = begin / lanes * lanes; first < end; first = group.last) {
    collect_group(job, first, end, group);
    group.set_order(lanes);
    for_each_span(*group.cut, [&](const Span& span) { evaluate_span(job, group, span, begin, end, out); });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_JONES_ROWS_INL_H_
