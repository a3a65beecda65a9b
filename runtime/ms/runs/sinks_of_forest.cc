#include "runtime/ms/runs/sinks_of_forest.h"

#include <algorithm>
#include <map>
#include <utility>

#include "runtime/ms/tables/error.h"

namespace rimetree::ms {

std::vector<bool> at_or_below(const Forest& forest, const std::vector<std::vector<int>>& roots) {
  std::vector<bool> found(forest.size(), false);
  std::vector<int> open;
  const auto find = [&](int node) {
    if (node < 0 || found[static_cast<std::size_t>(node)]) return;
    found[static_cast<std::size_t>(node)] = true;
    open.push_back(node);
  };
  for (const std::vector<int>& stage : roots) std::for_each(stage.begin(), stage.end(), find);
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    for (const int child : forest.children(node)) find(child);
  }
  return found;
}

const DataUse* writing_of(const Forest& forest, int node) {
  const DataUse* use = forest.node(node).capabilities().data;
  return use != nullptr && use->writes ? use : nullptr;
}

std::string counted(const Forest& forest, const std::vector<int>& nodes) {
  constexpr std::size_t kShown = 2;
  const std::size_t shown = std::min(kShown, nodes.size());
  std::string text =
      std::to_string(nodes.size()) + " " + forest.node(nodes[0]).node_class().name + (nodes.size() == 1 ? " (" : "s (");
  for (std::size_t i = 0; i < shown; ++i) text += (i == 0 ? "\"" : ", \"") + forest.node(nodes[i]).name() + "\"";
  return text + (nodes.size() > shown ? " and " + std::to_string(nodes.size() - shown) + " more)" : ")");
}

void require_places_of_their_own(const Forest& forest, const std::vector<bool>& evaluated) {
  std::map<std::pair<Baseline, std::string>, int> writers;
  for (int node = 0; node < static_cast<int>(forest.size()); ++node) {
    const DataUse* use = evaluated[static_cast<std::size_t>(node)] ? writing_of(forest, node) : nullptr;
    if (use == nullptr) continue;
    const auto [other, is_first] = writers.try_emplace({use->baseline, use->column}, node);
    if (!is_first)
      throw Error("the Sinks \"" + forest.node(other->second).name() + "\" and \"" + forest.node(node).name() +
                  "\" both write " + use->column + " of baseline " + std::to_string(use->baseline.antenna1) + "-" +
                  std::to_string(use->baseline.antenna2) + ": give one of them another output_column");
  }
}

void warn_of_idle_nodes(const Forest& forest, const std::vector<bool>& evaluated, std::vector<std::string>* warnings) {
  std::vector<int> sinks, solvers;
  for (int node = 0; node < static_cast<int>(forest.size()); ++node) {
    if (evaluated[static_cast<std::size_t>(node)]) continue;
    if (writing_of(forest, node) != nullptr) sinks.push_back(node);
    if (forest.node(node).capabilities().solver != nullptr) solvers.push_back(node);
  }
  if (!sinks.empty()) warnings->push_back(counted(forest, sinks) + " left out: no VisDataMux has them as child");
  if (!solvers.empty())
    warnings->push_back(counted(forest, solvers) +
                        " left out: below no Sink that is evaluated; make it the child \"pre\" of a VisDataMux");
}

}  // namespace rimetree::ms
