// Sine, cosine, exponential, logarithm, power and arctangent of vectors of doubles, to about one
// unit in the last place for all arguments; a value depends on its own arguments only, wherever in a vector they are.
// Reductions and error terms as in Cody & Waite 1980, "Software Manual for the Elementary Functions"; the polynomials
// are minimax fits made for these intervals. Included once per instruction set; only those with fused multiply-adds use
// it.
#if defined(RIMETREE_RUNTIME_PROGRAM_ELEMENTARY_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_RUNTIME_PROGRAM_ELEMENTARY_INL_H_
#undef RIMETREE_RUNTIME_PROGRAM_ELEMENTARY_INL_H_
#else
#define RIMETREE_RUNTIME_PROGRAM_ELEMENTARY_INL_H_
#endif

#include <cmath>

#include "hwy/highway.h"
#include "runtime/math/exact-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::program {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using vectors::HWY_NAMESPACE::exact_product, vectors::HWY_NAMESPACE::exact_sum_of_larger, vectors::HWY_NAMESPACE::Pair;

/// c0 + c1 x + ..., by Horner's rule.
template <class V, std::size_t kTerms>
HWY_INLINE V polynomial(V x, const double (&c)[kTerms]) {
  const hn::DFromV<V> d;
  V sum = hn::Set(d, c[kTerms - 1]);
#pragma GCC unroll 16
  for (std::size_t k = kTerms - 1; k-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[k]));
  return sum;
}

/// Replaces lanes in which the mask is set by function(a, b).
template <class V, class M, class F>
HWY_NOINLINE V by_lane(V result, V a, V b, M mask, F function) {
  const hn::DFromV<V> d;
  constexpr std::size_t kMost = hn::MaxLanes(d);
  HWY_ALIGN double x[kMost], y[kMost], out[kMost], chosen[kMost];
  hn::Store(a, d, x);
  hn::Store(b, d, y);
  hn::Store(result, d, out);
  hn::Store(hn::IfThenElseZero(mask, hn::Set(d, 1.0)), d, chosen);
  for (std::size_t i = 0; i < hn::Lanes(d); ++i)
    if (chosen[i] != 0) out[i] = function(x[i], y[i]);
  return hn::Load(d, out);
}

/// Sine and cosine; the one that is not asked for costs nothing.
template <bool kSin, bool kCos, class V>
HWY_INLINE void sin_cos(V x, V& sine, V& cosine) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  // Beyond this a number of quarter turns has more bits than the reduction below is exact for.
  const auto far = hn::Not(hn::Lt(hn::Abs(x), hn::Set(d, 1048576.0)));
  const V shift = hn::Set(d, 6755399441055744.0);  // 1.5 2^52: adding it rounds to integers, kept in the low bits
  const V shifted = hn::MulAdd(x, hn::Set(d, 0.63661977236758138243), shift);
  const V quarters = hn::Sub(shifted, shift);
  // x - quarters pi/2 as high + low: the first product is exact against x, the others are small.
  const V first = hn::NegMulAdd(quarters, hn::Set(d, 1.5707963267948966), x);
  const V p2 = hn::Set(d, 6.123233995736766e-17);
  const V second = hn::Mul(quarters, p2), second_rest = hn::MulSub(quarters, p2, second);
  const V high = hn::Sub(first, second);
  const V back = hn::Sub(high, first);
  V low = hn::Sub(hn::Sub(first, hn::Sub(high, back)), hn::Add(second, back));
  low = hn::Sub(low, second_rest);
  low = hn::NegMulAdd(quarters, hn::Set(d, -1.4973849048591698e-33), low);

  const V z = hn::Mul(high, high);
  static constexpr double kSine[] = {-0.16666666666666666,  0.0083333333333307,     -0.00019841269836387345,
                                     2.755731591191116e-06, -2.505109250706138e-08, 1.5915323212271172e-10};
  static constexpr double kCosine[] = {0.041666666666666664,    -0.0013888888888887241, 2.4801587298533453e-05,
                                       -2.7557317152466887e-07, 2.0876121658846515e-09, -1.1380876946745423e-11};
  // sin(high + low) = high + (high^3 S(z) + low (1 - z/2)).
  const V half_z = hn::Mul(z, hn::Set(d, 0.5));
  const V one_less = hn::Sub(hn::Set(d, 1.0), half_z);
  const V s = hn::Add(high, hn::MulAdd(hn::Mul(z, high), polynomial(z, kSine), hn::Mul(low, one_less)));
  // cos(high + low) = 1 - z/2 + (z^2 C(z) - high low), with what 1 - z/2 loses by rounding.
  const V lost = hn::Sub(hn::Sub(hn::Set(d, 1.0), one_less), half_z);
  const V c = hn::Add(one_less, hn::Add(lost, hn::MulSub(hn::Mul(z, z), polynomial(z, kCosine), hn::Mul(high, low))));

  const auto bits = hn::BitCast(di, shifted);
  const auto odd = hn::MaskFromVec(hn::BitCast(d, hn::Sub(hn::Zero(di), hn::And(bits, hn::Set(di, 1)))));
  if constexpr (kSin) {
    const auto sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(bits, hn::Set(di, 2))));
    sine = hn::Xor(hn::IfThenElse(odd, c, s), sign);
    sine = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, sine);  // of -0 it is -0
    if (HWY_UNLIKELY(!hn::AllFalse(d, far)))
      sine = by_lane(sine, x, x, far, [](double a, double) { return std::sin(a); });
  }
  if constexpr (kCos) {
    const auto sign = hn::BitCast(d, hn::ShiftLeft<62>(hn::And(hn::Add(bits, hn::Set(di, 1)), hn::Set(di, 2))));
    cosine = hn::Xor(hn::IfThenElse(odd, s, c), sign);
    if (HWY_UNLIKELY(!hn::AllFalse(d, far)))
      cosine = by_lane(cosine, x, x, far, [](double a, double) { return std::cos(a); });
  }
}

