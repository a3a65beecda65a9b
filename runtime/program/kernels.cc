#include "runtime/program/kernels.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "runtime/math/conventions.h"
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/program/kernels.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "runtime/program/elementary-inl.h"
#include "runtime/program/hyperbolic-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::program {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kStep>;
using V = hn::Vec<D>;

HWY_INLINE V take(const Row& row, std::size_t i) { return hn::LoadU(D(), row.numbers + (i & row.varies)); }

/// One kernel for each number of operands; F is a function of vectors.
template <class F>
void unary(const Call& call, std::size_t n) {
  const Row a = call.in[0];
  double* out = call.out[0];
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) hn::StoreU(F()(take(a, i)), D(), out + i);
}
template <class F>
void binary(const Call& call, std::size_t n) {
  const Row a = call.in[0], b = call.in[1];
  double* out = call.out[0];
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) hn::StoreU(F()(take(a, i), take(b, i)), D(), out + i);
}
template <class F>
void ternary(const Call& call, std::size_t n) {
  const Row a = call.in[0], b = call.in[1], c = call.in[2];
  double* out = call.out[0];
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) hn::StoreU(F()(take(a, i), take(b, i), take(c, i)), D(), out + i);
}
/// a b, or 0 where a is 0.
template <bool kWeighs>
HWY_INLINE V multiplied(V a, V b) {
  return kWeighs ? hn::IfThenZeroElse(hn::Eq(a, hn::Zero(D())), hn::Mul(a, b)) : hn::Mul(a, b);
}
/// a b + c d or a b - c d; with kAdds it is added to a fifth number. Jones terms and brightness are constants more
/// often than not, which are then read once.
template <bool kSubtracts, bool kAdds, bool kWeighs = false>
void products(const Call& call, std::size_t n) {
  const Row a = call.in[0], b = call.in[1], c = call.in[2], e = call.in[3], sum = call.in[4];
  double* out = call.out[0];
  const auto each = [&](const auto& second, const auto& fourth) {
    for (std::size_t i = 0; i < n; i += hn::Lanes(D())) {
      const V p = multiplied<kWeighs>(take(a, i), second(i)), q = multiplied<kWeighs>(take(c, i), fourth(i));
      V r = kSubtracts ? hn::Sub(p, q) : hn::Add(p, q);
      if constexpr (kAdds) r = hn::Add(take(sum, i), r);
      hn::StoreU(r, D(), out + i);
    }
  };
  if (b.varies == 0 && e.varies == 0) {
    const V x = hn::LoadU(D(), b.numbers), y = hn::LoadU(D(), e.numbers);
    each([x](std::size_t) { return x; }, [y](std::size_t) { return y; });
  } else {
    each([b](std::size_t i) { return take(b, i); }, [e](std::size_t i) { return take(e, i); });
  }
}
#if HWY_TARGET != HWY_SCALAR
/// Products of complex numbers that are pairs of neighbours: (ar br - ai bi, ar bi + ai br).
HWY_INLINE V pair_product(V a, V b) {
  const V p = hn::Mul(hn::DupEven(a), b), q = hn::Mul(hn::DupOdd(a), hn::Reverse2(D(), b));
  return hn::OddEven(hn::Add(p, q), hn::Sub(p, q));
}
#endif
/// A sum of one product of complex numbers in pairs, or of two; with kAdds added to a number that comes last.
template <int kProducts, bool kAdds>
void pair_sums(const Call& call, std::size_t n) {
  const Row a = call.in[0], b = call.in[1], c = call.in[2], e = call.in[3], sum = call.in[2 * kProducts];
  double* out = call.out[0];
#if HWY_TARGET == HWY_SCALAR
  for (std::size_t i = 0; i < n; i += 2) {
    const auto product = [i](const Row& one, const Row& other, double& re, double& im) {
      const double *const x = one.numbers + (i & one.varies), *const y = other.numbers + (i & other.varies);
      re = x[0] * y[0] - x[1] * y[1], im = x[0] * y[1] + x[1] * y[0];
    };
    double re, im, more_re, more_im;
    product(a, b, re, im);
    if constexpr (kProducts == 2) product(c, e, more_re, more_im), re += more_re, im += more_im;
    out[i] = kAdds ? sum.numbers[i & sum.varies] + re : re;
    out[i + 1] = kAdds ? sum.numbers[(i + 1) & sum.varies] + im : im;
  }
#else
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) {
    V products = pair_product(take(a, i), take(b, i));
    if constexpr (kProducts == 2) products = hn::Add(products, pair_product(take(c, i), take(e, i)));
    hn::StoreU(kAdds ? hn::Add(take(sum, i), products) : products, D(), out + i);
  }
