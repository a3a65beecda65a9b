// Correlator: the products of all inputs of a file of channelised voltages, averaged over each time cell (an X-engine)
//
// Children: none.
// State: file; format, order, n_channel, n_input: how samples are written there; start_s (when the first sample begins,
// MJD s), sample_interval_s (of a channel), integration (samples in a time cell), strategy.
// Result: [product], complex, varying along time and freq: the mean of x_i x_j* for i >= j, number i (i + 1) / 2 + j,
// in squares of the format's least significant bit. Sums are exact integers. Flags: 1 on time cells of which the file
// holds no samples; of those that it holds in part, the part counts. Derivative: none. Wayth, Greenhill & Briggs 2009,
// PASP 121, 857; Klages et al. 2015, arXiv:1503.06203.
#include <algorithm>
#include <cmath>

#include "nodes/correlator/cross_products.h"
#include "nodes/correlator/mapped_file.h"
#include "runtime/core/error.h"
#include "runtime/core/node.h"
#include "runtime/core/plugin_api.h"

namespace rimetree {

namespace {

std::size_t positive(const State& state, const std::string& name) {
  const std::int64_t value = state.integer(name);
  if (value < 1) throw StateError("state field \"" + name + "\" is " + std::to_string(value) + ", expected at least 1");
  return static_cast<std::size_t>(value);
}

bool time_is_fastest(const std::string& order) {
  if (order == "time,channel,input") return false;
  if (order == "channel,input,time") return true;
  throw StateError("state field \"order\" is \"" + order +
                   "\", expected \"time,channel,input\" or \"channel,input,time\" (the last is the fastest)");
}

/// Turns the library's errors about names into errors about state fields, which the forest reports with the script
/// line.
template <class F>
auto checked(const F& find) {
  try {
    return find();
  } catch (const Error& error) {
    throw StateError(error.what());
  }
}

}  // namespace

class Correlator final : public Node {
 public:
  explicit Correlator(const State& state)
      : Node(state),
        file_(state.text("file")),
        format_(checked([&] { return correlator::sample_format(state.text("format")); })),
        strategy_(checked([&] { return correlator::strategy(state.text("strategy")); })),
        time_is_fastest_(time_is_fastest(state.text("order"))),
        n_channel_(positive(state, "n_channel")),
        n_input_(positive(state, "n_input")),
        integration_(positive(state, "integration")),
        start_s_(state.real("start_s")),
        sample_interval_s_(state.real("sample_interval_s")) {
    if (n_input_ > kMaxInputs)
      throw StateError("state field \"n_input\" is " + std::to_string(n_input_) + ", expected at most " +
                       std::to_string(kMaxInputs));
    if (!(sample_interval_s_ > 0)) throw StateError("state field \"sample_interval_s\" must be positive");
    if (strategy_ == correlator::Strategy::packed && format_.bits > 4)
      throw StateError("strategy \"packed\" takes samples of at most 4 bits; format \"" + format_.name + "\" has " +
                       std::to_string(format_.bits));
  }

