// First half of a row by the delay method: its sources, moved to the grids of delays. Included once per instruction
// set.
#if defined(RIMETREE_NODES_PSV_DELAY_SPREAD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DELAY_SPREAD_INL_H_
#undef RIMETREE_NODES_PSV_DELAY_SPREAD_INL_H_
#else
#define RIMETREE_NODES_PSV_DELAY_SPREAD_INL_H_
#endif

#include <algorithm>

#include "nodes/psv/delay/delay.h"
#include "nodes/psv/fourier/gridding-inl.h"
#include "nodes/psv/profiles-inl.h"
#include "nodes/psv/turns-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::delay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace psv::HWY_NAMESPACE;
using namespace fourier::HWY_NAMESPACE;

using DelayTag = GridTag;
using DelayVec = hn::Vec<DelayTag>;

/// A number as the nearest whole number and the rest.
struct Split {
  DelayVec whole, rest;
};

/// path * k without rounding errors that matter, however large it is.
HWY_INLINE Split split_product(const Pair<DelayVec>& path, const DoubleDouble<double>& k) {
  const DelayTag d;
  const Pair<DelayVec> t = exact_product(path.high, hn::Set(d, k.hi));
  const DelayVec low = hn::MulAdd(path.high, hn::Set(d, k.lo), hn::MulAdd(path.low, hn::Set(d, k.hi), t.low));
  const DelayVec whole = hn::Round(t.high);
  return {whole, hn::Add(hn::Sub(t.high, whole), low)};
}

/// sin(pi h)/(pi h). The caller promises |pi h| <= 1 where `small`: the first term left out, x^18/19!, is 1e-17.
HWY_INLINE DelayVec sinc_of_half_turns(DelayVec h, bool small) {
  const DelayVec x = hn::Mul(h, hn::Set(DelayTag(), kPi));
  return small ? series<9>(kSincTaylor, hn::Mul(x, x)) : sinc_of<0>(h, kPi);
}

/// 1 / transform of the kernel at the delay of a source, in turns per step of the sampling.
HWY_INLINE DelayVec inverse_transform(const GriddingKernel& kernel, DelayVec kappa) {
  const DelayTag d;
  constexpr double kScale = 2 / (kLargestKappa * kLargestKappa);
  const DelayVec t = hn::MulSub(hn::Mul(kappa, kappa), hn::Set(d, kScale), hn::Set(d, 1.0));
  DelayVec y = hn::Set(d, kernel.inverse.back());
  for (std::size_t p = kernel.inverse.size() - 1; p-- > 0;) y = hn::MulAdd(y, t, hn::Set(d, kernel.inverse[p]));
  return y;
}

/// First cell, place in it and amplitude of the sources `first` .. of a block at one node of the exposure.
inline HWY_NOINLINE void place_sources(const GriddedRow& job, std::size_t first, std::size_t count, double node,
                                       double rule_weight) {
  const DelayTag d;
  const SeriesSky& sky = job.plan.sky;
  const GriddingKernel& kernel = *job.plan.kernel;
  const Sampling& sampling = job.sampling;
  const double n_cell = double(sampling.transform->length());
  const double highest = n_cell + 2 * double(kGridPad) - 0.5 * kernel.stride;
  const DelayVec to_first = hn::Set(d, 0.5 * n_cell + double(kGridPad) - 0.5 * kernel.width);
  for (std::size_t s = 0; s < count; s += hn::Lanes(d)) {
    const auto load = [&](const std::vector<double>& values)
                          HWY_ATTR { return hn::LoadU(d, values.data() + first + s); };
    const DelayVec l = load(sky.l), m = load(sky.m), n = load(sky.n_high);
    Pair<DelayVec> path = exact_path(hn::Set(d, job.u), hn::Set(d, job.v), hn::Set(d, job.w), l, m, n, load(sky.n_low));
    DelayVec scale = hn::Set(d, rule_weight);
    if (job.width_per_metre != 0)
      scale = hn::Mul(scale, sinc_of_half_turns(hn::Mul(path.high, hn::Set(d, job.width_per_metre)), job.small_width));
    if (node != 0) {
      const DelayVec change =
          hn::MulAdd(hn::Set(d, job.du), l, hn::MulAdd(hn::Set(d, job.dv), m, hn::Mul(hn::Set(d, job.dw), n)));
      const Pair<DelayVec> moved = exact_sum(path.high, hn::Mul(change, hn::Set(d, 0.5 * node)));
      path = {moved.high, hn::Add(moved.low, path.low)};
    }
    Split at = split_product(path, sampling.cells_per_metre);
    if (sampling.step == 1) {
      // Whole turns per channel make no difference.
      const DelayVec turns = hn::Round(hn::Mul(at.whole, hn::Set(d, 1 / n_cell)));
      at.whole = hn::NegMulAdd(turns, hn::Set(d, n_cell), at.whole);
    } else {
      const DelayVec kappa = hn::Mul(hn::Add(at.whole, at.rest), hn::Set(d, 1 / n_cell));
      scale = hn::Mul(scale, inverse_transform(kernel, kappa));
    }
    const DelayVec up = hn::Ceil(at.rest);
    const DelayVec cell = hn::Add(hn::Add(at.whole, up), to_first);
    // Directions that are not finite must not be written anywhere; their amplitude carries the news.
    const auto inside = hn::And(hn::Ge(cell, hn::Zero(d)), hn::Le(cell, hn::Set(d, highest)));
    hn::Store(hn::IfThenElseZero(inside, cell), d, job.arrays.cell + s);
    hn::Store(hn::MulSub(hn::Sub(up, at.rest), hn::Set(d, 2.0), hn::Set(d, 1.0)), d, job.arrays.place + s);
    DelayVec re, im;
    phasor_of_turns(split_product(path, sampling.k0).rest, re, im);
    hn::Store(hn::Mul(re, scale), d, job.arrays.re + s);
    hn::Store(hn::Mul(im, scale), d, job.arrays.im + s);
  }
}