#endif
}
/// Terms of a sum, from left to right.
template <int kTerms>
void add_terms(const Call& call, std::size_t n) {
  Row in[kTerms];
  std::copy_n(call.in, kTerms, in);
  double* out = call.out[0];
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) {
    V sum = hn::Add(take(in[0], i), take(in[1], i));
#pragma GCC unroll 5
    for (int k = 2; k < kTerms; ++k) sum = hn::Add(sum, take(in[k], i));
    hn::StoreU(sum, D(), out + i);
  }
}
/// What has no vector form here: number by number.
template <double (*kFunction)(double)>
void scalar_unary(const Call& call, std::size_t n) {
  const Row a = call.in[0];
  for (std::size_t i = 0; i < n; ++i) call.out[0][i] = kFunction(a.numbers[i & a.varies]);
}
template <double (*kFunction)(double, double)>
void scalar_binary(const Call& call, std::size_t n) {
  const Row a = call.in[0], b = call.in[1];
  for (std::size_t i = 0; i < n; ++i) call.out[0][i] = kFunction(a.numbers[i & a.varies], b.numbers[i & b.varies]);
}

#if HWY_NATIVE_FMA
struct Power {
  HWY_INLINE V operator()(V a, V b) const { return power(a, b); }
};
constexpr Kernel kPower = &binary<Power>;
#else
double power(double a, double b) { return b == 2 ? a * a : b == -1 ? 1 / a : std::pow(a, b); }
constexpr Kernel kPower = &scalar_binary<&power>;
#endif
/// a^(1/2), which is no root for a negative zero or infinity.
HWY_INLINE V square_root(V a) {
  const V root = hn::Sqrt(hn::Add(a, hn::Zero(D())));
  return hn::IfThenElse(hn::Eq(hn::Abs(a), hn::Inf(D())), hn::Abs(a), root);
}
/// a^b; small powers, inverses and square roots take no logarithm.
void powers(const Call& call, std::size_t n) {
  const Row a = call.in[0], b = call.in[1];
  const auto with = [&](const auto& power) HWY_ATTR {
    for (std::size_t i = 0; i < n; i += hn::Lanes(D())) hn::StoreU(power(take(a, i)), D(), call.out[0] + i);
  };
  const V one = hn::Set(D(), 1.0);
  const double exponent = b.varies == 0 ? b.numbers[0] : 0;
  if (exponent == 2)
    with([](V x) HWY_ATTR { return hn::Mul(x, x); });
  else if (exponent == -1)
    with([one](V x) HWY_ATTR { return hn::Div(one, x); });
  else if (exponent == 0.5)
    with([](V x) HWY_ATTR { return square_root(x); });
  else if (exponent == -0.5)
    with([one](V x) HWY_ATTR { return hn::Div(one, square_root(x)); });
#if HWY_NATIVE_FMA
  else if (exponent == 3)
    with([](V x) HWY_ATTR { return cube(x); });
  else if (exponent == 4)
    with([](V x) HWY_ATTR { return fourth_power(x); });
#endif
  else
    kPower(call, n);
}

#define RT_VECTOR_FUNCTION(Name, parameters, value)            \
  struct Name {                                                \
    HWY_INLINE V operator() parameters const { return value; } \
  };
