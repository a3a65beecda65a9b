// What the caller of the PSV kernel may want to know beforehand: scratch, cost, and how far to trust the smearing.
#include <algorithm>
#include <cmath>

#include "nodes/psv/kernel.h"
#include "nodes/psv/summed.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv {

template <class T>
Workspace<T>::Workspace(const Sky<T>& sky, const Channels& channels, const JonesTerms& jones) {
  std::size_t longest = 1;
  for (const ChannelCut& cut : channels.cut)
    for (const Run& run : cut.runs) longest = std::max(longest, run.count);
  const JonesUse kind = jones.n_pair == 0           ? JonesUse::kNone
                        : matrices_vary(sky, jones) ? JonesUse::kVarying
                                                    : JonesUse::kConstant;
  const std::size_t n_plane = jones.n_pair > 0 ? 8 : sky.planes.size();
  memory_.allocate([&](ScratchMemory& cut) { scratch_.divide(cut, n_plane, longest, kind); });
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
    const double exposure = rows.is_smeared_in_time() ? std::abs(rows.exposure_s[i]) : 0.0;
    const double change =
        rows.is_smeared_in_time() ? extent.bound_of_change(rows.du[i], rows.dv[i], rows.dw[i], exposure) : 0.0;
    const double a = wave_number * channels.highest_hz * change, b = wave_number * path * width;
    const double length = std::hypot(rows.u[i], rows.v[i], rows.w[i]);
    const double turn = kEarthRotation_rad_s * exposure;
    const double q = a * relative_width, r = turn * turn * wave_number * channels.highest_hz * length * offset;
    const double error = q * std::min(0.25, a / 12) * std::min(0.25, b / 12) + r / 24 + q * q / 32 + r * r / 128;
    limits.time_rad = std::max(limits.time_rad, a);
    limits.frequency_rad = std::max(limits.frequency_rad, b);
    if (std::isfinite(change)) limits.error = std::max(limits.error, std::min(error, 1.0));
  }
  return limits;
}

bool singles_meet(double tolerance, const Summed& of) {
  // Phases are off by some 2^-52 of their turns, and devices keep them in units of 2^-32 turns.
  constexpr double kMostTurns = 0x1p26;
  if (tolerance < kSingleBound) return false;
  double path_m = 0;
  for (std::size_t i = 0; i < of.rows.n_row; ++i)
    path_m = std::max(path_m, of.sky.extent.bound(of.rows.u[i], of.rows.v[i], of.rows.w[i]));
  return path_m * of.channels.highest_hz < kMostTurns * kSpeedOfLight_m_s;
}

}  // namespace rimetree::psv
