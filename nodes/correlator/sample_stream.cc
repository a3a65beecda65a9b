#include "nodes/correlator/sample_stream.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/forest/forest.h"

namespace rimetree::correlator {

namespace {

class IntervalKernel final : public BatchKernel {
 public:
  void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
    for (Evaluation* evaluation : batch) {
      try {
        const double interval_s = dynamic_cast<const SampleSource&>(evaluation->node).shape(context.forest).interval_s;
        Vells value = evaluation->make(NumberType::real, CellShape{});
        std::fill_n(value.real(), value.size(), interval_s);
        evaluation->set(std::move(value));
      } catch (const Error& error) {
        evaluation->fail(error.what());
      }
    }
  }
};

}  // namespace

std::unique_ptr<BatchKernel> interval_kernel() { return std::make_unique<IntervalKernel>(); }

const SampleSource& source_below(const Forest& forest, int node, std::size_t slot) {
  const Node& child = forest.node(forest.children(node)[slot]);
  const auto* source = dynamic_cast<const SampleSource*>(&child);
  if (source == nullptr)
    throw Error("child \"voltages\" is \"" + child.name() + "\" of class " + child.node_class().name +
                ", which gives no samples; expected Voltages or Channelise");
  return *source;
}

std::uint64_t fingerprint_below(const Forest& forest, int node, std::size_t slot) {
  std::uint64_t all = 0;
  for (; !forest.children(node).empty(); slot = 0) {
    node = forest.children(node)[slot];
    all = mix(all, forest.node(node).state().fingerprint(false));
  }
  return all;
}

}  // namespace rimetree::correlator