RT_VECTOR_FUNCTION(Negate, (V a), hn::Neg(a))
RT_VECTOR_FUNCTION(Absolute, (V a), hn::Abs(a))
RT_VECTOR_FUNCTION(Sqrt, (V a), hn::Sqrt(a))
RT_VECTOR_FUNCTION(Round, (V a), hn::Round(a))
RT_VECTOR_FUNCTION(Copy, (V a), a)
RT_VECTOR_FUNCTION(Add, (V a, V b), hn::Add(a, b))
RT_VECTOR_FUNCTION(Subtract, (V a, V b), hn::Sub(a, b))
RT_VECTOR_FUNCTION(Multiply, (V a, V b), hn::Mul(a, b))
RT_VECTOR_FUNCTION(Divide, (V a, V b), hn::Div(a, b))
RT_VECTOR_FUNCTION(Less, (V a, V b), hn::IfThenElseZero(hn::Lt(a, b), hn::Set(D(), 1.0)))
RT_VECTOR_FUNCTION(LessEqual, (V a, V b), hn::IfThenElseZero(hn::Le(a, b), hn::Set(D(), 1.0)))
RT_VECTOR_FUNCTION(Equal, (V a, V b), hn::IfThenElseZero(hn::Eq(a, b), hn::Set(D(), 1.0)))
RT_VECTOR_FUNCTION(Weigh, (V a, V b), multiplied<true>(a, b))
RT_VECTOR_FUNCTION(WithValue, (V, V b), b)
RT_VECTOR_FUNCTION(Select, (V a, V b, V c), hn::IfThenElse(hn::Eq(a, hn::Zero(D())), c, b))
RT_VECTOR_FUNCTION(MultiplyAdd, (V a, V b, V c), hn::Add(hn::Mul(a, b), c))
RT_VECTOR_FUNCTION(MultiplySub, (V a, V b, V c), hn::Sub(hn::Mul(a, b), c))
RT_VECTOR_FUNCTION(NegateAdd, (V a, V b, V c), hn::Sub(c, hn::Mul(a, b)))
RT_VECTOR_FUNCTION(WeighAdd, (V a, V b, V c), hn::Add(multiplied<true>(a, b), c))
RT_VECTOR_FUNCTION(WeighSub, (V a, V b, V c), hn::Sub(multiplied<true>(a, b), c))
RT_VECTOR_FUNCTION(NegateWeighAdd, (V a, V b, V c), hn::Sub(c, multiplied<true>(a, b)))

RT_VECTOR_FUNCTION(ProductError, (V a, V b), exact_product(a, b).low)

/// sqrt(a^2 + b^2), scaled by the larger of the two so that squares neither overflow nor vanish.
struct Hypot {
  HWY_INLINE V operator()(V a, V b) const {
    const D d;
    const hn::RebindToSigned<D> di;
    const V x = hn::Abs(a), y = hn::Abs(b);
    const V large = hn::Max(x, y), small = hn::Min(x, y);
    const auto infinite =
        hn::Eq(hn::Max(hn::IfThenElse(hn::IsNaN(x), y, x), hn::IfThenElse(hn::IsNaN(y), x, y)), hn::Set(d, HUGE_VAL));
    // A power of two as large as the larger one, within what has a reciprocal.
    const auto field = hn::And(hn::BitCast(di, large), hn::Set(di, 0x7FF0000000000000));
    const V scale = hn::Max(hn::Min(hn::BitCast(d, field), hn::Set(d, 0x1p1022)), hn::Set(d, 0x1p-1022));
    const V up = hn::Div(hn::Set(d, 1.0), scale);
    const V u = hn::Mul(large, up), v = hn::Mul(small, up);
    const V p = hn::Mul(u, u), q = hn::Mul(v, v);
    const V sum = hn::Add(p, q);
    const V rest = hn::Add(ProductError()(u, u), hn::Add(ProductError()(v, v), hn::Sub(q, hn::Sub(sum, p))));
    V root = hn::Mul(hn::Sqrt(hn::Add(sum, rest)), scale);
    root = hn::IfThenElse(hn::Or(hn::IsNaN(x), hn::IsNaN(y)), hn::Add(x, y), root);
    return hn::IfThenElse(infinite, hn::Set(d, HUGE_VAL), root);
  }
};

