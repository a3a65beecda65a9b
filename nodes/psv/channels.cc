// Cuts channels into regular runs. A list of frequencies counts as regular where its steps agree to a few units in the
// last place; what the rounded frequencies then differ from the ideal grid is kept, and the kernel either shows that it
// does not matter for the rows at hand or turns each channel by it. The same of widths, as differences of rounded
// frequencies are: where paths are too long for it, runs are of one width to the last bit.
#include <algorithm>
#include <cmath>
#include <limits>

#include "nodes/psv/blocks.h"
#include "nodes/psv/kernel.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv {
namespace {

/// How many channels from `first` on are regularly spaced, of one width and within a factor 1.4 of each other (which
/// bounds how fast an exponential taper may change along a run).
std::size_t regular_length(const Channels& c, std::size_t first, const CutKind& kind) {
  const double width = std::abs(c.width_hz[first]);
  const std::vector<double>& nu = c.frequency_hz;
  std::size_t n = 1;
  double low = std::abs(nu[first]), high = low;
  for (std::size_t k = first + 1; k < nu.size(); ++k, ++n) {
    low = std::min(low, std::abs(nu[k]));
    high = std::max(high, std::abs(nu[k]));
    const double spacing = nu[first + 1] - nu[first];
    const bool even = std::abs((nu[k] - nu[k - 1]) - spacing) <= kRoundedHz * high;
    const double width_error = std::abs(std::abs(c.width_hz[k]) - width);
    if (!even || !(width_error <= (kind.one_width ? 0 : kRoundedHz * high)) || !(high <= 1.4 * low)) break;
  }
  return n;
}

Run make_run(const Channels& c, std::size_t first, std::size_t count, ChannelCut& cut) {
  Run run;
  run.first = first;
  run.count = count;
  run.width_hz = std::abs(c.width_hz[first]);
  run.first_hz = c.frequency_hz[first];
  const double last_hz = c.frequency_hz[first + count - 1];
  run.low_hz = std::min(run.first_hz, last_hz);
  run.high_hz = std::max(run.first_hz, last_hz);
  run.n_tile = (count + kTileChannels - 1) / kTileChannels;

  const DoubleDouble<double> light{kSpeedOfLight_m_s, 0.0};
  DoubleDouble<double> spacing{0.0, 0.0}, middle{run.first_hz, 0.0};
  if (count > 1) {
    spacing = exact::quotient(exact::sum(last_hz, -run.first_hz), DoubleDouble<double>{double(count - 1), 0.0});
    const double steps = 0.5 * double(run.n_tile * kTileChannels - 1);
    const DoubleDouble<double> come = exact::product(steps, spacing.hi);
    middle = exact::sum(run.first_hz, come.hi);
    middle.lo += come.lo + steps * spacing.lo;
  }
  run.spacing_hz = spacing.hi;
  const DoubleDouble<double> k = exact::quotient(middle, light), step = exact::quotient(spacing, light);
  run.middle_high = k.hi;
  run.middle_low = k.lo;
  run.half_step_high = 0.5 * step.hi;
  run.half_step_low = 0.5 * step.lo;

  for (std::size_t i = 0; i < count; ++i) {
    const double nu = c.frequency_hz[first + i];
    // nu - first - i spacing, whose leading parts cancel without rounding.
    const DoubleDouble<double> gone = exact::product(double(i), spacing.hi);
    const DoubleDouble<double> come = exact::sum(nu, -run.first_hz);
    const double residual = ((come.hi - gone.hi) + (come.lo - gone.lo)) - double(i) * spacing.lo;
    cut.residual[first + i] = residual / kSpeedOfLight_m_s;
    cut.largest_residual = std::max(cut.largest_residual, std::abs(residual) / kSpeedOfLight_m_s);
    cut.largest_width_error =
        std::max(cut.largest_width_error, std::abs(std::abs(c.width_hz[first + i]) - run.width_hz));
  }
  return run;
}

}  // namespace

Channels analyse_channels(const double* frequency_hz, const double* width_hz, std::size_t n_channel) {
  Channels c;
  c.frequency_hz.assign(frequency_hz, frequency_hz + n_channel);
  c.width_hz.assign(n_channel, 0.0);
  if (width_hz != nullptr) c.width_hz.assign(width_hz, width_hz + n_channel);
  for (const double nu : c.frequency_hz) c.highest_hz = std::max(c.highest_hz, std::abs(nu));

  for (std::size_t i = 0; i < kCuts; ++i) {
    ChannelCut& cut = c.cut[i];
    const CutKind& kind = kCutKinds[i];
    if (i == 1 && c.cut[0].largest_width_error == 0) continue;
    cut.residual.resize(n_channel + kTileChannels);
    for (std::size_t first = 0; first < n_channel;) {
      const std::size_t regular = kind.most_channels == 1 ? 1 : regular_length(c, first, kind);
      // Runs of equal length, in whole tiles.
      const std::size_t pieces = (regular + kind.most_channels - 1) / kind.most_channels;
      std::size_t length = (regular + pieces - 1) / pieces;
      if (pieces > 1)
        length = std::min(kind.most_channels, (length + kTileChannels - 1) / kTileChannels * kTileChannels);
      for (const std::size_t end = first + regular; first < end; first += std::min(length, end - first))
        cut.runs.push_back(make_run(c, first, std::min(length, end - first), cut));
    }
  }
  return c;
}

}  // namespace rimetree::psv
