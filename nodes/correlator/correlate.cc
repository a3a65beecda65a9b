// Correlate: the products of all inputs of a source of samples, averaged over each time cell (an X-engine)
//
// Children: voltages, a source of samples (Voltages or Channelise) for each band.
// State: integration (samples in a time cell), gates, gate_length, gate_offset, strategy, band_hz.
// Result: [product] or with gates [gate,product], complex, varying along time and freq: the mean of x_i x_j* for
// i >= j, number i (i + 1) / 2 + j, in squares of the digitisers' least significant bit. Sums are exact integers; of
// floats they are sums of doubles over sums of floats of 32 samples. Goes along: how many independent samples each mean
// is of (Result::weight). Flags: 1 on products and time cells without samples; of those that there are in part, the
// part counts. Derivative: none. Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203
// (gates: section IV).
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "nodes/correlator/cross_products.h"
#include "nodes/correlator/device/device_products.h"
#include "nodes/correlator/float_products.h"
#include "nodes/correlator/sample_stream.h"
#include "nodes/correlator/time_cells.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/forest/forest.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/review.h"

namespace rimetree {

class Correlate final : public Node, public Reviewer {
 public:
  explicit Correlate(const State& state)
      : Node(state),
        strategy_(correlator::strategy(state.text("strategy"))),
        integration_(static_cast<std::size_t>(state.integer("integration"))),
        gates_(static_cast<std::size_t>(state.integer("gates"))),
        gate_length_(static_cast<std::size_t>(state.integer("gate_length"))),
        gate_offset_(state.integer("gate_offset")),
        band_hz_(state.array("band_hz").data.vector()) {}

  static NodeClass info() {
    return {
        .name = "Correlate",
        .summary = "Products of all inputs of a source of samples, averaged over each time cell.",
        .formula = "V_ij = mean over the samples of a cell of x_i x_j*, i >= j, at i (i + 1) / 2 + j",
        .result =
            "[product], with gates [gate,product], complex, squares of the least significant bit; varies along "
            "time and freq",
        .reference = "Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203",
        .children = {{.label = "voltages",
                      .shape = "[input]",
                      .unit = "s",
                      .doc = "sources of samples, one for each band: Voltages or Channelise; a request must have as "
                             "many channels as its band",
                      .repeated = true}},
        .state =
            {{.name = "integration",
              .type = StateType::integer,
              .doc = "samples in a time cell; cells begin at start_s of the source plus multiples of it",
              .limits = kSamples},
             {.name = "gates",
              .type = StateType::integer,
              .default_value = std::int64_t{1},
              .doc = "gates of a period, each with products of its own: sample n is in gate "
                     "(n + gate_offset) / gate_length modulo gates",
              .limits = {.least = 1, .most = 1 << 20}},
             {.name = "gate_length",
              .type = StateType::integer,
              .default_value = std::int64_t{1},
              .doc = "samples for which a gate is open in each period",
              .limits = kSamples},
             {.name = "gate_offset",
              .type = StateType::integer,
              .default_value = std::int64_t{0},
              .doc = "samples by which the first period began before the first sample",
              .limits = {.least = -kSamples.most, .most = kSamples.most}},
             {.name = "strategy",
              .type = StateType::text,
              .default_value = std::string("automatic"),
              .doc = "how products are formed, which changes no bit of them: automatic, bytes (8-bit dot products), "
                     "packed (two products in one word, for 4-bit samples), pairs (one after the other), groups2, "
                     "groups4, hybrid2 or hybrid4 (blocks of so many inputs, as references)",
              .choices = correlator::strategy_names()},
             {.name = "band_hz",
              .type = StateType::array,
              .default_value = StateArray{{0}, NumberType::real, {}},
              .unit = "Hz",
              .doc =
                  "[band] middle of each, where there are several: a request is of the band next to its own middle"}},
        .minimum_children = 1};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    for (const TensorShape* child : children)
      if (!(*child == *children[0]))
        throw ShapeError("child \"voltages\" has dimensions " + to_string(*child) + ", and the first band's " +
                         to_string(*children[0]));
    if (children.size() > 1 && children.size() != band_hz_.size())
      throw ShapeError("there are " + std::to_string(children.size()) + " bands, but state field \"band_hz\" has " +
                       std::to_string(band_hz_.size()) + " numbers");
    const auto products = static_cast<std::int32_t>(correlator::n_products(children[0]->size()));
    if (gates_ > 1) return {static_cast<std::int32_t>(gates_), products};
    return {products};
  }
  NodeTraits own_traits() const override {
    return {.depends_on = kDomain, .varies_along = set_of(Axis::time) | set_of(Axis::frequency), .mixed_axes = kNoAxes};
  }
  std::unique_ptr<BatchKernel> make_kernel() const override { return std::make_unique<Kernel>(); }
  Capabilities capabilities() const override { return {.reviewer = this}; }
  void review(const Review& review) const override {
    for (std::size_t band = 0; band < review.dims.size(); ++band)
      check(correlator::source_below(review.forest, review.node, band).shape(review.forest));
  }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.fail("is evaluated in batches"); }