#if HWY_NATIVE_FMA
struct Sin {
  HWY_INLINE V operator()(V a) const {
    V sine, unused = a;
    sin_cos<true, false>(a, sine, unused);
    return sine;
  }
};
struct Cos {
  HWY_INLINE V operator()(V a) const {
    V cosine, unused = a;
    sin_cos<false, true>(a, unused, cosine);
    return cosine;
  }
};
/// As in runtime/math/conventions.h, in the same steps. Neighbours are alike more often than not: then one way is
/// enough.
struct Sinc {
  HWY_INLINE V operator()(V x) const {
    const D d;
    const auto large = hn::Ge(hn::Abs(x), hn::Set(d, 0.3));
    V series = hn::Set(d, 1.0 / 6227020800.0);
    if (!hn::AllTrue(d, large)) {
      const V x2 = hn::Mul(x, x);
      for (const double coefficient : {-1.0 / 39916800.0, 1.0 / 362880.0, -1.0 / 5040.0, 1.0 / 120.0, -1.0 / 6.0, 1.0})
        series = hn::Add(hn::Mul(series, x2), hn::Set(d, coefficient));
      if (hn::AllFalse(d, large)) return series;
    }
    return hn::IfThenElse(large, hn::Div(Sin()(x), x), series);
  }
};
RT_VECTOR_FUNCTION(Exp, (V a), exponential(a))
RT_VECTOR_FUNCTION(Log, (V a), logarithm(a))
RT_VECTOR_FUNCTION(Log1p, (V a), logarithm_beside_one(a))
RT_VECTOR_FUNCTION(Sinh, (V a), hyperbolic_sine(a))
RT_VECTOR_FUNCTION(Cosh, (V a), hyperbolic_cosine(a))
RT_VECTOR_FUNCTION(Tanh, (V a), hyperbolic_tangent(a))
RT_VECTOR_FUNCTION(Atan, (V a), arctangent(a, hn::Set(D(), 1.0)))
RT_VECTOR_FUNCTION(Atan2, (V a, V b), arctangent(a, b))
/// The leg beside a leg a of a right triangle whose long side is 1.
HWY_INLINE V other_leg(V a) {
  const V one = hn::Set(D(), 1.0);
  return hn::Sqrt(hn::Mul(hn::Sub(one, a), hn::Add(one, a)));
}
RT_VECTOR_FUNCTION(Asin, (V a), arctangent(a, other_leg(a)))
RT_VECTOR_FUNCTION(Acos, (V a), arctangent(other_leg(a), a))
struct Tan {
  HWY_INLINE V operator()(V a) const {
    V sine, cosine;
    sin_cos<true, true>(a, sine, cosine);
    return hn::Div(sine, cosine);
  }
};
constexpr Kernel kSin = &unary<Sin>, kCos = &unary<Cos>, kTan = &unary<Tan>, kExp = &unary<Exp>, kLog = &unary<Log>,
                 kSinc = &unary<Sinc>, kAsin = &unary<Asin>, kAcos = &unary<Acos>, kAtan = &unary<Atan>,
                 kAtan2 = &binary<Atan2>, kSinh = &unary<Sinh>, kCosh = &unary<Cosh>, kTanh = &unary<Tanh>,
                 kLog1p = &unary<Log1p>;
void sine_and_cosine(const Call& call, std::size_t n) {
  const Row a = call.in[0];
  for (std::size_t i = 0; i < n; i += hn::Lanes(D())) {
    V sine, cosine;
    sin_cos<true, true>(take(a, i), sine, cosine);
    hn::StoreU(sine, D(), call.out[0] + i);
    hn::StoreU(cosine, D(), call.out[1] + i);
  }
}
#else
constexpr Kernel kSin = &scalar_unary<&std::sin>, kCos = &scalar_unary<&std::cos>, kTan = &scalar_unary<&std::tan>,
                 kExp = &scalar_unary<&std::exp>, kLog = &scalar_unary<&std::log>,
                 kSinc = &scalar_unary<&sinc<double> >, kAsin = &scalar_unary<&std::asin>,
                 kAcos = &scalar_unary<&std::acos>, kAtan = &scalar_unary<&std::atan>,
                 kAtan2 = &scalar_binary<&std::atan2>, kSinh = &scalar_unary<&std::sinh>,
                 kCosh = &scalar_unary<&std::cosh>, kTanh = &scalar_unary<&std::tanh>,
                 kLog1p = &scalar_unary<&std::log1p>;
