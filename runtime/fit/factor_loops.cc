#include "runtime/fit/factor_loops.h"

#include <algorithm>

#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/fit/factor_loops.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::fit {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Lanes = hn::CappedTag<double, kFactorLanes>;
using LaneVector = hn::Vec<Lanes>;

struct ComplexLanes {
  LaneVector re, im;
};

HWY_INLINE ComplexLanes zero() { return {hn::Zero(Lanes()), hn::Zero(Lanes())}; }
HWY_INLINE ComplexLanes load(const double* plane, std::size_t stride) {
  return {hn::LoadU(Lanes(), plane), hn::LoadU(Lanes(), plane + stride)};
}
HWY_INLINE void store(ComplexLanes value, double* plane, std::size_t stride) {
  hn::StoreU(value.re, Lanes(), plane);
  hn::StoreU(value.im, Lanes(), plane + stride);
}
HWY_INLINE ComplexLanes sum(ComplexLanes a, ComplexLanes b) { return {hn::Add(a.re, b.re), hn::Add(a.im, b.im)}; }
/// a b + c
HWY_INLINE ComplexLanes multiply_add(ComplexLanes a, ComplexLanes b, ComplexLanes c) {
  return {hn::NegMulAdd(a.im, b.im, hn::MulAdd(a.re, b.re, c.re)),
          hn::MulAdd(a.im, b.re, hn::MulAdd(a.re, b.im, c.im))};
}
/// conj(a) b
HWY_INLINE ComplexLanes conj_product(ComplexLanes a, ComplexLanes b) {
  return {hn::MulAdd(a.im, b.im, hn::Mul(a.re, b.re)), hn::NegMulAdd(a.im, b.re, hn::Mul(a.re, b.im))};
}
/// Adds a value times a number to a plane.
HWY_INLINE void add_times(double factor, ComplexLanes value, double* plane, std::size_t stride) {
  const LaneVector of = hn::Set(Lanes(), factor);
  const ComplexLanes before = load(plane, stride);
  store({hn::MulAdd(of, value.re, before.re), hn::MulAdd(of, value.im, before.im)}, plane, stride);
}

double add_up(const BinSums& sums, const double* seen, double* model) {
  const std::size_t n = sums.n_direction, stride = sums.stride, plane = sums.plane();
  LaneVector total = hn::Zero(Lanes());
  for (std::size_t b = 0; b < stride; b += hn::Lanes(Lanes()))
    for (std::size_t k = 0; k < n; ++k) {
      ComplexLanes own = zero();
      for (std::size_t l = 0; l < n; ++l) {
        ComplexLanes power = load(sums.power + in_triangle(std::min(k, l), std::max(k, l), n) * plane + b, stride);
        if (l < k) power.im = hn::Neg(power.im);
        own = multiply_add(power, load(seen + l * plane + b, stride), own);
      }
      store(own, model + k * plane + b, stride);
      const ComplexLanes product = load(sums.product + k * plane + b, stride);
      const ComplexLanes left{hn::Sub(own.re, hn::Add(product.re, product.re)),
                              hn::Sub(own.im, hn::Add(product.im, product.im))};
      total = hn::Add(total, conj_product(load(seen + k * plane + b, stride), left).re);
    }
  return hn::GetLane(hn::SumOfLanes(Lanes(), total));
}

void add_normal(const BinSums& sums, const double* seen, const double* model, const NormalSums& to) {
  const std::size_t n_direction = sums.n_direction, stride = sums.stride, plane = sums.plane(), n = to.n(sums);
  const std::size_t triangle = n * (n + 1) / 2;
  for (std::size_t b = 0; b < stride; b += hn::Lanes(Lanes())) {
    const auto slope = [&](std::size_t k, ComplexLanes value) {
      for (std::size_t r = 0; r < to.n_rate; ++r)
        add_times(to.rate[r], value, to.slope + (r * n + k) * plane + b, stride);
    };
    const auto curvature = [&](std::size_t k, std::size_t l, ComplexLanes value) {
      for (std::size_t r = 0; r < to.n_pair; ++r)
        add_times(to.pair_rate[r], value, to.curvature + (r * triangle + in_triangle(k, l, n)) * plane + b, stride);
    };
    ComplexLanes all_left = zero(), all_seen = zero();
    for (std::size_t k = 0; k < n_direction; ++k) {
      const ComplexLanes f = load(seen + k * plane + b, stride), own = load(model + k * plane + b, stride),
                         product = load(sums.product + k * plane + b, stride);
      const ComplexLanes left = conj_product(f, {hn::Sub(product.re, own.re), hn::Sub(product.im, own.im)});
      if (to.of_all) {
        const ComplexLanes every = conj_product(f, own);
        all_left = sum(all_left, left);
        all_seen = sum(all_seen, every);
        if (to.used[k]) curvature(k, n_direction, every);
      }
      if (!to.used[k]) continue;
      slope(k, left);
      for (std::size_t l = k; l < n_direction; ++l) {
        if (!to.used[l]) continue;
        const ComplexLanes power = load(sums.power + in_triangle(k, l, n_direction) * plane + b, stride);
        curvature(k, l, conj_product(f, multiply_add(power, load(seen + l * plane + b, stride), zero())));
      }
    }
    if (!to.of_all) continue;
    slope(n_direction, all_left);
    curvature(n_direction, n_direction, all_seen);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::fit
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::fit {

HWY_EXPORT(add_up);
HWY_EXPORT(add_normal);

double add_up(const BinSums& sums, const double* seen, double* model) {
  return HWY_DYNAMIC_DISPATCH(add_up)(sums, seen, model);
}

void add_normal(const BinSums& sums, const double* seen, const double* model, const NormalSums& to) {
  HWY_DYNAMIC_DISPATCH(add_normal)(sums, seen, model, to);
}

}  // namespace rimetree::fit
#endif  // HWY_ONCE
