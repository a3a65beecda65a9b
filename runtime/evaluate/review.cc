// What nodes have to say of the forest that they are in, once it is built: constants are known by then.
#include "runtime/core/node/review.h"

#include <algorithm>
#include <functional>
#include <map>

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

// Nodes that ask for constants look twice: these are evaluated together in between.
void Evaluator::review(std::optional<int> changed) {
  const Forest& written = forest();
  std::vector<ResultPtr> value;  // by node, of those that were wanted
  std::set<const Result*> good_directions;
  std::vector<int> wanted, again;
  std::map<int, BuildError> errors;
  std::vector<const TensorShape*> dims;
  const auto look = [&](int index, bool is_first) {
    const Reviewer* reviewer = written.node(index).capabilities().reviewer;
    if (reviewer == nullptr) return;
    const Node& node = written.node(index);
    bool asks = false;
    dims.clear();
    for (const int child : written.children(index)) dims.push_back(child < 0 ? nullptr : &written.node(child).dims());
    const auto constant = [&](std::size_t slot) -> const Result* {
      const int child = written.children(index)[slot];
      if (child < 0 || written.dependencies(child) != kNothing) return nullptr;
      if (is_first) {
        asks = true;
        wanted.push_back(child);
        return nullptr;
      }
      const ResultPtr& result = value[static_cast<std::size_t>(child)];
      return result->ok() ? result.get() : nullptr;
    };
    const auto warn = [&](const std::string& message) {
      const std::string where = node.origin().empty() ? "" : node.origin() + ": ";
      warnings().add("review " + node.node_class().name + where, where + "node \"" + node.name() + "\": " + message);
    };
    std::optional<BuildError> error;
    try {
      reviewer->review({written, index, dims, std::cref(constant), good_directions, std::cref(warn)});
    } catch (const Cancelled&) {
      throw;
    } catch (...) {
      error = {node.name(), node.origin(), message_of_caught()};
    }
    if (asks)
      again.push_back(index);
    else if (error)
      errors.emplace(index, std::move(*error));
  };
  for (const int node : changed ? above(written, *changed) : written.order()) look(node, true);
  if (!again.empty()) {
    // What it evaluates is to leave no trace: neither kept results nor time.
    const ResultCache kept = state_->cache;
    const TimingReport timing = state_->timing;
    Request request;
    request.cells = std::make_shared<const Cells>(std::array<AxisGrid, kAxes>{});
    std::sort(wanted.begin(), wanted.end());
    wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
    Cancellation none;
    const auto results = evaluate_roots(request, wanted, none, {.placing = Placing::on_host});
    value.resize(written.size());
    for (std::size_t i = 0; i < wanted.size(); ++i) value[static_cast<std::size_t>(wanted[i])] = results[i];
    for (const int node : again) look(node, false);
    state_->cache = kept;
    state_->cache.follow_plan(written.size(), evaluated().size());
    state_->timing = timing;
  }
  if (errors.empty()) return;
  std::vector<BuildError> all;
  for (auto& [node, error] : errors) all.push_back(std::move(error));
  throw ForestError(std::move(all));
}

}  // namespace rimetree
