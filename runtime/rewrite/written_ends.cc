// What of a phase that is written by hand belongs to the baseline, and what to the source, where one cannot tell from
// what varies in time: where nothing does, or both do, as with directions that move.
#include <algorithm>

#include "runtime/rewrite/written_phases.h"

namespace rimetree::rewrite {

/// What is only a part of a phase may be anything else, as a beam or a rotation, and has no say where phases are whole.
void WrittenPhases::tell_ends_apart() {
  Arguments whole, parts;
  for (const auto& [node, one] : exponentials_) (one.part == Algebra::none ? whole : parts).emplace(node, one.argument);
  for (const auto& [node, one] : sincs_)
    for (const int sine : one.sines) whole.emplace(sine, forest_.children(sine)[0]);
  tell_ends_apart(whole);
  tell_ends_apart(parts);
}

/// Coordinates are what two terms of one sum share, and no stack of sources has. Where something varies in time, they
/// are looked for among that, and all else that varies is the source's.
void WrittenPhases::tell_ends_apart(const Arguments& arguments) {
  Leaves steady, moving;
  for (const auto& [node, argument] : arguments) {
    std::vector<int> own;
    if (!reader().find_leaves(argument, own)) continue;
    std::vector<int> varying;
    std::ranges::copy_if(own, std::back_inserter(varying), [this](int leaf) { return reader().is_baseline(leaf); });
    if (varying.size() == 1) continue;
    const TensorShape& stack = forest_.node(node).dims();
    if (stack.rank == 0)
      (varying.empty() ? steady : moving).emplace(node, std::move(varying.empty() ? own : varying));
    else if (stack[0] != 3)
      tell_ends_of_stack(stack[0], varying.empty() ? own : varying);
  }
  for (const int leaf : shared_by_terms(steady)) reader().say_baseline(leaf);
  if (moving.empty()) return;
  const std::unordered_set<int> shared = shared_by_terms(moving);
  for (const auto& [node, varying] : moving)
    say_rest_is_of_source(varying, [&shared](int leaf) { return shared.contains(leaf); });
}

void WrittenPhases::tell_ends_of_stack(int length, const std::vector<int>& leaves) {
  if (leaves.empty()) return;
  const auto is_other = [&](int leaf) {
    const TensorShape& dims = forest_.node(leaf).dims();
    return dims.rank == 0 || dims[0] != length;
  };
  if (!reader().is_baseline(leaves.front())) {
    for (const int leaf : leaves)
      if (is_other(leaf)) reader().say_baseline(leaf);
    return;
  }
  say_rest_is_of_source(leaves, [&](int leaf) { return is_other(leaf) && forest_.node(leaf).dims().rank > 0; });
}

/// Of leaves that vary in time. Coordinates are what a class says, or numbers that are given and may be coordinates;
/// the time itself, which directions are made of, is neither.
template <class MayBe>
void WrittenPhases::say_rest_is_of_source(const std::vector<int>& varying, const MayBe& may_be_coordinates) {
  const auto is_coordinates = [&](int leaf) {
    const Algebra own = algebra(leaf);
    const bool is_given = own == Algebra::constant || own == Algebra::data;
    return own == Algebra::coordinates || (is_given && may_be_coordinates(leaf));
  };
  if (std::ranges::none_of(varying, is_coordinates)) return;
  for (const int leaf : varying)
    if (!is_coordinates(leaf)) reader().say_source(leaf);
}

/// Leaves that the phases of a sum's first two terms share.
std::unordered_set<int> WrittenPhases::shared_by_terms(const Leaves& leaves) const {
  std::unordered_set<int> shared;
  if (leaves.empty()) return shared;
  const auto has = [](const std::vector<int>& all, int one) { return std::ranges::find(all, one) != all.end(); };
  for (const int node : forest_.order()) {
    const std::span<const int> children = forest_.children(node);
    if (algebra(node) != Algebra::sum || children.size() < 2) continue;
    const std::vector<int> first = phases_below(children[0], leaves), second = phases_below(children[1], leaves);
    if (std::any_of(first.begin(), first.end(), [&](int phase) { return has(second, phase); })) continue;
    for (const int a : first)
      for (const int b : second)
        for (const int leaf : leaves.at(a))
          if (has(leaves.at(b), leaf)) shared.insert(leaf);
  }
  return shared;
}

}  // namespace rimetree::rewrite
