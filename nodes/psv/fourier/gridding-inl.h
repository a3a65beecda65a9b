// Values of the kernel in vectors. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_FOURIER_GRIDDING_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_FOURIER_GRIDDING_INL_H_
#undef RIMETREE_NODES_PSV_FOURIER_GRIDDING_INL_H_
#else
#define RIMETREE_NODES_PSV_FOURIER_GRIDDING_INL_H_
#endif

#include "hwy/highway.h"
#include "nodes/psv/fourier/gridding.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::fourier {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using GridTag = hn::CappedTag<double, 8>;
using GridVec = hn::Vec<GridTag>;

/// Some vectors of the kernel's values, side by side, as each by itself is a long chain.
template <std::size_t kVectors>
HWY_INLINE void some_kernel_values(const GriddingKernel& kernel, GridVec t, std::size_t first,
                                   double* HWY_RESTRICT to) {
  const GridTag d;
  const auto stride = static_cast<std::size_t>(kernel.stride);
  const double* c = kernel.coefficient.data() + first + static_cast<std::size_t>(kernel.degree) * stride;
  GridVec y[kVectors];
  for (std::size_t k = 0; k < kVectors; ++k) y[k] = hn::LoadU(d, c + k * hn::Lanes(d));
  for (int p = kernel.degree; p > 0; --p) {
    c -= stride;
    for (std::size_t k = 0; k < kVectors; ++k) y[k] = hn::MulAdd(y[k], t, hn::LoadU(d, c + k * hn::Lanes(d)));
  }
  for (std::size_t k = 0; k < kVectors; ++k) hn::Store(y[k], d, to + first + k * hn::Lanes(d));
}

/// The kernel on the cells around a place, each value twice.
HWY_INLINE void kernel_values(const GriddingKernel& kernel, double place, double* HWY_RESTRICT to) {
  const GridTag d;
  const GridVec t = hn::Set(d, place);
  const auto stride = static_cast<std::size_t>(kernel.stride);
  std::size_t v = 0;
  for (; v + 4 * hn::Lanes(d) <= stride; v += 4 * hn::Lanes(d)) some_kernel_values<4>(kernel, t, v, to);
  for (; v + 2 * hn::Lanes(d) <= stride; v += 2 * hn::Lanes(d)) some_kernel_values<2>(kernel, t, v, to);
  for (; v < stride; v += hn::Lanes(d)) some_kernel_values<1>(kernel, t, v, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::fourier
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_FOURIER_GRIDDING_INL_H_
