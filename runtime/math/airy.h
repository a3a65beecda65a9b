// The diffraction pattern of a circular aperture, which is also the visibility of a uniform disk: 2 J_1(x)/x; and its
// slope.
#pragma once

#include "runtime/math/conventions.h"

namespace rimetree {

namespace airy_detail {
/// A Bessel function J_n. Polynomials go through values by 50 digits at Chebyshev points; highest powers of p and q and
/// lowest of `near` come first. For x <= 8, J_n(x) n! (2/x)^n is `near` of (x/8)^2, of which no term is beyond 30.
/// Beyond (Abramowitz & Stegun, 9.2.5), with z = (8/x)^2,
///   J_n(x) = sqrt(2/(pi x)) (p(z) cos(x - phase) - q(z)/x sin(x - phase)).
struct Bessel {
  double near[15], p[11], q[11], phase;
};
inline constexpr double kNearSquare = 64, kSqrtTwoOverPi = 0.79788456080286536;

RT_HD constexpr Bessel bessel_1() {
  return {{1.0, -7.9999999999999773, 21.333333333331639, -28.444444444394459, 22.755555554782878, -12.136296289099923,
           4.6233509262480366, -1.3209572373365324, 0.29354555416070339, -0.052184827889547068, 0.0075889323027960742,
           -0.00091815272591241213, 9.2875424066718916e-5, -7.5200324093007536e-6, 3.8194211981516574e-7},
          {-3.6952120807193619e-10, 2.5618993665998049e-9, -8.6753903383115872e-9, 2.0635075190579087e-8,
           -4.4511635687158544e-8, 1.1219718218405029e-7, -4.1010901467688845e-7, 2.5809719242561514e-6,
           -3.5203991843108873e-5, 1.8310546874638278e-3, 1.0},
          {2.6556317157680898e-9, -1.805753542130965e-8, 5.915184575179493e-8, -1.3262865065976444e-7,
           2.58128450093697e-7, -5.5395595248395664e-7, 1.6225330507501511e-6, -7.6045305459337081e-6,
           6.7767675502925904e-5, -1.602172851278037e-3, 0.375},
          0.75 * kPi};
}
RT_HD constexpr Bessel bessel_2() {
  return {{1.0, -5.3333333333333306, 10.666666666666462, -11.377777777771749, 7.5851851850920012, -3.4675132266454906,
           1.1558377372277958, -0.29354607131913617, 0.058709153709447082, -0.0094882207855637527, 0.001264903345509402,
           -0.00014131919336335496, 1.3301973839647974e-5, -1.0132276225381225e-6, 4.9208191089729277e-8},
          {4.5310561156930527e-10, -3.1547105046548757e-9, 1.0763834100866948e-8, -2.5969612398133863e-8,
           5.7537102943668119e-8, -1.5195512058604431e-7, 5.9944285290605184e-7, -4.3016309565705422e-6,
           7.7448783524750595e-5, -1.2817382812456398e-2, 1.0},
          {-3.2275521211563735e-9, 2.2025014879950631e-8, -7.2601022451725007e-8, 1.6468088131268698e-7,
           -3.2751688114391649e-7, 7.2992771322149292e-7, -2.2718804469943698e-6, 1.1752522657729239e-5,
           -1.2585426220080883e-4, 4.8065185543471885e-3, 1.875},
          1.25 * kPi};
}

/// From the square of x, which is at most kNearSquare: J_n(x) n! (2/x)^n.
template <class T>
RT_HD T near_bessel(const Bessel& j, T x_squared) {
  using P = Plain<T>;
  const T t = x_squared * T(P(1 / kNearSquare)), t_squared = t * t;
  // Even and odd powers apart, as neither waits for the other.
  T even = T(P(j.near[14])), odd = T(P(j.near[13]));
  for (int k = 12; k > 0; k -= 2)
    even = even * t_squared + T(P(j.near[k])), odd = odd * t_squared + T(P(j.near[k - 1]));
  return even * t_squared + T(P(j.near[0])) + t * odd;
}
/// From the square of x, which is at least kNearSquare: J_n(x) x.
template <class T>
RT_HD T far_bessel(const Bessel& j, T x_squared) {
  using P = Plain<T>;
  const T z = T(P(kNearSquare)) / x_squared, x = sqrt(x_squared), turned = x - T(P(j.phase));
  T p = T(P(j.p[0])), q = T(P(j.q[0]));
  for (int k = 1; k < 11; ++k) p = p * z + T(P(j.p[k])), q = q * z + T(P(j.q[k]));
  return T(P(kSqrtTwoOverPi)) * sqrt(x) * (p * cos(turned) - q / x * sin(turned));
}
}  // namespace airy_detail

/// 2 J_1(x)/x of the square of x, to 1e-14; even in x, so that it has a derivative at 0.
template <class T>
RT_HD T airy_of_square(T x_squared) {
  using namespace airy_detail;
  const Bessel j = bessel_1();
  if (value_of(x_squared) <= Plain<T>(kNearSquare)) return near_bessel(j, x_squared);
  return T(Plain<T>(2)) * far_bessel(j, x_squared) / x_squared;
}

/// Its derivative by the square of x: -J_2(x)/x^2.
template <class T>
RT_HD T airy_slope_of_square(T x_squared) {
  using namespace airy_detail;
  const Bessel j = bessel_2();
  if (value_of(x_squared) <= Plain<T>(kNearSquare)) return T(Plain<T>(-0.125)) * near_bessel(j, x_squared);
  return -far_bessel(j, x_squared) / (x_squared * sqrt(x_squared));
}

}  // namespace rimetree
