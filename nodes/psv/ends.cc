#include "nodes/psv/ends.h"

#include "nodes/psv/operands.h"
#include "runtime/core/forest.h"

namespace rimetree::psv {

void add_ends(const Forest& forest, const Node& psv, bool first, BaselineEnds& ends) {
  if (!first && ends.empty()) return;
  const int child = forest.children(psv.index())[kUvw];
  const auto& state = forest.node(child).state().values();
  const auto p = state.find("station_1_index"), q = state.find("station_2_index");
  if (p != state.end() && q != state.end() && std::holds_alternative<std::int64_t>(p->second) &&
      std::holds_alternative<std::int64_t>(q->second)) {
    ends.p.push_back(std::get<std::int64_t>(p->second));
    ends.q.push_back(std::get<std::int64_t>(q->second));
    return;
  }
  const std::vector<int>& two = forest.children(child);
  if (two.size() != 2 || two[0] < 0 || two[1] < 0) {
    ends = {};
    return;
  }
  ends.p.push_back(two[0]);
  ends.q.push_back(two[1]);
}

}  // namespace rimetree::psv
