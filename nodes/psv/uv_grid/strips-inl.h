// Sources onto strips of cells. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_STRIPS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_STRIPS_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_STRIPS_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_STRIPS_INL_H_
#endif

#include <algorithm>

#include "nodes/psv/uv_grid/grids.h"
#include "nodes/psv/uv_grid/stencil-inl.h"
#include "runtime/math/phasors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::uv_grid {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace vectors::HWY_NAMESPACE;

/// What sources [first, first + count), kSourcePad at most, weigh on a grid at w, [source][re, im].
inline HWY_NOINLINE void weigh(const PlacedSources& sources, const Complex<double>* weight, double w, std::size_t first,
                               std::size_t count, double* HWY_RESTRICT to) {
  const GridTag d;
  alignas(64) double turns[kSourcePad + 8] = {}, re[kSourcePad + 8], im[kSourcePad + 8];
  for (std::size_t s = 0; s < count; ++s) turns[s] = w * sources.z[first + s];
  for (std::size_t s = 0; s < count; s += hn::Lanes(d)) {
    GridVec x, y, t = hn::Load(d, turns + s);
    phasor_of_turns(hn::Sub(t, hn::Round(t)), x, y);
    hn::Store(x, d, re + s);
    hn::Store(y, d, im + s);
  }
  for (std::size_t s = 0; s < count; ++s) {
    const Complex<double> a = Complex<double>(re[s], im[s]) * weight[first + s];
    to[2 * s] = a.re, to[2 * s + 1] = a.im;
  }
}

inline void spread_sources(const Strip& strip) {
  const GriddingKernel& kernel = strip.kernel;
  const PlacedSources& sources = strip.sources;
  std::fill_n(strip.cells, kStripRows * strip.stride, Complex<double>());
  const auto first_row = static_cast<std::ptrdiff_t>(strip.number * kStripRows);
  Stencil stencil;
  alignas(64) double weight[2 * kSourcePad];
  for (std::size_t first = sources.begin[strip.number]; first < sources.end[strip.number]; first += kSourcePad) {
    const std::size_t count = std::min(kSourcePad, sources.end[strip.number] - first);
    weigh(sources, strip.weight, strip.w, first, count, weight);
    for (std::size_t s = 0; s < count; ++s) {
      const std::ptrdiff_t row = sources.cell[1][first + s] + strip.skipped - first_row;
      const std::ptrdiff_t begin = std::max<std::ptrdiff_t>(0, -row),
                           end = std::min<std::ptrdiff_t>(kernel.width, static_cast<std::ptrdiff_t>(kStripRows) - row);
      if (begin >= end) continue;  // a wider kernel would reach this strip
      stencil.set(kernel, sources.place[1][first + s], sources.place[0][first + s]);
      spread(stencil, static_cast<std::size_t>(kernel.stride), begin, end, {weight[2 * s], weight[2 * s + 1]},
             strip.cells + row * static_cast<std::ptrdiff_t>(strip.stride) + sources.cell[0][first + s] + strip.skipped,
             strip.stride);
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::uv_grid
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_UV_GRID_STRIPS_INL_H_