 private:
  /// A band's samples.
  struct Band {
    std::uint64_t source = 0;  ///< fingerprint_below()
    correlator::StreamShape shape;
    std::unique_ptr<correlator::SampleStream> stream;
  };
  /// What is open from one request to the next, for each node of the batch: streams go on where they were. All bands
  /// are opened together, so that none is missed while another is read.
  struct Open {
    int node = -1;
    std::vector<Band> bands;
  };

  /// One node after the other: each uses all threads.
  class Kernel final : public BatchKernel {
   public:
    void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
      for (Evaluation* evaluation : batch) {
        const auto& node = static_cast<const Correlate&>(evaluation->node);
        try {
          node.correlate(*evaluation, context, opened(node.index(), context.forest));
        } catch (const Error& error) {
          std::erase_if(open_, [&](const Open& one) { return one.node == node.index(); });
          evaluation->fail(error.what());
        }
      }
    }

   private:
    std::vector<Band>& opened(int node, const Forest& forest) {
      auto found = std::find_if(open_.begin(), open_.end(), [node](const Open& one) { return one.node == node; });
      if (found == open_.end()) found = open_.insert(found, {node, std::vector<Band>(forest.children(node).size())});
      for (std::size_t band = 0; band < found->bands.size(); ++band) {
        Band& one = found->bands[band];
        const std::uint64_t states = correlator::fingerprint_below(forest, node, band);
        if (one.stream && one.source == states) continue;
        const correlator::SampleSource& source = correlator::source_below(forest, node, band);
        one.stream.reset();  // before it is opened anew: an address is for one
        one = {states, source.shape(forest), source.open(forest)};
      }
      return found->bands;
    }
    std::vector<Open> open_;
  };

  /// The band that a request is of.
  std::size_t band_of(const AxisGrid& frequency, std::size_t n_band) const {
    if (n_band == 1 || frequency.centre.empty()) return 0;
    const auto [low, high] = std::minmax_element(frequency.centre.begin(), frequency.centre.end());
    const double middle_hz = (*low + *high) / 2, half_hz = (*high - *low + frequency.width.front()) / 2;
    const auto nearest = std::min_element(band_hz_.begin(), band_hz_.end(), [&](double a, double b) {
      return std::abs(a - middle_hz) < std::abs(b - middle_hz);
    });
    if (!(std::abs(*nearest - middle_hz) <= half_hz))
      throw Error("the request's channels are around " + std::to_string(middle_hz) + " Hz, and no band is there");
    return static_cast<std::size_t>(nearest - band_hz_.begin());
  }

  /// Throws Error where such samples cannot be taken, or sums would not be exact.
  void check(const correlator::StreamShape& shape) const {
    if (shape.format.is_real) throw Error("the samples are real: Channelise makes complex ones of them");
    correlator::check_strategy(strategy_, shape.format, shape.n_input);
    if (const std::size_t most = correlator::most_exact_samples(shape.format); integration_ > most)
      throw Error("state field \"integration\" is " + std::to_string(integration_) + ", but sums of format \"" +
                  shape.format.name + "\" are exact over at most " + std::to_string(most) + " samples");
  }

  void correlate(Evaluation& evaluation, BatchContext& context, std::vector<Band>& bands) const {
    const AxisGrid &time = evaluation.cells().require(Axis::time),
                   &frequency = evaluation.cells().require(Axis::frequency);
    const std::size_t number = band_of(frequency, bands.size());
    Band& open = bands[number];
    const correlator::StreamShape& shape = open.shape;
    if (frequency.centre.size() != shape.n_channel)
      throw Error("the request has " + std::to_string(frequency.centre.size()) + " channels, the samples have " +
                  std::to_string(shape.n_channel));
    check(shape);

    CellShape in_time;
    in_time[Axis::time] = static_cast<std::int32_t>(time.centre.size());
    Vells value = evaluation.make(NumberType::complex, evaluation.cells().shape()),
          count = evaluation.make(NumberType::real, in_time);
    Flags flags(evaluation.pool, dims().size(), in_time);
    const Sums sums = make_sums(shape, context);
    // Of channels that are made on a device only one can form products.
    const bool is_alone = context.devices.size() == 1 && dynamic_cast<correlator::DeviceProducts*>(sums[0].get());
    const OnDevice on_device(*open.stream, is_alone ? context.devices.front().get() : nullptr);
    bool any_flag = false;
    for (std::size_t t = 0; t < time.centre.size(); ++t) {
      for (const auto& gate : sums) gate->clear();
      add_samples(correlator::first_sample(shape, integration_, time.centre[t], time.width[t]), open, context, sums);
      for (std::size_t gate = 0; gate < gates_; ++gate)
        any_flag = put(sums[gate]->sums(), gate, t, shape, value, count, flags) || any_flag;
    }
    warn_of_rounding(shape, value, flags, context, number);
    evaluation.set(std::move(value));
    evaluation.set_flags(any_flag ? std::move(flags) : Flags());
    evaluation.result.weight = std::move(count);
    if (const std::string text = open.stream->report(); !text.empty())
      context.notes.replace(name() + std::to_string(number),
                            name() + (bands.size() > 1 ? ", band " + std::to_string(number) : "") + ": " + text);
    if (const std::string text = open.stream->warning(); !text.empty())
      context.warnings.add("correlate-cut-off-" + name() + std::to_string(number), name() + ": " + text);
  }

  using Sums = std::vector<std::unique_ptr<correlator::SummedProducts>>;

  /// Has a stream work on a device for a while: devices may be gone before the next evaluation.
  class OnDevice {
   public:
    OnDevice(correlator::SampleStream& stream, DeviceContext* device) : stream_(stream) { stream.work_on(device); }
    ~OnDevice() {
      try {
        stream_.work_on(nullptr);
      } catch (...) {
        return;  // what went wrong on the device has been told
      }
    }
    OnDevice(const OnDevice&) = delete;
    OnDevice& operator=(const OnDevice&) = delete;

   private:
    correlator::SampleStream& stream_;
  };

  /// Of each gate, on devices where there are some and it is worth it.
  Sums make_sums(const correlator::StreamShape& shape, BatchContext& context) const {
    Sums sums;
    if (shape.format.is_float) {
      if (!context.devices.empty())
        context.notes.add("correlate-" + name(), name() + ": products on the host: samples are floats");
      while (sums.size() < gates_)
        sums.push_back(
            std::make_unique<correlator::FloatProducts>(shape.n_channel, shape.n_input, strategy_, context.threads));
      return sums;
    }
    if (!context.devices.empty()) {
      const memory::Device& device = context.devices.front()->device();
      const correlator::DeviceVerdict verdict =
          correlator::judge_device(device, shape.format, shape.n_channel, shape.n_input, double(integration_),
                                   static_cast<std::size_t>(context.threads.size()));
      if (verdict.is_worth_it) try {
          std::vector<DeviceContext*> devices;
          for (const auto& one : context.devices) devices.push_back(one.get());
          while (sums.size() < gates_)
            sums.push_back(std::make_unique<correlator::DeviceProducts>(devices, shape.format, shape.n_channel,
                                                                        shape.n_input, strategy_, context.threads));
          context.notes.add("correlate-" + name(), name() + ": products on " + device.name() + " by " +
                                                       correlator::device_kernel(strategy_, shape.n_input).name + "; " +
                                                       verdict.reason);
          return sums;
        } catch (const memory::OutOfMemory& error) {
          sums.clear();
          context.warnings.add("device-memory-Correlate", name() + ": products on the host: " + error.what());
        }
      else
        context.notes.add("correlate-" + name(), name() + ": products on the host: " + verdict.reason);
    }
    while (sums.size() < gates_)
      sums.push_back(
          std::make_unique<correlator::CrossProducts>(shape.n_channel, shape.n_input, strategy_, context.threads));
    return sums;
  }

  /// Adds an integration, in blocks that do not grow with it.
  void add_samples(std::int64_t first, Band& open, BatchContext& context, const Sums& sums) const {
    const std::size_t bytes =
        static_cast<std::size_t>(open.shape.format.bytes) * open.shape.n_channel * open.shape.n_input;
    // Where the host does all, what the channeliser has left is still in a cache when products are formed of it; but
    // of too few times at once they would cost more.
    const std::size_t small = std::max(kHostBytes / bytes, std::min(kFewTimes, kBlockBytes / bytes)),
                      most = std::max<std::size_t>(1, context.devices.empty() ? small : kBlockBytes / bytes);
    for (std::size_t done = 0; done < integration_;) {
      if (context.cancellation.check()) throw Cancelled();
      const std::size_t n = std::min(most, integration_ - done);
      const correlator::SampleBlock block =
          open.stream->read(first + static_cast<std::int64_t>(done), n, context.threads, context.cancellation);
      if (gates_ == 1 && block.view.n_time > 0) sums[0]->add(block.view, block.mask, block.where);
      if (gates_ > 1) add_by_gate(block, sums);
      done += n;
    }
  }

  void add_by_gate(const correlator::SampleBlock& block, const Sums& sums) const {
    const auto length = static_cast<std::int64_t>(gate_length_), gates = static_cast<std::int64_t>(gates_);
    for (std::size_t begin = 0; begin < block.view.n_time;) {
      const std::int64_t number = block.first + static_cast<std::int64_t>(begin) + gate_offset_,
                         period = ((number % (length * gates)) + length * gates) % (length * gates);
      const std::size_t n = std::min(block.view.n_time - begin, static_cast<std::size_t>(length - period % length));
      correlator::SampleView part = block.view;
      part.bytes += static_cast<std::ptrdiff_t>(begin) * part.time_stride;
      part.n_time = n;
      auto& gate = *sums[static_cast<std::size_t>(period / length)];
      if (block.mask == nullptr) {
        gate.add(part, nullptr, block.where);
      } else {
        const correlator::SampleMask mask = block.mask->part(begin, n);
        gate.add(part, &mask, block.where);
      }
      begin += n;
    }
  }

  /// Means of one gate and time cell; returns whether some are flagged.
  bool put(const correlator::ProductSums& sums, std::size_t gate, std::size_t t, const correlator::StreamShape& shape,
           Vells& value, Vells& count, Flags& flags) const {
    const std::size_t n_product = sums.count.size(), n_channel = sums.n_channel,
                      n_time = static_cast<std::size_t>(count.cells()[Axis::time]);
    bool any_flag = false;
    for (std::size_t product = 0; product < n_product; ++product) {
      const std::size_t at = (gate * n_product + product) * n_time + t;
      const auto n = double(sums.count[product]);
      const double scale = n > 0 ? shape.unit * shape.unit / n : 0;
      for (std::size_t channel = 0; channel < n_channel; ++channel) {
        const std::size_t from = channel * n_product + product;
        value.complex()[at * n_channel + channel] = {sums.real(from) * scale, sums.imaginary(from) * scale};
      }
      count.real()[at] = n * shape.independent;
      flags.data()[at] = n > 0 ? 0 : 1;
      any_flag = any_flag || n == 0;
    }
    return any_flag;
  }

  /// Numbers that are hardly more than their rounding: what two inputs have in common is lost in it.
  void warn_of_rounding(const correlator::StreamShape& shape, const Vells& value, const Flags& flags,
                        BatchContext& context, std::size_t number) const {
    if (shape.format.is_float || value.cells().size() == 0) return;
    const auto n_time = static_cast<std::size_t>(value.cells()[Axis::time]);
    double power = 0, n = 0;
    for (std::size_t gate = 0; gate < gates_; ++gate)
      for (std::size_t input = 0; input < shape.n_input; ++input)
        for (std::size_t t = 0; t < n_time; ++t) {
          const std::size_t product =
                                gate * correlator::n_products(shape.n_input) + correlator::product_of(input, input),
                            at = product * n_time + t;
          if (flags.data()[at] != 0) continue;
          for (std::size_t channel = 0; channel < shape.n_channel; ++channel)
            power += value.complex()[at * shape.n_channel + channel].re;
          n += double(shape.n_channel);
        }
    // Of noise of half a bit in each number 3 % of the products are lost, and then soon nearly all.
    const double rms = std::sqrt(power / std::max(n, 1.0) / 2) / shape.unit;
    constexpr double kLeast = 0.57;
    if (n == 0 || rms > kLeast) return;
    char line[200];
    std::snprintf(
        line, sizeof line,
        ": numbers are only %.2g least significant bits of \"%s\" (root mean square), so that products are too "
        "small; where channels are made a larger gain mends it",
        rms, shape.format.name.c_str());
    context.warnings.add("correlate-rounding-" + name() + std::to_string(number), name() + line);
  }

  static constexpr std::size_t kBlockBytes = std::size_t{32} << 20, kHostBytes = std::size_t{4} << 20, kFewTimes = 256;
  static constexpr Limits kSamples{.least = 1, .most = 0x1p40};

  correlator::Strategy strategy_;
  std::size_t integration_, gates_, gate_length_;
  std::int64_t gate_offset_;
  std::vector<double> band_hz_;
};

RIMETREE_REGISTER_NODE(Correlate);

}  // namespace rimetree