/// 2^k for integers k from -1022 to 1023.
template <class D, class VI>
HWY_INLINE hn::Vec<D> power_of_two(D d, VI k) {
  const hn::RebindToSigned<D> di;
  return hn::BitCast(d, hn::ShiftLeft<52>(hn::Add(k, hn::Set(di, 1023))));
}

/// Of x + low, if that is given; with some bits more than one number has, as far as it is finite.
template <class V>
HWY_INLINE Pair<V> long_exponential(V x, const V* added = nullptr) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  // Beyond these the outcome is 0 or infinite.
  const V within = hn::Min(hn::Max(x, hn::Set(d, -746.0)), hn::Set(d, 710.0));
  const V shift = hn::Set(d, 6755399441055744.0);
  const V shifted = hn::MulAdd(within, hn::Set(d, 1.4426950408889634), shift);
  const V k = hn::Sub(shifted, shift);
  const V high = hn::NegMulAdd(k, hn::Set(d, 0.6931471803691238), within);  // exact
  const V low = hn::Mul(k, hn::Set(d, 1.9082149292705877e-10));
  const V r = hn::Sub(high, low);
  V rest = hn::Sub(hn::Sub(high, r), low);
  static constexpr double kExp[] = {0.5000000000000001,     0.16666666666666669,   0.04166666666662064,
                                    0.008333333333329793,   0.0013888888918939168, 0.00019841269864380513,
                                    2.4801518641395993e-05, 2.75572664186123e-06,  2.7621338669142925e-07,
                                    2.510134692835034e-08};
  const V square = hn::Mul(r, r);
  const V series = polynomial(r, kExp);
  // exp(r + low) = exp(r) + low exp(r), as far as low is small beside the rest of a number.
  if (added != nullptr) rest = hn::Add(rest, hn::MulAdd(*added, hn::MulAdd(square, series, r), *added));
  const V tail = hn::MulAdd(square, series, rest);
  const V one = hn::Set(d, 1.0), beside = hn::Add(r, tail);
  const V unscaled = hn::Add(one, beside);
  const V lost = hn::Add(hn::Add(hn::Sub(one, unscaled), beside), hn::Add(hn::Sub(r, beside), tail));
  // In two factors, since 2^k may be no number of full precision where the outcome is one.
  const auto n = hn::Sub(hn::BitCast(di, shifted), hn::BitCast(di, shift));
  const auto half = hn::ShiftRight<1>(n);
  const V up = power_of_two(d, half), further = power_of_two(d, hn::Sub(n, half));
  return {hn::Mul(hn::Mul(unscaled, up), further), hn::Mul(hn::Mul(lost, up), further)};
}

template <class V>
HWY_INLINE V exponential(V x, const V* added = nullptr) {
  const hn::DFromV<V> d;
  V y = long_exponential(x, added).high;
  y = hn::IfThenElse(hn::Gt(x, hn::Set(d, 709.79)), hn::Set(d, HUGE_VAL), y);
  return hn::IfThenElse(hn::IsNaN(x), x, y);
}

