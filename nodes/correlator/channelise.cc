// Channelise: channels of samples, by a Fourier transform or a polyphase filter bank (an F-engine)
//   X_c(m) = gain / sqrt(n) sum_t h_t x(m n + t) exp(-2 pi i c t / n)
//
// Child: voltages, a source of samples of one channel. State: n_channel (n; of real samples 2 n go into a transform),
// taps, window, format, gain, delay_s, centre_hz.
// Result: [input], real: the interval (s) between samples of a channel. Samples go to Correlate, block by block.
// Channels ascend in frequency: of complex samples number n / 2 is the frequency that was mixed to zero, of real ones
// number 0 is zero and half the sampling rate is left out. Flags: none. Derivative: none. Wayth, Greenhill & Briggs
// 2009, PASP 121, 857, section 2.
#include <algorithm>
#include <cmath>

#include "nodes/correlator/channelised_stream.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/forest/forest.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/review.h"

namespace rimetree {

class Channelise final : public Node, public Reviewer, public correlator::SampleSource {
 public:
  explicit Channelise(const State& state) : Node(state) {
    options_.n_channel = static_cast<std::size_t>(state.integer("n_channel"));
    options_.taps = static_cast<std::size_t>(state.integer("taps"));
    options_.window = static_cast<correlator::Window>(state.choice("window"));
    options_.format = correlator::sample_format(state.text("format"));
    options_.gain = state.real("gain");
    options_.centre_hz = state.real("centre_hz");
    const StateArray& delay = state.array("delay_s");
    if (delay.type != NumberType::real || delay.shape.size() > 1)
      throw StateError("state field \"delay_s\" must be a list of real numbers, one for each input");
    options_.delay_s = delay.data.vector();
    for (const double one : options_.delay_s)
      if (!std::isfinite(one)) throw StateError("state field \"delay_s\" holds numbers that are not finite");
    if (options_.n_channel > kMost || options_.taps > kMost / options_.n_channel)
      throw StateError("state fields \"n_channel\" times \"taps\" must be at most " + std::to_string(kMost));
  }

  static NodeClass info() {
    return {
        .name = "Channelise",
        .summary = "Channels of samples by a Fourier transform or a polyphase filter bank, for Correlate.",
        .formula = "X_c(m) = gain / sqrt(n) sum_t h_t x(m n + t) exp(-2 pi i c t / n)",
        .result = "[input], s: the interval between samples of a channel; samples are never all in memory",
        .reference = "Wayth, Greenhill & Briggs 2009, PASP 121, 857, section 2; sinc windows as Klages et al. 2015",
        .children = {{.label = "voltages",
                      .shape = "[input]",
                      .unit = "s",
                      .doc = "a source of samples of one channel (Voltages); its value is the sample interval"}},
        .state = {
            {.name = "n_channel",
             .type = StateType::integer,
             .doc = "channels, ascending in frequency: of complex samples number n_channel / 2 is the frequency that "
                    "was mixed to zero; of real ones number 0 is zero",
             .limits = {.least = 1}},
            {.name = "taps",
             .type = StateType::integer,
             .default_value = std::int64_t{1},
             .doc = "1: a Fourier transform; more: a polyphase filter bank, a sinc over so many transforms, with its "
                    "middle in that of its own; spectra that would reach beyond the samples are left out",
             .limits = {.least = 1}},
            {.name = "window",
             .type = StateType::text,
             .default_value = std::string("rectangular"),
             .doc = "taper of the transform or of the sinc; h is scaled so that noise has the same power in a channel "
                    "with any",
             .choices = {"rectangular", "hann", "hamming"}},
            {.name = "format",
             .type = StateType::text,
             .default_value = std::string("int8"),
             .doc = "what channels are rounded to, and cut off at, as of Voltages",
             .choices = correlator::complex_format_names()},
            {.name = "gain",
             .type = StateType::real,
             .default_value = 1.0,
             .doc = "noise of s least significant bits has gain times s in a channel; products are divided by it",
             .limits = {.least = 0, .without_least = true, .without_most = true}},
            {.name = "delay_s",
             .type = StateType::array,
             .default_value = StateArray{{0}, NumberType::real, {}},
             .unit = "s",
             .doc = "[input] by which signals come late: whole samples are taken out before, and the rest after the "
                    "transform; empty: none"},
            {.name = "centre_hz",
             .type = StateType::real,
             .default_value = 0.0,
             .unit = "Hz",
             .doc = "frequency that was mixed to zero: delays turn its phase, too",
             .limits = kFiniteNumbers}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    if (!options_.delay_s.empty() && options_.delay_s.size() != children[0]->size())
      throw ShapeError("state field \"delay_s\" has " + std::to_string(options_.delay_s.size()) +
                       " numbers, but there are " + std::to_string(children[0]->size()) + " inputs");
    return *children[0];
  }
  NodeTraits own_traits() const override { return {.mixed_axes = kNoAxes}; }
  Capabilities capabilities() const override { return {.reviewer = this}; }
  void review(const Review& review) const override {
    correlator::check_channelisation(correlator::source_below(review.forest, review.node).shape(review.forest),
                                     options_);
  }
  std::unique_ptr<BatchKernel> make_kernel() const override { return correlator::interval_kernel(); }

  correlator::StreamShape shape(const Forest& forest) const override {
    const correlator::StreamShape in = correlator::source_below(forest, index()).shape(forest);
    return correlator::channelised(
        in, options_, correlator::FilterBank(options_.n_channel, options_.taps, options_.window, in.format.is_real));
  }
  std::unique_ptr<correlator::SampleStream> open(const Forest& forest) const override {
    const correlator::SampleSource& below = correlator::source_below(forest, index());
    return std::make_unique<correlator::ChannelisedStream>(below.open(forest), below.shape(forest), options_);
  }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.fail("is evaluated in batches"); }

 private:
  static constexpr std::size_t kMost = std::size_t{1} << 28;
  correlator::Channelisation options_;
};

RIMETREE_REGISTER_NODE(Channelise);

}  // namespace rimetree
