// What the caller of the PSV kernel may want to know beforehand: scratch, cost, and how far to trust the smearing.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "nodes/psv/kernel.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv {

template <class T>
void Workspace<T>::Free::operator()(unsigned char* p) const {
  std::free(p);
}

template <class T>
Workspace<T>::Workspace(const Sky<T>& sky, const Channels& channels, const JonesTerms& jones) {
  std::size_t longest = 1;
  for (const RunLevel& level : channels.level)
    for (const Run& run : level.runs) longest = std::max(longest, run.count);
  using Jones = Layout::Jones;
  const Jones kind = matrices_vary(sky, jones) ? Jones::kVarying : jones.n_pair > 0 ? Jones::kConstant : Jones::kNone;
  const Layout layout = Layout::of<T>(jones.n_pair > 0 ? 8 : sky.planes.size(), longest, kind);
  bytes_ = layout.bytes;
  storage_.reset(static_cast<unsigned char*>(std::aligned_alloc(128, bytes_)));
  if (!storage_) throw std::bad_alloc();
  scratch_ = Scratch<T>::in(storage_.get(), layout);
}

template class Workspace<float>;
template class Workspace<double>;

/// With a = rate of phase x exposure, b = change of phase across the channel, and x, y in [-1/2, 1/2] the place in the
/// cell, the phase is p0 + a x + b y + q x y + r x^2/2 + ..., q = a width/nu, |r| <= (omega exposure)^2 2 pi |baseline|
/// |(l, m, n-1)| nu/c, since a rotation's second derivative is at most omega^2 times the vector's length. The sincs
/// keep a and b. To first order the rest adds q <x y e^i(ax+by)> with |<x e^iax>| <= min(1/4, |a|/12), and r <x^2>/2 <=
/// r/24; the second order, (q x y)^2/2 and (r x^2/2)^2/2, is bounded by its largest value.
SmearingLimits largest_phase_change(const Extent& extent, const Channels& channels, const Rows& rows) {
  SmearingLimits limits;
  if (rows.du == nullptr) return limits;
  double width = 0, relative_width = 0;
  if (rows.smear_frequency)
    for (std::size_t f = 0; f < channels.width_hz.size(); ++f) {
      const double w = std::abs(channels.width_hz[f]), nu = std::abs(channels.frequency_hz[f]);
      width = std::max(width, w);
      if (nu > 0) relative_width = std::max(relative_width, w / nu);
    }
  const double offset = std::hypot(extent.l, extent.m, extent.n);
  const double wave_number = 2 * kPi / kSpeedOfLight_m_s;
  for (std::size_t i = 0; i < rows.n_row; ++i) {
    const double path = extent.bound(rows.u[i], rows.v[i], rows.w[i]);
    const double exposure = rows.smear_time && rows.exposure_s != nullptr ? std::abs(rows.exposure_s[i]) : 0.0;
    const double rate = extent.bound(rows.du[i], rows.dv[i], rows.dw[i]);
    const double a = wave_number * channels.highest_hz * rate * exposure, b = wave_number * path * width;
    const double length = std::hypot(rows.u[i], rows.v[i], rows.w[i]);
    const double turn = kEarthRotation_rad_s * exposure;
    const double q = a * relative_width, r = turn * turn * wave_number * channels.highest_hz * length * offset;
    const double error = q * std::min(0.25, a / 12) * std::min(0.25, b / 12) + r / 24 + q * q / 32 + r * r / 128;
    limits.time_rad = std::max(limits.time_rad, a);
    limits.frequency_rad = std::max(limits.frequency_rad, b);
    limits.error = std::max(limits.error, std::min(error, 1.0));
  }
  return limits;
}

template <class T>
double multiply_adds(const Sky<T>& sky, const Channels& channels, const Rows& rows, const JonesTerms& jones) {
  const double visibilities = double(sky.n_source) * double(rows.n_row) * double(channels.frequency_hz.size());
  // Four for the phasor, two per plane. A pair of 2x2 terms takes two complex matrix products of 32; what the terms of
  // one end of a baseline come to does not count where other baselines share it, and leaves one product.
  const double planes = jones.n_pair > 0 ? 8.0 : double(sky.planes.size());
  const double products = matrices_vary(sky, jones) ? 32.0 : 64.0 * jones.n_pair / double(channels.frequency_hz.size());
  return visibilities * (4 + 2 * planes + products);
}

template double multiply_adds<float>(const Sky<float>&, const Channels&, const Rows&, const JonesTerms&);
template double multiply_adds<double>(const Sky<double>&, const Channels&, const Rows&, const JonesTerms&);

}  // namespace rimetree::psv