/// A finite number above zero as 2^k m with m from sqrt(1/2) to sqrt(2).
template <class V>
struct Halves {
  V k, m;
};
template <class V>
HWY_INLINE Halves<V> halves(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const auto tiny = hn::Lt(x, hn::Set(d, 2.2250738585072014e-308));
  const V scaled = hn::IfThenElse(tiny, hn::Mul(x, hn::Set(d, 18014398509481984.0)), x);  // 2^54
  const auto bits = hn::BitCast(di, scaled);
  const auto offset = hn::Set(di, 0x3FE6A09E00000000);
  const auto exponent = hn::ShiftRight<52>(hn::Sub(bits, offset));
  const V m = hn::BitCast(d, hn::Sub(bits, hn::ShiftLeft<52>(exponent)));
  const V magic = hn::Set(d, 6755399441055744.0);
  const V k = hn::Sub(hn::BitCast(d, hn::Add(hn::BitCast(di, magic), exponent)), magic);
  return {hn::Sub(k, hn::IfThenElseZero(tiny, hn::Set(d, 54.0))), m};
}

/// log(2^k (1 + f)), with f from sqrt(1/2) - 1 to sqrt(2) - 1. What is small beside f may be given as well.
template <class V>
HWY_INLINE V logarithm_of(V k, V f, const V* added = nullptr) {
  const hn::DFromV<V> d;
  // log(1 + f) = f - f^2/2 + s (f^2/2 + R(s^2)), s = f/(2 + f).
  const V s = hn::Div(f, hn::Add(hn::Set(d, 2.0), f));
  const V z = hn::Mul(s, s);
  static constexpr double kLog[] = {0.666666666666667,   0.39999999999886615, 0.28571428631764334, 0.22222210199264208,
                                    0.18182956608063625, 0.1532950075419973,  0.14643628601955389};
  const V r = hn::Mul(z, polynomial(z, kLog));
  const V half_square = hn::Mul(hn::Mul(f, f), hn::Set(d, 0.5));
  V small = hn::MulAdd(s, hn::Add(half_square, r), hn::Mul(k, hn::Set(d, 1.9082149292705877e-10)));
  if (added != nullptr) small = hn::Add(small, hn::Div(*added, hn::Add(hn::Set(d, 1.0), f)));
  return hn::Sub(hn::Mul(k, hn::Set(d, 0.6931471803691238)), hn::Sub(hn::Sub(half_square, small), f));
}

template <class V>
HWY_INLINE V logarithm(V x) {
  const hn::DFromV<V> d;
  const auto [k, m] = halves(x);
  V y = logarithm_of(k, hn::Sub(m, hn::Set(d, 1.0)));
  const V zero = hn::Zero(d), infinity = hn::Set(d, HUGE_VAL);
  y = hn::IfThenElse(hn::Eq(x, zero), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, zero), hn::Sub(infinity, infinity), y);
  return hn::IfThenElse(hn::Lt(x, infinity), y, hn::Add(x, x));  // infinity and not-a-number
}

/// log(1 + x) as std::log1p.
template <class V>
HWY_INLINE V logarithm_beside_one(V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const V one = hn::Set(d, 1.0), infinity = hn::Set(d, HUGE_VAL), magic = hn::Set(d, 6755399441055744.0);
  const V inside = hn::Min(hn::Max(x, hn::Set(d, -1.0)), hn::Set(d, 0x1.fffffffffffffp1023));
  const Pair<V> sum = exact_sum_of_larger(hn::Max(one, inside), hn::Min(one, inside));
  const auto [k, m] = halves(sum.high);
  // What the sum has lost counts only where it is not far from one.
  const V near = hn::Max(hn::Min(k, hn::Set(d, 100.0)), hn::Set(d, -100.0));
  const auto whole = hn::Sub(hn::BitCast(di, hn::Add(near, magic)), hn::BitCast(di, magic));
  const V lost = hn::Mul(sum.low, power_of_two(d, hn::Neg(whole)));
  const V above = hn::Sub(m, one);  // exact
  const V f = hn::Add(above, lost), rest = hn::Add(hn::Sub(above, f), lost);
  V y = logarithm_of(k, f, &rest);
  y = hn::IfThenElse(hn::Eq(x, hn::Zero(d)), x, y);  // of -0 it is -0
  y = hn::IfThenElse(hn::Eq(x, hn::Neg(one)), hn::Neg(infinity), y);
  y = hn::IfThenElse(hn::Lt(x, hn::Neg(one)), hn::Sub(infinity, infinity), y);
  return hn::IfThenElse(hn::Lt(x, infinity), y, hn::Add(x, x));
}