void sine_and_cosine(const Call& call, std::size_t n) {
  const Row a = call.in[0];
  for (std::size_t i = 0; i < n; ++i) {
    const double x = a.numbers[i & a.varies];
    call.out[0][i] = std::sin(x);
    call.out[1][i] = std::cos(x);
  }
}
#endif
#undef RT_VECTOR_FUNCTION

void fill_table(Kernel* table) {
  const auto set = [table](Op op, Kernel kernel) { table[static_cast<int>(op)] = kernel; };
  set(Op::negate, &unary<Negate>);
  set(Op::absolute, &unary<Absolute>);
  set(Op::sqrt, &unary<Sqrt>);
  set(Op::sin, kSin);
  set(Op::cos, kCos);
  set(Op::exp, kExp);
  set(Op::log, kLog);
  set(Op::round, &unary<Round>);
  set(Op::tan, kTan);
  set(Op::asin, kAsin);
  set(Op::acos, kAcos);
  set(Op::atan, kAtan);
  set(Op::sinh, kSinh);
  set(Op::cosh, kCosh);
  set(Op::tanh, kTanh);
  set(Op::sinc, kSinc);
  set(Op::log1p, kLog1p);
  set(Op::detach, &unary<Copy>);
  set(Op::add, &binary<Add>);
  set(Op::subtract, &binary<Subtract>);
  set(Op::multiply, &binary<Multiply>);
  set(Op::divide, &binary<Divide>);
  set(Op::product_error, &binary<ProductError>);
  set(Op::hypot, &binary<Hypot>);
  set(Op::atan2, kAtan2);
  set(Op::pow, &powers);
  set(Op::less, &binary<Less>);
  set(Op::less_equal, &binary<LessEqual>);
  set(Op::equal, &binary<Equal>);
  set(Op::weigh, &binary<Weigh>);
  set(Op::pair_product, &pair_sums<1, false>);
  set(Op::add_pair_product, &pair_sums<1, true>);
  set(Op::pair_products_sum, &pair_sums<2, false>);
  set(Op::add_pair_products_sum, &pair_sums<2, true>);
  set(Op::with_value, &binary<WithValue>);
  set(Op::select, &ternary<Select>);
  set(Op::multiply_add, &ternary<MultiplyAdd>);
  set(Op::multiply_sub, &ternary<MultiplySub>);
  set(Op::negate_add, &ternary<NegateAdd>);
  set(Op::products_sum, &products<false, false>);
  set(Op::products_difference, &products<true, false>);
  set(Op::add_products_sum, &products<false, true>);
  set(Op::add_products_difference, &products<true, true>);
  set(Op::weigh_add, &ternary<WeighAdd>);
  set(Op::weigh_sub, &ternary<WeighSub>);
  set(Op::negate_weigh_add, &ternary<NegateWeighAdd>);
  set(Op::weighed_sum, &products<false, false, true>);
  set(Op::weighed_difference, &products<true, false, true>);
  set(Op::add_weighed_sum, &products<false, true, true>);
  set(Op::add_weighed_difference, &products<true, true, true>);
  set(Op::add_three, &add_terms<3>);
  set(Op::add_four, &add_terms<4>);
  set(Op::add_five, &add_terms<5>);
  set(Op::sin_cos, &sine_and_cosine);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::program
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::program {

HWY_EXPORT(fill_table);

Kernel kernel_of(Op op) {
  static const auto table = [] {
    std::array<Kernel, kOps> made{};
    HWY_DYNAMIC_DISPATCH(fill_table)(made.data());
    return made;
  }();
  return table[static_cast<std::size_t>(op)];
}

double apply(Op op, double a, double b, double c) {
  const double given[] = {a, b, c};
  double in[3][kStep], out[2][kStep];
  Call call{{out[0], out[1]}, {}};
  for (int i = 0; i < 3; ++i) {
    for (double& number : in[i]) number = given[i];
    call.in[i] = {in[i], 0};
  }
  kernel_of(op)(call, kStep);
  return out[0][0];
}

}  // namespace rimetree::program
#endif  // HWY_ONCE
