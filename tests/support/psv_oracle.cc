#include "tests/support/psv_oracle.h"

#include <cmath>

namespace rimetree::oracle {
namespace {

constexpr Real kTau = 6.28318530717958647692528676655900577L;
constexpr Real kLight = 299792458.0L;
constexpr Real kOmega = 7.292115e-5L;

Real offset(const Source& s, int n_minus) {
  if (n_minus == 0) return s.n;
  const Real l = s.l, m = s.m, n = s.n;
  return n < 0 ? n - 1 : -(l * l + m * m) / (n + 1);
}

Real path(const Source& s, Real u, Real v, Real w, int n_minus) { return u * s.l + v * s.m + w * offset(s, n_minus); }

Number unit(Real turns) {
  turns -= std::rint(turns);
  return {std::cos(kTau * turns), std::sin(kTau * turns)};
}

Real sinc(Real x) { return x == 0 ? 1 : std::sin(x) / x; }

/// Nodes and weights of Gauss-Legendre quadrature on [-1, 1], by Newton's method on the Legendre polynomial.
void gauss_legendre(int n, std::vector<Real>& node, std::vector<Real>& weight) {
  for (int i = 0; i < n; ++i) {
    Real x = std::cos(kTau / 2 * (i + 0.75L) / (n + 0.5L)), slope = 0;
    for (int iteration = 0; iteration < 50; ++iteration) {
      Real p0 = 1, p1 = x;
      for (int k = 2; k <= n; ++k) {
        const Real p2 = ((2 * k - 1) * x * p1 - (k - 1) * p0) / k;
        p0 = p1;
        p1 = p2;
      }
      slope = n * (x * p1 - p0) / (x * x - 1);
      x -= p1 / slope;
    }
    node.push_back(x);
    weight.push_back(2 / ((1 - x * x) * slope * slope));
  }
}

struct Point {
  Real u, v, w;
};

Point moved(const Row& r, Real seconds, Motion motion, Real declination) {
  if (motion == Motion::kLinear) return {r.u + r.du * seconds, r.v + r.dv * seconds, r.w + r.dw * seconds};
  // (u, v, w) axes: east, north, towards the source. In them the Earth's axis is (0, cos dec, sin dec); a baseline
  // fixed to the Earth turns about it by omega t (Rodrigues' formula).
  const Real c = std::cos(kOmega * seconds), s = std::sin(kOmega * seconds);
  const Real ky = std::cos(declination), kz = std::sin(declination);
  const Real dot = ky * r.v + kz * r.w;
  const Real cross[3] = {ky * r.w - kz * r.v, kz * r.u, -ky * r.u};
  return {r.u * c + cross[0] * s, r.v * c + cross[1] * s + ky * dot * (1 - c),
          r.w * c + cross[2] * s + kz * dot * (1 - c)};
}

}  // namespace

Matrix operator*(const Matrix& a, const Matrix& b) {
  return {{a.e[0] * b.e[0] + a.e[1] * b.e[2], a.e[0] * b.e[1] + a.e[1] * b.e[3], a.e[2] * b.e[0] + a.e[3] * b.e[2],
           a.e[2] * b.e[1] + a.e[3] * b.e[3]}};
}

Matrix adjoint(const Matrix& a) {
  return {{std::conj(a.e[0]), std::conj(a.e[2]), std::conj(a.e[1]), std::conj(a.e[3])}};
}

Number fringe(const Source& s, const Row& r, Real frequency, int n_minus) {
  return unit(path(s, r.u, r.v, r.w, n_minus) * frequency / kLight);
}

Number coherence(const Source& s, const Row& r, const Channel& c, int n_minus) {
  const Real delay = path(s, r.u, r.v, r.w, n_minus) / kLight, rate = path(s, r.du, r.dv, r.dw, n_minus) / kLight;
  Real amplitude = sinc(kTau / 2 * delay * c.width) * sinc(kTau / 2 * rate * c.frequency * r.exposure);
  const bool by_vectors = s.axes[0][0] != 0 || s.axes[0][1] != 0;
  if (s.major != 0 || s.minor != 0 || by_vectors) {
    // A Gaussian of full width w is exp(-4 ln2 x^2/w^2); its transform is exp(-pi^2 w^2 q^2/(4 ln2)).
    const Real wave = c.frequency / kLight, angle = s.position_angle;
    Real along = wave * (r.u * std::sin(angle) + r.v * std::cos(angle)) * s.major;
    Real across = wave * (r.u * std::cos(angle) - r.v * std::sin(angle)) * s.minor;
    if (by_vectors) {
      along = wave * (s.axes[0][0] * r.u + s.axes[0][1] * r.v + s.axes[0][2] * r.w);
      across = wave * (s.axes[1][0] * r.u + s.axes[1][1] * r.v + s.axes[1][2] * r.w);
    }
    const Real square = along * along + across * across;
    // A disk exp(-r/h) of unit flux has (1 + (2 pi h q)^2)^(-3/2), one that is the same within a diameter d has
    // 2 J_1(pi d q)/(pi d q).
    const Real x = kTau / 2 * std::sqrt(square);
    if (s.profile == 0)
      amplitude *= std::exp(-(kTau * kTau / 16) / std::log(2.0L) * square);
    else if (s.profile == 1)
      amplitude /= std::pow(1 + kTau * kTau * square, 1.5L);
    else if (x > 0)
      amplitude *= 2 * std::cyl_bessel_jl(1, x) / x;
  }
  return amplitude * fringe(s, r, c.frequency, n_minus);
}

Matrix visibility(const std::vector<Source>& sources, const Row& row, const Channel& channel, std::size_t f,
                  const std::vector<Matrix>& jones_p, const std::vector<Matrix>& jones_q, int n_minus) {
  Matrix sum;
  for (std::size_t s = 0; s < sources.size(); ++s) {
    Matrix b = sources[s].brightness.size() > 1 ? sources[s].brightness[f] : sources[s].brightness[0];
    if (!jones_p.empty()) b = jones_p[s] * b * adjoint(jones_q[s]);
    const Number k = coherence(sources[s], row, channel, n_minus);
    for (int i = 0; i < 4; ++i) sum.e[i] += k * b.e[i];
  }
  return sum;
}

Number average_fringe(const Source& s, const Row& row, const Channel& channel, Motion motion, double declination,
                      int n_node) {
  std::vector<Real> node, weight;
  gauss_legendre(n_node, node, weight);
  Number sum;
  for (int i = 0; i < n_node; ++i) {
    const Point p = moved(row, node[i] * row.exposure / 2, motion, declination);
    const Real length = path(s, p.u, p.v, p.w, 1);
    for (int j = 0; j < n_node; ++j)
      sum += weight[i] * weight[j] / 4 * unit(length * (channel.frequency + node[j] * channel.width / 2) / kLight);
  }
  return sum;
}

}  // namespace rimetree::oracle
