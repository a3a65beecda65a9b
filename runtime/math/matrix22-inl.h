// Complex 2x2 matrices of vectors. Included once per instruction set.
#if defined(RIMETREE_RUNTIME_MATH_MATRIX22_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_RUNTIME_MATH_MATRIX22_INL_H_
#undef RIMETREE_RUNTIME_MATH_MATRIX22_INL_H_
#else
#define RIMETREE_RUNTIME_MATH_MATRIX22_INL_H_
#endif

#include "runtime/math/phasors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::vectors {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// 2x2 complex matrices, one per lane: XX XY YX YY.
template <class V>
struct Matrix {
  V re[4], im[4];
};

template <class V>
HWY_INLINE Matrix<V> product(const Matrix<V>& a, const Matrix<V>& b) {
  Matrix<V> c;
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i)
#pragma GCC unroll 2
    for (int j = 0; j < 2; ++j) {
      const int p = 2 * i, q = p + 1, r = j, s = 2 + j;
      V re = hn::Mul(a.re[p], b.re[r]);
      re = hn::NegMulAdd(a.im[p], b.im[r], re);
      re = hn::MulAdd(a.re[q], b.re[s], re);
      c.re[2 * i + j] = hn::NegMulAdd(a.im[q], b.im[s], re);
      V im = hn::Mul(a.re[p], b.im[r]);
      im = hn::MulAdd(a.im[p], b.re[r], im);
      im = hn::MulAdd(a.re[q], b.im[s], im);
      c.im[2 * i + j] = hn::MulAdd(a.im[q], b.re[s], im);
    }
  return c;
}

template <class V>
HWY_INLINE Matrix<V> sum(const Matrix<V>& a, const Matrix<V>& b) {
  Matrix<V> c;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) c.re[i] = hn::Add(a.re[i], b.re[i]), c.im[i] = hn::Add(a.im[i], b.im[i]);
  return c;
}

template <class V>
HWY_INLINE void scale(Matrix<V>& a, V re, V im) {
  for (int i = 0; i < 4; ++i) multiply(a.re[i], a.im[i], re, im);
}

/// Zero for what is not finite.
template <class V>
HWY_INLINE V finite_part(V x) {
  return hn::IfThenElseZero(hn::IsFinite(x), x);
}
template <class V>
HWY_INLINE Matrix<V> finite_part(Matrix<V> a) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) a.re[i] = finite_part(a.re[i]), a.im[i] = finite_part(a.im[i]);
  return a;
}

template <class V>
HWY_INLINE Matrix<V> conjugates(Matrix<V> a) {
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) a.im[i] = hn::Neg(a.im[i]);
  return a;
}

template <class V>
HWY_INLINE Matrix<V> hermitian(const Matrix<V>& a) {
  Matrix<V> c;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const int j = i == 1 ? 2 : i == 2 ? 1 : i;
    c.re[i] = a.re[j];
    c.im[i] = hn::Neg(a.im[j]);
  }
  return c;
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::vectors
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_RUNTIME_MATH_MATRIX22_INL_H_
