#include "runtime/rewrite/source_nodes.h"

#include <algorithm>
#include <map>
#include <string>

#include "runtime/rewrite/new_nodes.h"

namespace rimetree::rewrite {

namespace {

/// Whether what is below a node is still a part of a sum of products.
bool is_transparent(Algebra algebra) {
  switch (algebra) {
    case Algebra::identity:
    case Algebra::sum:
    case Algebra::difference:
    case Algebra::negation:
    case Algebra::product:
    case Algebra::quotient:
    case Algebra::conjugate:
    case Algebra::transpose:
    case Algebra::conjugate_transpose:
    case Algebra::matrix_product:
    case Algebra::reduction:
    case Algebra::composition:
    case Algebra::selection:
    case Algebra::real_part:
    case Algebra::imaginary_part:
      return true;
    default:
      return false;
  }
}

bool is_part(Algebra algebra) { return algebra == Algebra::real_part || algebra == Algebra::imaginary_part; }

}  // namespace

bool is_sum(Algebra algebra) {
  return algebra == Algebra::sum || algebra == Algebra::difference || algebra == Algebra::reduction;
}

bool looks_like_brightness(const Forest& forest, int node) {
  while (forest.node(node).algebra() == Algebra::selection || forest.node(node).algebra() == Algebra::identity)
    node = forest.children(node)[0];
  return forest.node(node).algebra() == Algebra::brightness;
}

double width_of(const State& state, const char* field) {
  const StateValue* width = state.find(field);
  return width == nullptr ? 0 : std::get<double>(*width);
}

SourceNodes::SourceNodes(const Forest& forest, const std::vector<bool>& refused,
                         std::span<const std::pair<int, LeftOut>> leaving_out)
    : forest_(forest), refused_(refused), is_real_(forest) {
  if (!leaving_out.empty()) leaves_out_.assign(forest.size(), {});
  for (const auto& [node, left_out] : leaving_out) {
    leaves_out_[node].flagged |= left_out.flagged;
    leaves_out_[node].missing |= left_out.missing;
  }
  std::vector<bool> is_direction(forest.size());
  for (const int node : forest.order()) {
    any_ = any_ || algebra(node) == Algebra::phase || algebra(node) == Algebra::source_sum;
    if (algebra(node) != Algebra::phase) continue;
    const auto lmn = static_cast<std::size_t>(children(node)[0]);
    n_direction_ += !is_direction[lmn];
    is_direction[lmn] = true;
  }
  if (!any_) return;
  count_readers();
  find_what_varies();
  count_moving();
  holds_.assign(forest.size(), 0);
  for (const int node : forest.order()) holds_[node] = held_by(node);
}

void SourceNodes::count_readers() {
  n_reader_.assign(forest_.size(), 0);
  for (const int node : forest_.order())
    for (const int child : children(node))
      if (child >= 0) ++n_reader_[child];
}

void SourceNodes::find_what_varies() {
  varies_.assign(forest_.size(), kNoAxes);
  for (const int node : forest_.order()) {
    varies_[node] = forest_.node(node).traits().varies_along;
    for (const int child : children(node))
      if (child >= 0) varies_[node] |= varies_[child];
  }
}

void SourceNodes::count_moving() {
  std::vector<bool> is_counted(forest_.size());
  for (const int node : forest_.order()) {
    if (algebra(node) != Algebra::phase && algebra(node) != Algebra::taper) continue;
    const int place = children(node)[0];
    if (!may_vary_in_time(place) || is_counted[place]) continue;
    is_counted[place] = true;
    n_moving_ += dims(place).rank == 2 ? static_cast<std::size_t>(dims(place)[0]) : 1;
  }
}

/// Its children are known.
std::uint8_t SourceNodes::held_by(int node) const {
  switch (algebra(node)) {
    case Algebra::phase:
      return kPhase;
    case Algebra::smearing:
    case Algebra::taper:
      return kLoss;
    case Algebra::source_sum:
      // What others read as well is evaluated in any case. Stacks stay apart, as they may be known while others vary.
      return n_term(node) == 1 && n_reader_[node] == 1 ? std::uint8_t{kPhase} : std::uint8_t{0};
    default:
      break;
  }
  if (!is_transparent(algebra(node))) return 0;
  std::uint8_t held = 0;
  for (const int child : children(node))
    if (child >= 0) held |= holds_[child];
  return held != 0 && is_part(algebra(node)) ? std::uint8_t{kPart} : held;
}

/// It is read less often than something in it that is no brightness, as in (J_p B J_q^H) K or in J_p = P_p E_ps, where
/// P_p is that of all sources; or once.
bool SourceNodes::is_of_one_term(int node) const {
  const bool elementwise = algebra(node) == Algebra::product;
  if (!elementwise && algebra(node) != Algebra::matrix_product) return false;
  int matrices = 0;
  bool any_shared = false, any_read_more = false;
  for (const int child : children(node)) {
    if (!dims(child).is_scalar() && !(dims(child) == TensorShape{2, 2})) return false;
    matrices += !dims(child).is_scalar();
    any_shared = any_shared || n_reader_[child] > 1;
    any_read_more = any_read_more || (!looks_like_brightness(forest_, child) && n_reader_[child] > n_reader_[node]);
  }
  return ((any_shared && n_reader_[node] == 1) || any_read_more) && (!elementwise || matrices < 2);
}

bool SourceNodes::holds_sum(int node) const {
  if (!has_term(node) || algebra(node) == Algebra::source_sum) return false;
  return is_sum(algebra(node)) || (is_transparent(algebra(node)) &&
                                   std::ranges::any_of(children(node), [this](int child) { return holds_sum(child); }));
}

int SourceNodes::n_term(int node) const {
  if (algebra(node) == Algebra::source_sum) {
    const TensorShape& lmn = dims(children(node)[kLmnSlot]);
    return lmn.rank == 2 ? lmn[0] : 1;
  }
  if (algebra(node) == Algebra::reduction) {
    const TensorShape& stack = dims(children(node)[0]);
    return stack.rank > 0 ? stack[0] : 1;
  }
  const bool by_element = algebra(node) == Algebra::composition;
  if (!is_sum(algebra(node)) && !by_element) return 1;
  int n = 0;
  for (const int child : children(node)) n = by_element ? std::max(n, n_term(child)) : n + n_term(child);
  return n;
}

/// It has to be looked at again when its state changes.
bool SourceNodes::is_zero(int node) {
  if (!is_constant_zero(forest_, node) || forest_.node(node).traits().varies_along != kNoAxes) return false;
  if (read_states_.empty() || read_states_.back() != node) read_states_.push_back(node);
  return true;
}

/// Their states have to be looked at again when they change.
bool SourceNodes::are_one_place(int a, int b) {
  const Node &first = forest_.node(a), &second = forest_.node(b);
  if (first.algebra() != Algebra::coordinates || &first.node_class() != &second.node_class()) return false;
  if (!std::ranges::equal(children(a), children(b))) return false;
  const auto [known, is_new] = one_place_.try_emplace(key_of(std::min(a, b), std::max(a, b)), false);
  if (!is_new) return known->second;
  std::map<std::string, StateValue> states[] = {first.state().values(), second.state().values()};
  for (auto& state : states) state.erase("include_deriv");
  known->second = states[0] == states[1];
  if (known->second) read_states_.insert(read_states_.end(), {a, b});
  return known->second;
}

}  // namespace rimetree::rewrite
