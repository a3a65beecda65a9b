#include "nodes/correlator/channel_plan.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "runtime/core/error.h"

namespace rimetree::correlator {

StreamShape channelised(const StreamShape& samples, const Channelisation& options, const FilterBank& bank) {
  StreamShape shape = samples;
  shape.format = options.format;
  shape.n_channel = options.n_channel;
  shape.interval_s = samples.interval_s * double(bank.step());
  shape.unit = samples.unit / options.gain;
  shape.independent = samples.independent * bank.independent();
  return shape;
}

void check_channelisation(const StreamShape& samples, const Channelisation& options) {
  if (samples.n_channel != 1)
    throw Error("the samples have " + std::to_string(samples.n_channel) + " channels; only one can be channelised");
  if (options.format.is_real)
    throw Error("channels have complex samples; format \"" + options.format.name + "\" is real");
  if (!options.delay_s.empty() && options.delay_s.size() != samples.n_input)
    throw Error(std::to_string(options.delay_s.size()) + " delays for " + std::to_string(samples.n_input) + " inputs");
}

ChannelPlan::ChannelPlan(const StreamShape& samples, const Channelisation& wanted)
    : in(samples),
      options(wanted),
      bank(options.n_channel, options.taps, options.window, samples.format.is_real,
           FilterBank::best_lanes(options.n_channel, samples.format.is_real)),
      shift(samples.n_input, 0) {
  check_channelisation(in, options);
  // What is left of numbers after a transform that does not divide by its length, and of their power.
  const double power = double(n_channel()) * (in.format.is_real ? 2 : 1), exact_scale = options.gain / std::sqrt(power);
  scale = float(exact_scale);
  if (options.delay_s.empty()) return;
  for (std::size_t i = 0; i < in.n_input; ++i) {
    const double delay = options.delay_s[i] / in.interval_s;
    shift[i] = std::llround(delay);
    for (std::size_t c = 0; c < n_channel(); ++c) {
      // The whole samples have turned the channel's own phase already.
      const double turns = options.centre_hz * options.delay_s[i] + bank.frequency(c) * (delay - double(shift[i])),
                   angle = 2 * std::numbers::pi * (turns - std::round(turns));
      phases.push_back(float(exact_scale * std::cos(angle)));
      phases.push_back(float(exact_scale * std::sin(angle)));
    }
  }
  const auto [least, most] = std::minmax_element(shift.begin(), shift.end());
  least_shift = *least;
  most_shift = *most;
}

}  // namespace rimetree::correlator
