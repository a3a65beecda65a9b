// Written from the measurement equation alone (Smirnov 2011, A&A 527, A106, eqs 14 and 18), in long double throughout:
// nothing here but the tapers of profiles is shared with the kernels or with their reference (body.h), so that a
// mistake there shows here. On x86 a long double has 64 bits of mantissa: a phase of 1e6 radians is right to 1e-13.
#include "nodes/psv/verify.h"

#include <cmath>

#include "runtime/math/profile.h"

namespace rimetree::psv {
namespace {

using Real = long double;
using Number = std::complex<long double>;
using Matrix = std::array<Number, 4>;

constexpr Real kTurn = 6.28318530717958647692528676655900577L;
constexpr Real kLight = 299792458.0L;

Matrix product(const Matrix& a, const Matrix& b) {
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

Number number_at(const Strided<Complex<double>>& view, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  if (!view) return 0;
  const Complex<double> z = view.at(s, t, f);
  return {z.re, z.im};
}

/// One side of a pair as a matrix; a scalar is that multiple of the unit matrix.
Matrix side_at(const Strided<Complex<double>> (&view)[4], bool is_matrix, std::ptrdiff_t s, std::ptrdiff_t t,
               std::ptrdiff_t f) {
  const Number first = number_at(view[0], s, t, f);
  if (!is_matrix) return {first, 0, 0, first};
  return {first, number_at(view[1], s, t, f), number_at(view[2], s, t, f), number_at(view[3], s, t, f)};
}

Matrix brightness_seen(const Problem<double>& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  Matrix b = side_at(x.brightness, true, s, t, f);
  for (int i = 0; i < x.n_jones; ++i) {
    const JonesPair<double>& pair = x.jones[i];
    b = product(product(side_at(pair.p, pair.p_is_matrix, s, t, f), b), side_at(pair.q, pair.q_is_matrix, s, t, f));
  }
  return b;
}

/// sin(pi turns)/(pi turns): the mean of a phase that changes evenly by so many turns.
Real mean_over(Real turns) {
  const Real x = kTurn / 2 * turns;
  return x == 0 ? 1 : std::sin(x) / x;
}

Number coherence_of(const Problem<double>& x, std::ptrdiff_t s, std::ptrdiff_t t, std::ptrdiff_t f) {
  const Real l = x.l.at(s, t, f), m = x.m.at(s, t, f), n = x.n.at(s, t, f);
  Real depth = n;  // n - n_minus; n - 1 of a unit vector from l and m, where n itself has too few digits
  if (x.n_minus == 1) depth = n < 0 ? n - 1 : -(l * l + m * m) / (1 + n);
  const Real u = x.u.at(s, t, f), v = x.v.at(s, t, f), w = x.w.at(s, t, f);
  const Real wave = x.frequency_hz[f] / kLight, path = u * l + v * m + w * depth;
  Real amplitude = 1;
  if (x.du && x.smear_frequency && x.width_hz) amplitude *= mean_over(path * x.width_hz[f] / kLight);
  if (x.du && x.smear_time && x.exposure_s) {
    const Real rate = x.du.at(s, t, f) * l + x.dv.at(s, t, f) * m + x.dw.at(s, t, f) * depth;
    amplitude *= mean_over(rate * wave * x.exposure_s[t]);
  }
  if (x.major || x.axes[0]) {
    Real along = 0, across = 0;
    if (x.major) {
      const Real angle = x.position_angle.at(s, t, f);
      along = wave * (u * std::sin(angle) + v * std::cos(angle)) * x.major.at(s, t, f);
      across = wave * (u * std::cos(angle) - v * std::sin(angle)) * x.minor.at(s, t, f);
    } else {
      const Real baseline[] = {u, v, w};
      for (int i = 0; i < 3; ++i) {
        along += wave * baseline[i] * x.axes[i].at(s, t, f);
        across += wave * baseline[i] * x.axes[3 + i].at(s, t, f);
      }
    }
    const Profile profile = x.profile ? profile_of(x.profile.at(s, t, f)) : Profile{0};
    amplitude *= taper_of<Real>(profile, scale_of(profile) * (along * along + across * across));
  }
  const Real turns = path * wave;
  return std::polar<Real>(1, kTurn * (turns - std::rint(turns))) * amplitude;
}

}  // namespace

ExtendedVisibility extended_visibility(const Problem<double>& problem, std::ptrdiff_t t, std::ptrdiff_t f) {
  ExtendedVisibility sum;
  for (std::ptrdiff_t s = 0; s < problem.n_source; ++s) {
    const Matrix b = brightness_seen(problem, s, t, f);
    const Number k = coherence_of(problem, s, t, f);
    Real largest = 0;
    for (std::size_t i = 0; i < 4; ++i) {
      sum.value[i] += k * b[i];
      largest = std::max(largest, std::abs(b[i]));
    }
    sum.flux += largest;
  }
  return sum;
}

}  // namespace rimetree::psv
