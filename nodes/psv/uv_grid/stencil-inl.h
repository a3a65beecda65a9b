// What a grid has at a place, and what a place adds to it: products of a kernel's values on both axes. Included once
// per instruction set.
#if defined(RIMETREE_NODES_PSV_UV_GRID_STENCIL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_UV_GRID_STENCIL_INL_H_
#undef RIMETREE_NODES_PSV_UV_GRID_STENCIL_INL_H_
#else
#define RIMETREE_NODES_PSV_UV_GRID_STENCIL_INL_H_
#endif

#include "nodes/psv/fourier/gridding-inl.h"
#include "runtime/math/complex.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::uv_grid {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace fourier::HWY_NAMESPACE;

/// A kernel's values on the cells around a place, each twice (kernel_values()).
struct Stencil {
  alignas(64) double across[2 * kMaxKernelWidth];  ///< of the axis whose cells are rows
  alignas(64) double along[2 * kMaxKernelWidth];   ///< of cells side by side

  HWY_INLINE void set(const GriddingKernel& kernel, double place_across, double place_along) {
    kernel_values(kernel, place_across, across);
    kernel_values(kernel, place_along, along);
  }
};

/// Calls f with the number of values of a kernel that are kept together, known when this is compiled.
template <class F>
HWY_INLINE void with_stride(const GriddingKernel& kernel, const F& f) {
  switch (kernel.stride) {
    case 8:
      return f(std::integral_constant<std::size_t, 8>());
    case 16:
      return f(std::integral_constant<std::size_t, 16>());
    case 24:
      return f(std::integral_constant<std::size_t, 24>());
    default:
      return f(std::integral_constant<std::size_t, 2 * kMaxKernelWidth>());
  }
}

/// The value of a grid whose rows are so long, from the first cell that a kernel of this width covers.
template <std::size_t kStride>
HWY_INLINE Complex<double> interpolate(const Stencil& stencil, std::size_t width, const Complex<double>* grid,
                                       std::size_t row_length) {
  const GridTag d;
  constexpr std::size_t kVectors = kStride / hn::MaxLanes(d);
  const auto* HWY_RESTRICT from = reinterpret_cast<const double*>(grid);
  GridVec along[kVectors];
  for (GridVec& sum : along) sum = hn::Zero(d);
  for (std::size_t i = 0; i < width; ++i, from += 2 * row_length) {
    const GridVec psi = hn::Set(d, stencil.across[2 * i]);
    for (std::size_t k = 0; k < kVectors; ++k)
      along[k] = hn::MulAdd(psi, hn::LoadU(d, from + k * hn::MaxLanes(d)), along[k]);
  }
  // Where a vector is one number, real and imaginary parts take turns.
  GridVec sum[2] = {hn::Zero(d), hn::Zero(d)};
  for (std::size_t k = 0; k < kVectors; ++k) {
    GridVec& to = sum[hn::MaxLanes(d) > 1 ? 0 : k % 2];
    to = hn::MulAdd(along[k], hn::Load(d, stencil.along + k * hn::MaxLanes(d)), to);
  }
  alignas(64) double parts[8] = {};
  hn::Store(sum[0], d, parts);
  if (hn::MaxLanes(d) == 1) parts[1] = hn::GetLane(sum[1]);
  return {(parts[0] + parts[2]) + (parts[4] + parts[6]), (parts[1] + parts[3]) + (parts[5] + parts[7])};
}

/// The transpose: adds a value to rows [begin, end) of those that the kernel covers; `grid`: as above.
HWY_INLINE void spread(const Stencil& stencil, std::size_t stride, std::ptrdiff_t begin, std::ptrdiff_t end,
                       Complex<double> value, Complex<double>* grid, std::size_t row_length) {
  const GridTag d;
  const GridVec both = hn::OddEven(hn::Set(d, value.im), hn::Set(d, value.re));
  for (std::size_t v = 0; v < stride; v += hn::Lanes(d)) {
    // Where a vector is one number, even and odd ones take turns.
    const GridVec each = hn::Lanes(d) > 1 ? both : hn::Set(d, v % 2 == 0 ? value.re : value.im);
    const GridVec product = hn::Mul(each, hn::Load(d, stencil.along + v));
    double* to = reinterpret_cast<double*>(grid + begin * static_cast<std::ptrdiff_t>(row_length)) + v;
    for (std::ptrdiff_t i = begin; i < end; ++i, to += 2 * row_length)
      hn::StoreU(hn::MulAdd(product, hn::Set(d, stencil.across[2 * i]), hn::LoadU(d, to)), d, to);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::uv_grid
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_UV_GRID_STENCIL_INL_H_
