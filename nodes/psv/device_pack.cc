#include "nodes/psv/device_pack.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "runtime/math/double_double.h"
#include "runtime/math/jones.h"

namespace rimetree::psv {
namespace {

/// Radians by which a regular grid may be off: none worth a correction, and one that is still 1 + i x to 1e-14.
constexpr double kNoTurn = 1e-13, kSmallTurn = 1e-7;

DeviceChannel device_channel(const Channels& c, std::size_t i) {
  const DoubleDouble<double> turns = turns_per_metre(c.frequency_hz[i]);
  return {turns.hi, turns.lo, c.frequency_hz[i], std::abs(c.width_hz[i]) / kSpeedOfLight_m_s, c.level[0].residual[i]};
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

Jones<double> jones_of(const JonesSide& side, std::size_t source, std::int32_t time, std::int32_t channel) {
  const auto at = [&](int e) {
    return side.view[e] ? side.view[e].at(static_cast<std::ptrdiff_t>(source), time, channel) : Complex<double>();
  };
  const Jones<double> j =
      side.is_matrix ? Jones<double>{at(0), at(1), at(2), at(3)} : Jones<double>{at(0), {}, {}, at(0)};
  return side.take_adjoint ? hermitian(j) : j;
}

Jones<double> brightness_of(const Sky<double>& sky, std::size_t source, std::int32_t channel) {
  const std::size_t f = sky.n_weight_channel == 1 ? 0 : static_cast<std::size_t>(channel);
  const double* b = &sky.brightness[(source * sky.n_weight_channel + f) * 8];
  return {{b[0], b[1]}, {b[2], b[3]}, {b[4], b[5]}, {b[6], b[7]}};
}

/// Fills [chain][time][channel][source] with product(chain, packed source, time, channel).
template <class T, class F>
std::vector<Complex<T>> products(std::size_t n_chain, const JonesAxes& axes, const ProductRange& range,
                                 ThreadPool& threads, F&& product) {
  const std::size_t n_source = range.source_end - range.source_begin;
  const bool varies = axes.n_channel > 1;
  const auto n_time = static_cast<std::size_t>(axes.n_time);
  const auto n_channel = static_cast<std::size_t>(varies ? range.n_channel : 1);
  std::vector<Complex<T>> all(n_chain * n_time * n_channel * n_source * 4);
  threads.parallel_for(n_chain * n_time * n_channel, 1, [&](std::size_t first, std::size_t last, int) {
    for (std::size_t i = first; i < last; ++i) {
      Complex<T>* to = all.data() + i * n_source * 4;
      const auto f = static_cast<std::int32_t>(i % n_channel) + (varies ? range.first_channel : 0);
      const auto t = static_cast<std::int32_t>(i / n_channel % n_time);
      for (std::size_t s = range.source_begin; s < range.source_end; ++s) {
        const Jones<double> j = product(i / n_channel / n_time, s, t, f);
        for (const Complex<double>& e : {j.xx, j.xy, j.yx, j.yy}) *to++ = {static_cast<T>(e.re), static_cast<T>(e.im)};
      }
    }
  });
  return all;
}

}  // namespace

std::vector<DeviceSource> device_sources(const Sky<double>& sky) {
  std::vector<DeviceSource> sources(sky.n_source);
  for (std::size_t s = 0; s < sky.n_source; ++s) {
    sources[s] = {sky.l[s], sky.m[s], sky.n_high[s], sky.n_low[s], 0, 0, 0, 0};
    if (s < sky.n_point) continue;
    const std::size_t shape = s - sky.n_point;
    sources[s].major_rad = sky.major_rad[shape], sources[s].minor_rad = sky.minor_rad[shape];
    sources[s].sin_angle = sky.sin_angle[shape], sources[s].cos_angle = sky.cos_angle[shape];
  }
  return sources;
}

template <class T>
std::vector<T> device_weights(const Sky<double>& sky) {
  const std::size_t n_plane = sky.planes.size(), count = sky.n_source * sky.n_weight_channel;
  std::vector<T> weights(count * n_plane);
  for (std::size_t p = 0; p < n_plane; ++p) {
    const std::size_t to =
        n_plane == 8 ? static_cast<std::size_t>(sky.planes[p]) - static_cast<std::size_t>(Plane::kXxRe) : p;
    for (std::size_t i = 0; i < count; ++i) weights[i * n_plane + to] = static_cast<T>(sky.weights[i * n_plane + p]);
  }
  return weights;
}

template std::vector<float> device_weights<float>(const Sky<double>&);
template std::vector<double> device_weights<double>(const Sky<double>&);

DeviceChannels device_channels(const Channels& c, double reach_m) {
  DeviceChannels d;
  const RunLevel& level = c.level[0];
  const double turn = 2 * kPi * reach_m * level.largest_residual;
  d.regular = turn <= kSmallTurn && std::all_of(level.runs.begin(), level.runs.end(), is_sound);
  d.residual = d.regular && turn > kNoTurn;
  const std::size_t n_channel = c.frequency_hz.size();
  for (std::size_t i = 0; i < n_channel; ++i) d.channels.push_back(device_channel(c, i));
  if (d.regular) {
    for (const Run& run : level.runs) d.runs.push_back(device_run(run));
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

JonesAxes left_axes(const JonesChains& chains, const Sky<double>& sky) {
  JonesAxes axes = chains.left_axes;
  axes.n_channel = std::max(axes.n_channel, static_cast<std::int32_t>(sky.n_weight_channel));
  return axes;
}

template <class T>
std::vector<Complex<T>> left_products(const JonesChains& chains, const Sky<double>& sky, const ProductRange& range,
                                      ThreadPool& threads) {
  return products<T>(chains.left.size(), left_axes(chains, sky), range, threads,
                     [&](std::size_t chain, std::size_t s, std::int32_t t, std::int32_t f) {
                       Jones<double> j = brightness_of(sky, s, f);
                       for (const JonesSide& one : chains.left[chain]) j = jones_of(one, sky.order[s], t, f) * j;
                       return j;
                     });
}

template <class T>
std::vector<Complex<T>> right_products(const JonesChains& chains, const Sky<double>& sky, const ProductRange& range,
                                       ThreadPool& threads) {
  return products<T>(chains.right.size(), chains.right_axes, range, threads,
                     [&](std::size_t chain, std::size_t s, std::int32_t t, std::int32_t f) {
                       Jones<double> j{1.0, 0.0, 0.0, 1.0};
                       for (const JonesSide& one : chains.right[chain]) j = j * jones_of(one, sky.order[s], t, f);
                       return j;
                     });
}

template std::vector<Complex<float>> left_products<float>(const JonesChains&, const Sky<double>&, const ProductRange&,
                                                          ThreadPool&);
template std::vector<Complex<float>> right_products<float>(const JonesChains&, const Sky<double>&, const ProductRange&,
                                                           ThreadPool&);
template std::vector<Complex<double>> left_products<double>(const JonesChains&, const Sky<double>&, const ProductRange&,
                                                            ThreadPool&);
template std::vector<Complex<double>> right_products<double>(const JonesChains&, const Sky<double>&,
                                                             const ProductRange&, ThreadPool&);

}  // namespace rimetree::psv
