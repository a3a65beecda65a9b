#include "runtime/core/node.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/thread_pool.h"

namespace rimetree {

Vells Evaluation::make(NumberType type, const CellShape& cells) const { return {pool, type, node.dims(), cells}; }

std::vector<const Vells*> Evaluation::child_values() const {
  std::vector<const Vells*> values;
  for (const Result* child : children_) {
    if (child == nullptr) continue;
    values.push_back(&child->value);
    for (const Derivative& derivative : child->derivatives) values.push_back(&derivative.value);
  }
  return values;
}

bool Evaluation::has_derivatives() const {
  return std::any_of(children_.begin(), children_.end(),
                     [](const Result* child) { return child != nullptr && !child->derivatives.empty(); });
}

std::vector<ParameterId> Evaluation::parameters() const {
  std::vector<ParameterId> ids;
  for (const Result* child : children_) {
    if (child == nullptr) continue;
    for (const Derivative& derivative : child->derivatives) ids.push_back(derivative.parameter);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

void Node::fail(Evaluation& evaluation, const std::string& message) {
  const Node& node = evaluation.node;
  evaluation.result = Result{};
  evaluation.result.status = Result::Status::failed;
  evaluation.result.failures.push_back({node.name(), node.node_class().name, node.origin(), message});
}

void Node::evaluate_guarded(const Node& node, Evaluation& evaluation) {
  try {
    node.evaluate(evaluation);
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;  // the evaluation's, not the node's: with a smaller budget it may succeed
  } catch (const std::exception& error) {
    fail(evaluation, error.what());
  } catch (...) {
    fail(evaluation, "threw something that is no std::exception");
  }
}

void Node::evaluate_batch(BatchContext& context, std::span<Evaluation* const> batch) const {
  if (single_threaded()) {
    for (Evaluation* evaluation : batch) evaluate_guarded(evaluation->node, *evaluation);
    return;
  }
  // A few ranges per thread even out unequal nodes without a queue operation for each.
  const std::size_t grain =
      std::max<std::size_t>(1, batch.size() / (8 * static_cast<std::size_t>(context.threads.size())));
  context.threads.parallel_for(
      batch.size(), grain,
      [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t i = begin; i < end; ++i) evaluate_guarded(batch[i]->node, *batch[i]);
      },
      &context.cancellation);
}

}  // namespace rimetree