/// The logarithm of finite numbers above zero, with 15 bits more than one number has.
template <class V>
HWY_INLINE Pair<V> long_logarithm(V x) {
  const hn::DFromV<V> d;
  const Halves<V> of = halves(x);
  // log m = 2 atanh(s) = 2 s + 2/3 s^3 + ... with s = (m - 1)/(m + 1).
  const V f = hn::Sub(of.m, hn::Set(d, 1.0)), two = hn::Set(d, 2.0);
  const Pair<V> below = exact_sum_of_larger(two, f);
  const V s = hn::Div(f, below.high);
  const V s_low = hn::Div(hn::NegMulAdd(s, below.low, hn::NegMulAdd(s, below.high, f)), below.high);
  static constexpr double kAtanh[] = {0.3999999999999998,  0.285714285714451,  0.2222222221753935,
                                      0.1818181886996083,  0.153845568951449,  0.13336316489339528,
                                      0.11674837397599715, 0.11988855662242984};
  const Pair<V> z = exact_product(s, s);
  const V z_low = hn::MulAdd(hn::Add(s, s), s_low, z.low);
  // q = 2/3 + z (2/5 + ...), and q z s is what there is beside 2 s.
  const V more = hn::Mul(z.high, polynomial(z.high, kAtanh));
  Pair<V> q = exact_sum_of_larger(hn::Set(d, 0.6666666666666666), more);
  q.low = hn::Add(q.low, hn::Set(d, 3.700743415417188e-17));
  Pair<V> qz = exact_product(q.high, z.high);
  qz.low = hn::Add(qz.low, hn::MulAdd(q.high, z_low, hn::Mul(q.low, z.high)));
  Pair<V> cubic = exact_product(qz.high, s);
  cubic.low = hn::Add(cubic.low, hn::MulAdd(qz.high, s_low, hn::Mul(qz.low, s)));
  // k log 2 + 2 s + the rest, the largest first; the first product is exact.
  const Pair<V> linear = exact_sum_of_larger(hn::Add(s, s), cubic.high);
  const V linear_low = hn::Add(linear.low, hn::MulAdd(two, s_low, cubic.low));
  const V k_high = hn::Mul(of.k, hn::Set(d, 0.6931471803691238));
  const auto no_k = hn::Eq(of.k, hn::Zero(d));
  const Pair<V> sum = exact_sum_of_larger(k_high, linear.high);
  const Pair<V> all{hn::IfThenElse(no_k, linear.high, sum.high), hn::IfThenElseZero(hn::Not(no_k), sum.low)};
  return exact_sum_of_larger(all.high,
                             hn::Add(all.low, hn::MulAdd(of.k, hn::Set(d, 1.9082149292705877e-10), linear_low)));
}

/// a^3 and a^4, rounded once but where the square has no error term: far from where they become infinite.
template <class V>
HWY_INLINE V cube(V a) {
  const Pair<V> square = exact_product(a, a);
  const V large = hn::Set(hn::DFromV<V>(), 0x1p700);
  return hn::IfThenElse(hn::Lt(square.high, large), hn::MulAdd(square.high, a, hn::Mul(square.low, a)),
                        hn::Mul(square.high, a));
}
template <class V>
HWY_INLINE V fourth_power(V a) {
  const Pair<V> square = exact_product(a, a);
  const V large = hn::Set(hn::DFromV<V>(), 0x1p520), twice = hn::Add(square.high, square.high);
  return hn::IfThenElse(hn::Lt(square.high, large), hn::MulAdd(square.high, square.high, hn::Mul(twice, square.low)),
                        hn::Mul(square.high, square.high));
}

/// a^b as std::pow. Powers of few factors are rounded once.
template <class V>
HWY_INLINE V power(V a, V b) {
  const hn::DFromV<V> d;
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), infinity = hn::Set(d, HUGE_VAL);
  const V size = hn::Abs(a), half = hn::Mul(b, hn::Set(d, 0.5));
  const auto negative = hn::Lt(a, zero), whole = hn::Eq(hn::Round(b), b);
  const auto plain = hn::And(hn::And(hn::Gt(size, zero), hn::Lt(size, infinity)),
                             hn::And(hn::Lt(hn::Abs(b), infinity), hn::Or(hn::Gt(a, zero), whole)));
  const Pair<V> log = long_logarithm(hn::IfThenElse(plain, size, one));
  const Pair<V> product = exact_product(b, log.high);
  const auto ordinary = hn::Lt(hn::Abs(product.high), hn::Set(d, 800.0));  // else the outcome is 0 or infinite
  const V low = hn::IfThenElseZero(ordinary, hn::MulAdd(b, log.low, product.low));
  V result = exponential(product.high, &low);
  const auto odd = hn::Not(hn::Eq(hn::Round(half), half));
  result = hn::IfThenElse(hn::And(negative, odd), hn::Neg(result), result);
  if (HWY_UNLIKELY(!hn::AllTrue(d, plain)))
    result = by_lane(result, a, b, hn::Not(plain), [](double x, double y) { return std::pow(x, y); });
  result = hn::IfThenElse(hn::Eq(b, hn::Set(d, 2.0)), hn::Mul(a, a), result);
  result = hn::IfThenElse(hn::Eq(b, hn::Set(d, 3.0)), cube(a), result);
  result = hn::IfThenElse(hn::Eq(b, hn::Set(d, 4.0)), fourth_power(a), result);
  return hn::IfThenElse(hn::Eq(b, hn::Neg(one)), hn::Div(one, a), result);
}

