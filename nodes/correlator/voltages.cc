// Voltages: samples of antennas' voltages, from files or from a stream on this machine
//
// Children: none.
// State: source; format, order, n_channel, n_input: how samples are written there; start_s (when the first sample
// begins, MJD s), sample_interval_s (of a channel), lost, timeout_s.
// Result: [input], real: sample_interval_s of each input, the same for all; the samples themselves go to Correlate or
// Channelise, block by block, and are never all in memory. Flags: none. Derivative: none. Wayth, Greenhill & Briggs
// 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203.
#include <algorithm>
#include <cmath>

#include "nodes/correlator/file_stream.h"
#include "nodes/correlator/link_stream.h"
#include "nodes/correlator/packet_queue.h"
#include "nodes/correlator/packet_stream.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"

namespace rimetree {

namespace {
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

class Voltages final : public Node, public correlator::SampleSource {
 public:
  explicit Voltages(const State& state)
      : Node(state),
        source_(state.text_list("source")),
        order_(checked([&] { return correlator::sample_order(state.text("order")); })),
        lost_are_masked_(state.text("lost") == "mask"),
        timeout_s_(state.real("timeout_s")) {
    shape_.format = correlator::sample_format(state.text("format"));
    shape_.n_channel = static_cast<std::size_t>(state.integer("n_channel"));
    shape_.n_input = static_cast<std::size_t>(state.integer("n_input"));
    shape_.start_s = state.real("start_s");
    shape_.interval_s = state.real("sample_interval_s");
    if (source_.empty()) throw StateError("state field \"source\" names no file");
    const auto n_stream = std::count_if(source_.begin(), source_.end(), correlator::is_address);
    if (n_stream > 0 && n_stream < std::ssize(source_))
      throw StateError("state field \"source\" has streams beside files");
    if (!order_.are_groups && n_stream == 0 && source_.size() > 1)
      throw StateError("state field \"source\" has " + std::to_string(source_.size()) +
                       " files; there may be several of order \"groups\" only, one for each receiver");
    if (is_stream() && order_.are_groups)
      throw StateError("groups are files; state field \"order\" of a stream is that of a packet's samples");
    checked([&] {
      if (order_.are_groups)
        correlator::check_groups(shape_, source_.size());
      else
        correlator::SamplePlaces(order_, shape_.format, 1, shape_.n_channel, inputs_of_a_source());
    });
  }

  static NodeClass info() {
    return {
        .name = "Voltages",
        .summary = "Samples of antennas' voltages from files or streams, for Correlate or Channelise.",
        .result = "[input], s: the interval between samples; samples are never all in memory",
        .reference = "Wayth, Greenhill & Briggs 2009, PASP 121, 857; Klages et al. 2015, arXiv:1503.06203",
        .state = {
            {.name = "source",
             .type = StateType::text_list,
             .doc =
                 "file without header, or of order \"groups\" one for each receiver; they must not change while the "
                 "forest exists. Or where packets come from: tcp://HOST:PORT or udp://HOST:PORT of this machine, or "
                 "shm://PATH of a ring in shared memory; what is lost there is left out. Several streams bring as many "
                 "inputs each, in their order"},
            {.name = "format",
             .type = StateType::text,
             .default_value = std::string("int8"),
             .doc = "how a sample is written: mwa32t or mwa32t-swapped (5+5 bits in a 16-bit word, real part low or "
                    "high), chime, chime-low (nibbles in excess-8, real part high or low), int4, int4-low (in two's "
                    "complement), int8, int8-swapped (two bytes, real part first or second), float32, float32-swapped "
                    "(two floats) or "
                    "real8 (one byte, real samples for Channelise)",
             .choices = correlator::format_names()},
            {.name = "order",
             .type = StateType::text,
             .default_value = std::string("time,channel,input"),
             .doc = "time, channel and input in any order, the last one the fastest, of a file or of each packet of a "
                    "stream; or with antenna and feed instead of input (e.g. \"antenna,channel,time,feed\"); or "
                    "\"groups\": a counter of 16 bits and a word for each input of a receiver"},
            {.name = "n_channel",
             .type = StateType::integer,
             .default_value = std::int64_t{1},
             .doc = "channels",
             .limits = {.least = 1}},
            {.name = "n_input",
             .type = StateType::integer,
             .doc = "inputs: antennas times polarisations",
             .limits = {.least = 1, .most = 65535}},  // products of so many can still be counted in 32 bits
            {.name = "start_s",
             .type = StateType::real,
             .default_value = 0.0,
             .unit = "s",
             .doc = "when the first sample begins",
             .limits = kFiniteNumbers},
            {.name = "sample_interval_s",
             .type = StateType::real,
             .default_value = 1.0,
             .unit = "s",
             .doc = "between the samples of a channel",
             .limits = {.least = 0, .without_least = true}},
            {.name = "lost",
             .type = StateType::text,
             .default_value = std::string("error"),
             .doc = "what happens where counters of groups jump or a group is cut short: \"error\", or \"mask\": the "
                    "samples are left out, and each product counts those that it has",
             .choices = {"error", "mask"}},
            {.name = "timeout_s",
             .type = StateType::real,
             .default_value = 10.0,
             .unit = "s",
             .doc = "for how long a stream is waited for; what has not come then is left out",
             .limits = {.least = 0, .without_most = true}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    return {static_cast<std::int32_t>(shape_.n_input)};
  }

  std::unique_ptr<BatchKernel> make_kernel() const override { return correlator::interval_kernel(); }

  correlator::StreamShape shape(const Forest&) const override { return shape_; }
  std::unique_ptr<correlator::SampleStream> open(const Forest&) const override {
    if (is_stream() && source_.size() == 1) return open_stream(source_.front());
    if (is_stream()) {
      std::vector<correlator::LinkStream::Link> links;
      for (const std::string& address : source_) links.push_back({address, open_stream(address)});
      return std::make_unique<correlator::LinkStream>(std::move(links), shape_);
    }
    if (order_.are_groups) return std::make_unique<correlator::GroupStream>(source_, shape_, lost_are_masked_);
    return std::make_unique<correlator::FileStream>(source_.front(), shape_, order_);
  }

 protected:
  void evaluate(Evaluation& evaluation) const override { evaluation.fail("is evaluated in batches"); }

 private:
  bool is_stream() const { return correlator::is_address(source_.front()); }
  /// Of a stream: several bring as many each.
  std::size_t inputs_of_a_source() const {
    correlator::check_links(shape_, source_.size());
    return shape_.n_input / source_.size();
  }
  std::unique_ptr<correlator::SampleStream> open_stream(const std::string& address) const {
    correlator::StreamShape own = shape_;
    own.n_input = inputs_of_a_source();
    const std::size_t step = static_cast<std::size_t>(own.format.bytes) * own.n_channel * own.n_input;
    auto packets = std::make_unique<correlator::PacketQueue>(correlator::open_packets(address, step));
    return std::make_unique<correlator::PacketStream>(std::move(packets), own, timeout_s_, order_);
  }

  std::vector<std::string> source_;
  correlator::SampleOrder order_;
  bool lost_are_masked_;
  double timeout_s_;
  correlator::StreamShape shape_;
};

RIMETREE_REGISTER_NODE(Voltages);

}  // namespace rimetree
