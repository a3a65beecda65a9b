#include "runtime/ms/set/phase_centre.h"

#include <array>
#include <cmath>
#include <complex>
#include <vector>

#include "runtime/math/conventions.h"

namespace rimetree::ms {

namespace {

using Vector = std::array<double, 3>;

/// East, north and the direction itself.
std::array<Vector, 3> axes_at(const PhaseCentre& at) {
  const double sa = std::sin(at.ra_rad), ca = std::cos(at.ra_rad), sd = std::sin(at.dec_rad), cd = std::cos(at.dec_rad);
  return {{{-sa, ca, 0}, {-sd * ca, -sd * sa, cd}, {cd * ca, cd * sa, sd}}};
}

std::array<Vector, 3> rotation(const PhaseCentre& from, const PhaseCentre& to) {
  const auto before = axes_at(from), after = axes_at(to);
  std::array<Vector, 3> result{};
  for (std::size_t i = 0; i < 3; ++i)
    for (std::size_t j = 0; j < 3; ++j)
      for (std::size_t k = 0; k < 3; ++k) result[i][j] += after[i][k] * before[j][k];
  return result;
}

void rotate(const std::array<Vector, 3>& by, const double* from, double* to) {
  for (std::size_t i = 0; i < 3; ++i) to[i] = by[i][0] * from[0] + by[i][1] * from[1] + by[i][2] * from[2];
}

}  // namespace

void turn_uvw(const PhaseCentre& from, const PhaseCentre& to, const double* uvw_m, double* turned_m) {
  rotate(rotation(from, to), uvw_m, turned_m);
}

void move_phase_centre(const PhaseCentre& from, const PhaseCentre& to, Tile* tile) {
  if (from == to) return;
  const auto by = rotation(from, to);
  const std::size_t n_channel = tile->n_channel(), n_correlation = tile->n_correlation();
  std::vector<std::complex<float>> phasor(n_channel);
  for (std::size_t row = 0; row < tile->n_row(); ++row) {
    if (tile->row[row] < 0) continue;
    double* uvw_m = &tile->uvw_m[3 * row];
    const Vector stored{uvw_m[0], uvw_m[1], uvw_m[2]};
    rotate(by, stored.data(), uvw_m);
    uvw_rate(uvw_m, to.dec_rad, &tile->uvw_rate_m_s[3 * row]);
    if (tile->columns.empty()) continue;
    const double path_s = (stored[2] - uvw_m[2]) / kSpeedOfLight_m_s;
    for (std::size_t f = 0; f < n_channel; ++f) {
      const double turns = path_s * tile->frequency_hz[f], angle = 2 * kPi * (turns - std::nearbyint(turns));
      phasor[f] = {static_cast<float>(std::cos(angle)), static_cast<float>(std::sin(angle))};
    }
    for (auto& [name, column] : tile->columns) {
      std::complex<float>* value = &column[row * n_channel * n_correlation];
      for (std::size_t f = 0; f < n_channel; ++f)
        for (std::size_t c = 0; c < n_correlation; ++c, ++value) {
          const std::complex<float> v = *value, p = phasor[f];  // by hand: NaN and infinity need no care
          *value = {v.real() * p.real() - v.imag() * p.imag(), v.real() * p.imag() + v.imag() * p.real()};
        }
    }
  }
}

}  // namespace rimetree::ms