/// The angle of (x, y) as std::atan2.
template <class V>
HWY_INLINE V arctangent(V y, V x) {
  const hn::DFromV<V> d;
  const hn::RebindToSigned<decltype(d)> di;
  const V zero = hn::Zero(d), one = hn::Set(d, 1.0), infinity = hn::Set(d, HUGE_VAL);
  const auto all_infinite = hn::And(hn::Eq(hn::Abs(x), infinity), hn::Eq(hn::Abs(y), infinity));
  const V a = hn::IfThenElse(all_infinite, one, hn::Abs(x)), b = hn::IfThenElse(all_infinite, one, hn::Abs(y));
  const V large = hn::Max(a, b), small = hn::Min(a, b);
  // By a power of two, so that sums neither overflow nor lose digits.
  const V scale = hn::IfThenElse(hn::Gt(large, hn::Set(d, 0x1p1000)), hn::Set(d, 0x1p-100),
                                 hn::IfThenElse(hn::Lt(large, hn::Set(d, 0x1p-900)), hn::Set(d, 0x1p100), one));
  const V m = hn::Mul(large, scale), n = hn::Mul(small, scale);
  // Beyond tan(pi/8): atan(n/m) = pi/4 + atan((n - m)/(n + m)).
  const auto turned = hn::Gt(n, hn::Mul(m, hn::Set(d, 0.41421356237309503)));
  const Pair<V> difference = exact_sum_of_larger(hn::Neg(m), n), sum = exact_sum_of_larger(m, n);
  const V up = hn::IfThenElse(turned, difference.high, n), down = hn::IfThenElse(turned, sum.high, m);
  const V quotient = hn::Div(up, down);
  const V left = hn::NegMulAdd(quotient, hn::IfThenElseZero(turned, sum.low),
                               hn::Add(hn::NegMulAdd(quotient, down, up), hn::IfThenElseZero(turned, difference.low)));
  const auto ordinary = hn::And(hn::Gt(large, zero), hn::Lt(large, infinity));
  const V r = hn::IfThenElseZero(ordinary, quotient), r_low = hn::IfThenElseZero(ordinary, hn::Div(left, down));
  static constexpr double kAtan[] = {-0.333333333333332,   0.19999999999954055,  -0.1428571428024631,
                                     0.1111111078604965,   -0.09090897834366343, 0.07692061606216187,
                                     -0.06663120087987046, 0.05848007091344511,  -0.05039838521173052,
                                     0.03807816991254256,  -0.017922138880121914};
  const V z = hn::Mul(r, r);
  V high = r, low = hn::MulAdd(hn::Mul(r, z), polynomial(z, kAtan), hn::NegMulAdd(z, r_low, r_low));
  // Adds half turns and parts of them, of which each is larger than what there is.
  const auto take_from = [&](auto where, double angle, double rest, V sign) {
    const Pair<V> moved = exact_sum_of_larger(hn::Set(d, angle), hn::Mul(sign, high));
    low = hn::IfThenElse(where, hn::Add(moved.low, hn::MulAdd(sign, low, hn::Set(d, rest))), low);
    high = hn::IfThenElse(where, moved.high, high);
  };
  take_from(turned, 0.7853981633974483, 3.061616997868383e-17, one);
  take_from(hn::Gt(b, a), 1.5707963267948966, 6.123233995736766e-17, hn::Neg(one));
  const auto behind = hn::MaskFromVec(hn::BitCast(d, hn::BroadcastSignBit(hn::BitCast(di, x))));
  take_from(behind, 3.141592653589793, 1.2246467991473532e-16, hn::Neg(one));
  const V angle = hn::CopySignToAbs(hn::Add(high, low), y);
  return hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), angle);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::program
HWY_AFTER_NAMESPACE();

#endif  // once per instruction set