/// Adds one source to the grids [plane][term < n_term] among those of the row. Weights are [plane][term].
HWY_INLINE void spread_source(const GriddedRow& job, std::size_t s, const Complex<double>* weight, std::size_t n_term) {
  const DelayTag d;
  const GriddingKernel& kernel = *job.plan.kernel;
  alignas(64) double psi[2 * kMaxKernelWidth];
  kernel_values(kernel, job.arrays.place[s], psi);
  const double re = job.arrays.re[s], im = job.arrays.im[s];
  Complex<double>* cells = job.arrays.grid + static_cast<std::ptrdiff_t>(job.arrays.cell[s]);
  for (std::size_t p = 0; p < job.plan.sky.planes.size(); ++p)
    for (std::size_t j = 0; j < n_term; ++j) {
      const Complex<double> w = weight[p * n_term + j];
      const DelayVec even = hn::Set(d, re * w.re - im * w.im), odd = hn::Set(d, re * w.im + im * w.re);
      const DelayVec both = hn::OddEven(odd, even);
      auto* to = reinterpret_cast<double*>(cells + (p * job.n_term + j) * job.arrays.grid_stride);
      for (int v = 0; v < kernel.stride; v += static_cast<int>(hn::Lanes(d)))
        // Where a vector is one number, even and odd ones take turns.
        hn::StoreU(hn::MulAdd(hn::Lanes(d) > 1 ? both
                              : v % 2 == 0     ? even
                                               : odd,
                              hn::Load(d, psi + v), hn::LoadU(d, to + v)),
                   d, to + v);
    }
}

/// Weights of extended sources [first, first + count): their spectra times the series of their tapers on this row.
inline HWY_NOINLINE void weigh_extended(const GriddedRow& job, Profile profile, std::size_t first, std::size_t count) {
  const DelayTag d;
  const SeriesSky& sky = job.plan.sky;
  const auto n_taper = static_cast<std::size_t>(job.how.n_taper_term);
  const std::vector<double>& matrix = chebyshev_matrix(job.how.n_taper_term);
  const double scale = argument_scale(profile);
  for (std::size_t s = 0; s < count; ++s) {
    const std::size_t shape = first + s - sky.n_point;
    const double along = sky.axes[shape].along(job.u, job.v, job.w);
    const double across = sky.axes[shape].across(job.u, job.v, job.w);
    const double argument = scale * (along * along + across * across);
    alignas(64) double value[kMaxTerms + 8], taper[kMaxTerms];
    for (std::size_t i = 0; i < n_taper; i += hn::Lanes(d))
      hn::Store(tapers_of(profile, hn::Mul(hn::Load(d, job.square_hz + i), hn::Set(d, argument))), d, value + i);
    for (std::size_t j = 0; j < n_taper; ++j) {
      taper[j] = 0;
      for (std::size_t i = 0; i < n_taper; ++i) taper[j] += matrix[j * n_taper + i] * value[i];
    }
    const std::size_t n_plane = sky.planes.size();
    const Complex<double>* from = sky.weight.data() + (first + s) * n_plane * sky.n_term;
    Complex<double>* to = job.arrays.weight + s * n_plane * job.n_term;
    std::fill(to, to + n_plane * job.n_term, Complex<double>());
    for (std::size_t p = 0; p < n_plane; ++p)
      for (std::size_t i = 0; i < sky.n_term; ++i)
        for (std::size_t j = 0; j < n_taper; ++j) {
          // T_i T_j = (T_(i+j) + T_|i-j|) / 2.
          const Complex<double> half = (0.5 * taper[j]) * from[p * sky.n_term + i];
          to[p * job.n_term + i + j] = to[p * job.n_term + i + j] + half;
          const std::size_t low = i > j ? i - j : j - i;
          to[p * job.n_term + low] = to[p * job.n_term + low] + half;
        }
  }
}

/// All sources of a row onto its grids, which are cleared first.
inline void spread_row(const GriddedRow& job) {
  const SeriesSky& sky = job.plan.sky;
  const std::size_t n_plane = sky.planes.size(), used = job.sampling.transform->length() + 2 * kGridPad;
  for (std::size_t g = 0; g < n_plane * job.n_term; ++g)
    std::fill_n(job.arrays.grid + g * job.arrays.grid_stride, used, Complex<double>());
  const ExposureRule& rule = exposure_rule(job.how.n_node);
  for (const AlikeSources& sources : sky.alike)
    for (std::size_t first = sources.begin; first < sources.end; first += kDelayBlock) {
      const std::size_t count = std::min(kDelayBlock, sources.end - first);
      const bool extended = sources.profile != kPoint;
      const std::size_t n_term = extended ? job.n_term : sky.n_term;
      if (extended) weigh_extended(job, sources.profile, first, count);
      const Complex<double>* weight = extended ? job.arrays.weight : sky.weight.data() + first * n_plane * n_term;
      for (int node = 0; node < job.how.n_node; ++node) {
        place_sources(job, first, count, rule.node[node], rule.weight[node]);
        for (std::size_t s = 0; s < count; ++s) spread_source(job, s, weight + s * n_plane * n_term, n_term);
      }
    }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::delay
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DELAY_SPREAD_INL_H_
