// The diffraction pattern of a circular aperture: 2 J_1(x)/x.
#pragma once

#include "runtime/math/conventions.h"

namespace rimetree {

/// 2 J_1(x)/x of the square of x, to 1e-14; even in x, so that it has a derivative at 0.
template <class T>
RT_HD T airy_of_square(T x_squared) {
  using P = Plain<T>;
  if (value_of(x_squared) <= P(64)) {
    // The power series (Abramowitz & Stegun, 9.1.10): sum over k of (-x^2/4)^k / (k! (k+1)!). No term is beyond 30.
    const T q = x_squared * T(P(-0.25));
    T sum = T(P(1));
    for (int k = 26; k > 0; --k) sum = sum * q * T(P(1.0 / (k * (k + 1.0)))) + T(P(1));
    return sum;
  }
  // J_1(x) = sqrt(2/(pi x)) (P cos(x - 3 pi/4) - Q sin(x - 3 pi/4)) (9.2.5): P and x Q are smooth in z = (8/x)^2. These
  // are polynomials through their values, by 50 digits, at the Chebyshev points of degree 10.
  const T x = sqrt(x_squared), z = T(P(64)) / x_squared;
  T p = T(P(-3.6952120807193619e-10)), q = T(P(2.6556317157680898e-9));
  for (const double c : {2.5618993665998049e-9, -8.6753903383115872e-9, 2.0635075190579087e-8, -4.4511635687158544e-8,
                         1.1219718218405029e-7, -4.1010901467688845e-7, 2.5809719242561514e-6, -3.5203991843108873e-5,
                         1.8310546874638278e-3, 1.0})
    p = p * z + T(P(c));
  for (const double c : {-1.805753542130965e-8, 5.915184575179493e-8, -1.3262865065976444e-7, 2.58128450093697e-7,
                         -5.5395595248395664e-7, 1.6225330507501511e-6, -7.6045305459337081e-6, 6.7767675502925904e-5,
                         -1.602172851278037e-3, 0.375})
    q = q * z + T(P(c));
  const T phase = x - T(P(0.75 * kPi));
  return T(P(1.5957691216057308)) / (x * sqrt(x)) * (p * cos(phase) - q / x * sin(phase));  // 2 sqrt(2/pi)
}

}  // namespace rimetree
