// Products with the same two rows, added to several sums: what a sum over sources is for each element of its matrices.
#include "runtime/math/simd_targets.h"
#include "runtime/program/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/program/shared_products.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::program {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kStep>;
using V = hn::Vec<D>;

/// Some of the sums, from the first on; x and y are read once for all of them.
template <int kSums>
void add_some(const SharedProducts& of, int first, std::size_t n) {
  V a[kSums], b[kSums];
  double* sum[kSums];
  for (int k = 0; k < kSums; ++k) {
    a[k] = hn::Set(D(), of.a[first + k]), b[k] = hn::Set(D(), of.b[first + k]);
    sum[k] = of.sum[first + k];
  }
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) {
    const V x = hn::LoadU(D(), of.x + i), y = hn::LoadU(D(), of.y + i);
#pragma GCC unroll 8
    for (int k = 0; k < kSums; ++k)
      hn::StoreU(hn::Add(hn::LoadU(D(), sum[k] + i), hn::Add(hn::Mul(x, a[k]), hn::Mul(y, b[k]))), D(), sum[k] + i);
  }
}

void add_all(const SharedProducts& of, std::size_t n) {
  int first = 0;
  for (; first + 8 <= of.n_sum; first += 8) add_some<8>(of, first, n);
  for (; first + 4 <= of.n_sum; first += 4) add_some<4>(of, first, n);
  for (; first + 2 <= of.n_sum; first += 2) add_some<2>(of, first, n);
  for (; first < of.n_sum; ++first) add_some<1>(of, first, n);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::program
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::program {

HWY_EXPORT(add_all);

void add_shared_products(const SharedProducts& products, std::size_t n) { HWY_DYNAMIC_DISPATCH(add_all)(products, n); }

}  // namespace rimetree::program
#endif  // HWY_ONCE
