// The general path of the PSV sum: any broadcast of any input, plain and dual numbers, one cell at a time. Slow and
// plain: what the fast kernels cannot take comes here, and they are tested against it.
#pragma once

#include "nodes/psv/body.h"
#include "runtime/device/cell_numbers.h"

namespace rimetree::psv {

/// A sum that carries its rounding errors along (Knuth's two-sum, hence free of branches and valid for both parts of a
/// dual number): its error does not grow with the number of terms.
template <class T>
class CompensatedSum {
 public:
  RT_HD void add(T x) {
    const T s = sum_ + x;
    const T back = s - sum_;
    low_ += (sum_ - (s - back)) + (x - back);
    sum_ = s;
  }
  RT_HD T total() const { return sum_ + low_; }

 private:
  T sum_{}, low_{};
};

/// One visibility: sources in ascending order, so that the same inputs give the same bits. Of dual numbers only the
/// derivative is meant: sources that do not move are left out.
template <class X>
RT_HD Jones<typename X::Number> visibility(const X& x, std::ptrdiff_t t, std::ptrdiff_t f) {
  using T = typename X::Number;
  CompensatedSum<T> sum[8];
  for (std::ptrdiff_t s = 0; s < x.n_source; ++s) {
    if constexpr (cell_detail::is_dual<T>)
      if (is_fixed(x, s, t, f)) continue;
    for_each_element(contribution(x, s, t, f), [&sum](int i, Complex<T> z) {
      sum[2 * i].add(z.re);
      sum[2 * i + 1].add(z.im);
    });
  }
  return {{sum[0].total(), sum[1].total()},
          {sum[2].total(), sum[3].total()},
          {sum[4].total(), sum[5].total()},
          {sum[6].total(), sum[7].total()}};
}

/// All visibilities of one baseline into out[4][time][channel], for times in [time_begin, time_end).
template <class T>
void evaluate_reference(const Problem<T>& x, std::ptrdiff_t time_begin, std::ptrdiff_t time_end, Complex<T>* out) {
  const std::ptrdiff_t plane = x.n_time * x.n_channel;
  for (std::ptrdiff_t t = time_begin; t < time_end; ++t)
    for (std::ptrdiff_t f = 0; f < x.n_channel; ++f) {
      Complex<T>* cell = out + t * x.n_channel + f;
      for_each_element(visibility(x, t, f), [=](int i, Complex<T> z) { cell[i * plane] = z; });
    }
}

template <class T>
void evaluate_reference(const Problem<T>& x, Complex<T>* out) {
  evaluate_reference(x, 0, x.n_time, out);
}

}  // namespace rimetree::psv
