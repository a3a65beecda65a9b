// What nodes have to say of the forest that they are in, once it is built: constants are known by then.
#include "runtime/core/review.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/evaluate/evaluator.h"

namespace rimetree {

namespace {

/// Nodes that see a constant of which a node is part.
std::vector<int> above(const Forest& forest, int changed) {
  std::vector<int> stack{changed}, found;
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    if (std::find(found.begin(), found.end(), node) != found.end()) continue;
    found.push_back(node);
    if (forest.dependencies(node) == kNothing)
      stack.insert(stack.end(), forest.parents(node).begin(), forest.parents(node).end());
  }
  return found;
}

}  // namespace

void Evaluator::review(std::optional<int> changed) {
  // A change that nobody looks at, as of a Parm's tiles, must not cost a plan.
  if (changed && std::ranges::none_of(above(forest(), *changed), [this](int node) {
        return forest().node(node).capabilities().reviewer != nullptr;
      }))
    return;
  const std::optional<bool> before = as_written();
  const bool switches = !state_->evaluated.is_as_written();
  if (switches) set_as_written(true);  // the nodes that the script has
  update_plan();
  const std::vector<int> nodes = changed ? above(evaluated(), *changed) : evaluated().order();
  // What it evaluates is to leave no trace: neither kept results nor time.
  const ResultCache kept = state_->cache;
  const TimingReport timing = state_->timing;

  std::vector<ResultPtr> value(evaluated().size());
  std::set<const Result*> good_directions;
  std::vector<int> wanted;
  std::vector<BuildError> errors;
  const auto look = [&](int index, bool is_first) {
    const Node& node = evaluated().node(index);
    const Reviewer* reviewer = node.capabilities().reviewer;
    if (reviewer == nullptr) return;
    std::vector<const TensorShape*> dims;
    for (const int child : evaluated().children(index))
      dims.push_back(child < 0 ? nullptr : &evaluated().node(child).dims());
    Review review{evaluated(), index, dims, {}, good_directions, {}};
    review.constant = [&](std::size_t slot) -> const Result* {
      const int child = evaluated().children(index)[slot];
      if (child < 0 || evaluated().dependencies(child) != kNothing) return nullptr;
      if (is_first) wanted.push_back(child);
      const ResultPtr& result = value[static_cast<std::size_t>(child)];
      return result && result->ok() ? result.get() : nullptr;
    };
    review.warn = [&](const std::string& message) {
      const std::string where = node.origin().empty() ? "" : node.origin() + ": ";
      warnings().add("review " + node.node_class().name + where, where + "node \"" + node.name() + "\": " + message);
    };
    try {
      reviewer->review(review);
    } catch (const std::exception& error) {
      if (!is_first) errors.push_back({node.name(), node.origin(), error.what()});
    }
  };
  for (const int node : nodes) look(node, true);
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  if (!wanted.empty()) {
    Request request;
    request.cells = std::make_shared<const Cells>(std::array<AxisGrid, kAxes>{});
    Cancellation none;
    const auto results = evaluate_roots(request, wanted, none, {.placing = Placing::on_host});
    for (std::size_t i = 0; i < wanted.size(); ++i) value[static_cast<std::size_t>(wanted[i])] = results[i];
  }
  for (const int node : nodes) look(node, false);
  state_->cache = kept;
  state_->timing = timing;
  if (switches) set_as_written(before);
  if (!errors.empty()) throw ForestError(std::move(errors));
}

}  // namespace rimetree
