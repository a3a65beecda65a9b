#include "nodes/psv/pipeline/pack.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rimetree::psv::pipeline {
namespace {

/// Radians by which a regular grid may be off: none worth a correction, and one that is still 1 + i x to 1e-14.
constexpr double kNoTurn = 1e-13, kSmallTurn = 1e-7;
/// Of the flux, by which smearing may be off where widths are rounded.
constexpr double kWidths = 4e-13;

DeviceChannel device_channel(const Channels& c, const ChannelCut& cut, std::size_t i) {
  const DoubleDouble<double> turns = turns_per_metre(c.frequency_hz[i]);
  return {turns.hi, turns.lo, c.frequency_hz[i], std::abs(c.width_hz[i]) / kSpeedOfLight_m_s, cut.residual[i], 1};
}

DeviceRun device_run(const Run& run) {
  DeviceRun r{};
  r.first = static_cast<std::int32_t>(run.first);
  r.count = static_cast<std::int32_t>(run.count);
  r.n_tile = static_cast<std::int32_t>(run.n_tile);
  r.middle_high = run.middle_high, r.middle_low = run.middle_low;
  r.half_step_high = run.half_step_high, r.half_step_low = run.half_step_low;
  r.first_hz = run.first_hz, r.spacing_hz = run.spacing_hz;
  r.middle_hz = run.middle_high * kSpeedOfLight_m_s;
  r.lowest_hz = std::min(std::abs(run.low_hz), std::abs(run.high_hz));
  r.width_per_metre = run.width_hz / kSpeedOfLight_m_s;
  return r;
}

/// The middle of a run may lie beyond its channels; smearing is taken from there, so it must be a sound frequency.
bool is_sound(const Run& run) { return run.low_hz > 0 && run.middle_high * kSpeedOfLight_m_s > 0.25 * run.low_hz; }

}  // namespace

std::vector<DeviceSource> device_sources(const Sky<double>& sky, std::size_t begin, std::size_t end) {
  std::vector<DeviceSource> sources;
  sources.reserve(end - begin);
  for (std::size_t s = begin; s < end; ++s) {
    sources.push_back({sky.l[s], sky.m[s], sky.n_high[s], sky.n_low[s], {}});
    if (s >= sky.n_point) sources.back().axes = sky.axes[s - sky.n_point];
  }
  return sources;
}

template <class T>
std::vector<T> device_weights(const Sky<double>& sky, std::size_t begin, std::size_t end) {
  const std::size_t n_plane = sky.planes.size(), count = (end - begin) * sky.n_weight_channel;
  const double* from = sky.weights.data() + begin * sky.n_weight_channel * n_plane;
  std::vector<T> weights(count * n_plane);
  for (std::size_t p = 0; p < n_plane; ++p) {
    const std::size_t to =
        n_plane == 8 ? static_cast<std::size_t>(sky.planes[p]) - static_cast<std::size_t>(Plane::kXxRe) : p;
    for (std::size_t i = 0; i < count; ++i) weights[i * n_plane + to] = static_cast<T>(from[i * n_plane + p]);
  }
  return weights;
}

template std::vector<float> device_weights<float>(const Sky<double>&, std::size_t, std::size_t);
template std::vector<double> device_weights<double>(const Sky<double>&, std::size_t, std::size_t);

template <class T>
std::vector<Complex<T>> device_brightness(const Sky<double>& sky, std::size_t begin, std::size_t end) {
  std::vector<Complex<T>> brightness;
  for (std::size_t i = 4 * begin; i < 4 * end; ++i)
    brightness.push_back({static_cast<T>(sky.brightness[2 * i]), static_cast<T>(sky.brightness[2 * i + 1])});
  return brightness;
}

template std::vector<Complex<float>> device_brightness<float>(const Sky<double>&, std::size_t, std::size_t);
template std::vector<Complex<double>> device_brightness<double>(const Sky<double>&, std::size_t, std::size_t);

DeviceChannels device_channels(const Channels& c, double reach_m, bool smeared) {
  DeviceChannels d;
  const bool one_width = !smeared || smearing_error(c.cut[0].largest_width_error, reach_m) <= kWidths;
  const ChannelCut& cut = c.cut[one_width ? 0 : 1];
  const double turn = 2 * kPi * reach_m * cut.largest_residual;
  d.regular = turn <= kSmallTurn && std::all_of(cut.runs.begin(), cut.runs.end(), is_sound);
  d.residual = d.regular && turn > kNoTurn;
  const std::size_t n_channel = c.frequency_hz.size();
  for (std::size_t i = 0; i < n_channel; ++i) d.channels.push_back(device_channel(c, cut, i));
  if (d.regular) {
    for (const Run& run : cut.runs) {
      d.runs.push_back(device_run(run));
      for (std::size_t i = run.first; i < run.first + run.count; ++i)
        d.channels[i].middle_over_frequency = d.runs.back().middle_hz / c.frequency_hz[i];
    }
  } else {
    constexpr std::size_t kMost = kMaxTiles * kTileChannels;
    for (std::size_t first = 0; first < n_channel; first += kMost) {
      DeviceRun run{};
      run.first = static_cast<std::int32_t>(first);
      run.count = static_cast<std::int32_t>(std::min(kMost, n_channel - first));
      run.n_tile =
          (run.count + static_cast<std::int32_t>(kTileChannels) - 1) / static_cast<std::int32_t>(kTileChannels);
      d.runs.push_back(run);
    }
  }
  unsigned most = 1;
  for (const DeviceRun& run : d.runs) most = std::max(most, static_cast<unsigned>(run.n_tile));
  d.tiles = static_cast<int>(std::bit_ceil(most));
  return d;
}

}  // namespace rimetree::psv::pipeline
