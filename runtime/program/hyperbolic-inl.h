// Hyperbolic functions of vectors of doubles, to less than one unit in the last place, by exponentials with more bits
// than one number has (elementary-inl.h). Included once per instruction set; only those with fused multiply-adds use
// it.
#if defined(RIMETREE_RUNTIME_PROGRAM_HYPERBOLIC_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_RUNTIME_PROGRAM_HYPERBOLIC_INL_H_
#undef RIMETREE_RUNTIME_PROGRAM_HYPERBOLIC_INL_H_
#else
#define RIMETREE_RUNTIME_PROGRAM_HYPERBOLIC_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "runtime/program/elementary-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::program {
namespace HWY_NAMESPACE {

/// exp(|x|)/2 for sums with its inverse: with some bits more than one number has; infinite where the sum would be.
template <class V>
HWY_INLINE Pair<V> half_exponential(V x) {
  const hn::DFromV<V> d;
  const V size = hn::Min(hn::Abs(x), hn::Set(d, 720.0)), log_2 = hn::Set(d, 0.6931471805599453);
  const V large = hn::Max(size, log_2), small = hn::Min(size, log_2);
  Pair<V> less = exact_sum_of_larger(large, hn::Neg(small));
  const auto below = hn::Lt(size, log_2);
  less = {hn::IfThenElse(below, hn::Neg(less.high), less.high), hn::IfThenElse(below, hn::Neg(less.low), less.low)};
  const V low = hn::Sub(less.low, hn::Set(d, 2.3190468138462996e-17));
  return long_exponential(less.high, &low);
}

template <class V>
HWY_INLINE V hyperbolic_cosine(V x) {
  const hn::DFromV<V> d;
  const Pair<V> grown = half_exponential(x);
  const V inverse = hn::Div(hn::Set(d, 0.25), grown.high), four = hn::Set(d, 4.0);
  const Pair<V> sum = exact_sum_of_larger(grown.high, inverse);
  const auto finite = hn::Lt(sum.high, hn::Set(d, HUGE_VAL));
  const V low = hn::NegMulAdd(hn::Mul(hn::Mul(inverse, inverse), four), grown.low, grown.low);
  const V y = hn::IfThenElse(finite, hn::Add(sum.high, hn::Add(sum.low, low)), sum.high);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

template <class V>
HWY_INLINE V hyperbolic_sine(V x) {
  const hn::DFromV<V> d;
  const V size = hn::Abs(x);
  const auto far = hn::Gt(size, hn::Set(d, 1.0));
  const V z = hn::Mul(size, size);
  static constexpr double kSeries[] = {1.0 / 6,
                                       1.0 / 120,
                                       1.0 / 5040,
                                       1.0 / 362880,
                                       1.0 / 39916800,
                                       1.0 / 6227020800.0,
                                       1.0 / 1307674368000.0,
                                       1.0 / 355687428096000.0,
                                       1.0 / 121645100408832000.0};
  V y = hn::MulAdd(hn::Mul(size, z), polynomial(z, kSeries), size);
  if (!hn::AllFalse(d, far)) {
    const Pair<V> grown = half_exponential(x);
    const V inverse = hn::Div(hn::Set(d, 0.25), grown.high), four = hn::Set(d, 4.0);
    const Pair<V> sum = exact_sum_of_larger(grown.high, hn::Neg(inverse));
    const auto finite = hn::Lt(sum.high, hn::Set(d, HUGE_VAL));
    const V low = hn::MulAdd(hn::Mul(hn::Mul(inverse, inverse), four), grown.low, grown.low);
    const V large = hn::IfThenElse(finite, hn::Add(sum.high, hn::Add(sum.low, low)), sum.high);
    y = hn::IfThenElse(far, large, y);
  }
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySignToAbs(y, x));
}

template <class V>
HWY_INLINE V hyperbolic_tangent(V x) {
  const hn::DFromV<V> d;
  const V size = hn::Min(hn::Abs(x), hn::Set(d, 40.0)), one = hn::Set(d, 1.0);
  const auto far = hn::Gt(size, hn::Set(d, 0.5625));
  const V z = hn::Mul(size, size);
  static constexpr double kSeries[] = {0.3333333333333333,     -0.1333333333333238,    0.05396825396704937,
                                       -0.02186948847652528,   0.008863234011892656,   -0.0035921054107178572,
                                       0.0014556230499796023,  -0.0005887493424785241, 0.0002340931735749655,
                                       -8.424580569869907e-05, 2.001384801624609e-05};
  V y = hn::NegMulAdd(hn::Mul(size, z), polynomial(z, kSeries), size);
  if (!hn::AllFalse(d, far)) {
    // 1 - 2/(exp(2 x) + 1), with what the sum and the quotient lose by rounding.
    const Pair<V> grown = long_exponential(hn::Add(size, size));
    const Pair<V> sum = exact_sum_of_larger(grown.high, one);
    const V quotient = hn::Div(hn::Set(d, 2.0), sum.high);
    const V left =
        hn::NegMulAdd(quotient, hn::Add(sum.low, grown.low), hn::NegMulAdd(quotient, sum.high, hn::Set(d, 2.0)));
    const Pair<V> less = exact_sum_of_larger(one, hn::Neg(quotient));
    const V rest = hn::NegMulAdd(left, hn::Mul(quotient, hn::Set(d, 0.5)), less.low);
    y = hn::IfThenElse(far, hn::Add(less.high, rest), y);
  }
  return hn::IfThenElse(hn::IsNaN(x), x, hn::CopySignToAbs(y, x));
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::program
HWY_AFTER_NAMESPACE();

#endif  // once per instruction set