  static NodeClass info() {
    return {.name = "Correlator",
            .summary = "Products of all inputs of a file of channelised voltages, averaged over each time cell.",
            .formula = "V_ij = mean over the samples of a cell of x_i x_j*, i >= j, at i (i + 1) / 2 + j",
            .result = "[product], complex, squares of the least significant bit; varies along time and freq",
            .reference = "Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203",
            .state = {
                {.name = "file",
                 .type = StateType::text,
                 .doc = "samples without header; must not change while the forest exists"},
                {.name = "format",
                 .type = StateType::text,
                 .default_value = std::string("int8"),
                 .doc = "how a complex sample is written: mwa32t or mwa32t-swapped (5+5 bits in a 16-bit word), chime "
                        "(excess-8 nibbles), int4, int4-low (nibbles in two's complement) or int8"},
                {.name = "order",
                 .type = StateType::text,
                 .default_value = std::string("time,channel,input"),
                 .doc = "\"time,channel,input\" or \"channel,input,time\", the last one the fastest"},
                {.name = "n_channel",
                 .type = StateType::integer,
                 .default_value = std::int64_t{1},
                 .doc = "channels; the request must have as many"},
                {.name = "n_input", .type = StateType::integer, .doc = "inputs: antennas times polarisations"},
                {.name = "start_s",
                 .type = StateType::real,
                 .default_value = 0.0,
                 .unit = "s",
                 .doc = "when the first sample begins"},
                {.name = "sample_interval_s",
                 .type = StateType::real,
                 .default_value = 1.0,
                 .unit = "s",
                 .doc = "between the samples of a channel"},
                {.name = "integration",
                 .type = StateType::integer,
                 .doc = "samples in a time cell; cells begin at start_s plus multiples of it"},
                {.name = "strategy",
                 .type = StateType::text,
                 .default_value = std::string("automatic"),
                 .doc = "how products are formed, which changes no bit of them: automatic, bytes (8-bit dot products), "
                        "packed (two products in one word, for 4-bit samples) or pairs (one after the other)"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    return {static_cast<int>(correlator::n_products(n_input_))};
  }
  NodeTraits own_traits() const override {
    return {.depends_on = kDomain, .varies_along = {Axis::time, Axis::frequency}};
  }
  std::unique_ptr<BatchKernel> make_kernel() const override { return std::make_unique<Kernel>(); }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.fail("is evaluated in batches"); }

 private:
  /// One node after the other: each uses all threads.
  class Kernel final : public BatchKernel {
   public:
    void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
      for (Evaluation* evaluation : batch) {
        try {
          static_cast<const Correlator&>(evaluation->node).correlate(*evaluation, context);
        } catch (const Error& error) {
          evaluation->fail(error.what());
        }
      }
    }
  };

  void correlate(Evaluation& evaluation, BatchContext& context) const {
    const AxisGrid &time = evaluation.cells().require(Axis::time),
                   &frequency = evaluation.cells().require(Axis::frequency);
    const std::size_t n_time = time.centre.size();
    if (frequency.centre.size() != n_channel_)
      throw Error("the request has " + std::to_string(frequency.centre.size()) + " channels, the file " +
                  std::to_string(n_channel_));
    const correlator::MappedFile file(file_);
    const correlator::Voltages all = voltages(file);

    Vells value = evaluation.make(NumberType::complex, evaluation.cells().shape());
    CellShape flagged;
    flagged[Axis::time] = static_cast<std::int32_t>(n_time);
    Flags flags(evaluation.pool, 1, flagged);
    bool any_flag = false;
    correlator::CrossProducts products(n_channel_, n_input_, strategy_, context.threads);
    for (std::size_t t = 0; t < n_time; ++t) {
      if (context.cancellation.check()) throw Cancelled();
      const correlator::Voltages some = samples_of(all, time.centre[t], time.width[t]);
      products.clear();
      if (some.n_time > 0) products.add(some);
      const double scale = some.n_time > 0 ? 1 / double(some.n_time) : 0;
      for (std::size_t channel = 0; channel < n_channel_; ++channel)
        for (std::size_t product = 0; product < correlator::n_products(n_input_); ++product) {
          const std::size_t from = channel * correlator::n_products(n_input_) + product;
          value.complex()[(product * n_time + t) * n_channel_ + channel] = {double(products.sums().re[from]) * scale,
                                                                            double(products.sums().im[from]) * scale};
        }
      flags.data()[t] = some.n_time > 0 ? 0 : 1;
      any_flag = any_flag || some.n_time == 0;
    }
    evaluation.set(std::move(value));
    evaluation.set_flags(any_flag ? std::move(flags) : Flags());
  }

  correlator::Voltages voltages(const correlator::MappedFile& file) const {
    const std::size_t step = static_cast<std::size_t>(format_.bytes) * n_channel_ * n_input_;
    if (file.size() % step != 0)
      throw Error("\"" + file_ + "\" has " + std::to_string(file.size()) + " bytes, which is no multiple of the " +
                  std::to_string(step) + " that all channels and inputs take at one time");
    const std::size_t n_time = file.size() / step;
    return time_is_fastest_ ? correlator::time_fastest(file.bytes(), format_, n_time, n_channel_, n_input_)
                            : correlator::input_fastest(file.bytes(), format_, n_time, n_channel_, n_input_);
  }

  /// The samples of a time cell, which must be one integration. Cells are counted in integrations and not in samples,
  /// whose interval may be less than what a time of day is rounded to.
  correlator::Voltages samples_of(const correlator::Voltages& all, double centre_s, double width_s) const {
    const double length_s = sample_interval_s_ * double(integration_);
    const double number = (centre_s - start_s_) / length_s - 0.5, rounding = 1e-3 + 1e-6 / length_s;
    if (std::abs(width_s - length_s) > rounding * length_s || std::abs(number - std::round(number)) > rounding)
      throw Error("a time cell is no integration: it begins " + std::to_string(number * length_s) +
                  " s after start_s and is " + std::to_string(width_s) + " s wide, but integrations are " +
                  std::to_string(length_s) + " s long");
    correlator::Voltages some = all;
    const double first = std::round(number) * double(integration_);
    some.n_time = 0;
    if (first < 0 || first >= double(all.n_time)) return some;
    const auto begin = static_cast<std::size_t>(first);
    some.n_time = std::min(integration_, all.n_time - begin);
    some.bytes += static_cast<std::ptrdiff_t>(begin) * all.time_stride;
    return some;
  }

  static constexpr std::size_t kMaxInputs = 65535;  // whose products can still be counted in 32 bits

  std::string file_;
  correlator::SampleFormat format_;
  correlator::Strategy strategy_;
  bool time_is_fastest_;
  std::size_t n_channel_, n_input_, integration_;
  double start_s_, sample_interval_s_;
};

RIMETREE_REGISTER_NODE(Correlator);

}  // namespace rimetree
