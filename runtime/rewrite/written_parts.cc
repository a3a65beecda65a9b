// Exponentials of sums, of which a part is the phase of a direction and the rest something else, as the ionosphere's or
// a clock's: exp(i (x + y)) is exp(i x) exp(i y).
#include <algorithm>

#include "runtime/rewrite/written_phases.h"

namespace rimetree::rewrite {

bool WrittenPhases::split(int node, const Exponential& found) {
  Parts parts;
  divide({{}, found.argument, false}, found.is_complex, parts);
  if (parts.form.empty()) return false;
  // -w of w (n - 1) has no source; a delay of a station is none of the coordinates.
  for (auto& [part, form] : parts.sourceless) {
    const Atom& own = form.front().baseline.front();
    const auto is_own = [&own](const Monomial& one) { return one.baseline.front() == own; };
    if (std::any_of(parts.form.begin(), parts.form.end(), is_own))
      parts.form.insert(parts.form.end(), form.begin(), form.end());
    else
      parts.rest.push_back(part);
  }
  if (parts.rest.empty()) return false;
  int rest = -1;
  for (const Part& part : parts.rest) rest = rest < 0 ? node_of(part) : nodes_.total(rest, node_of(part));
  rest = found.is_complex ? nodes_.exponential(rest) : nodes_.polar(nodes_.constant(1, {}), rest);
  if (found.conjugate) rest = nodes_.conjugate_transpose(rest);
  return put(node, found, parts.form, parts.leaves_out_flagged, rest) == nullptr;
}

/// Sorts out what is the phase of a direction, going down sums as far as they are none as a whole.
void WrittenPhases::divide(Part part, bool is_complex, Parts& parts) {
  Form form;
  if (read_part(part, form) && obstacle(form, is_complex) == nullptr) {
    parts.leaves_out_flagged = parts.leaves_out_flagged || reader().leaves_out_flagged();
    if (form.size() == 1 && form.front().source.empty())
      parts.sourceless.emplace_back(std::move(part), std::move(form));
    else
      parts.form.insert(parts.form.end(), form.begin(), form.end());
    return;
  }
  const std::span<const int> children = forest_.children(part.term);
  const int sum = sum_in(part.term);
  if (sum < 0 || refused_[static_cast<std::size_t>(part.term)]) {
    parts.rest.push_back(std::move(part));
    return;
  }
  const Algebra own = algebra(part.term);
  if (own == Algebra::product)
    for (const int child : children)
      if (child != sum) part.factors.push_back(child);
  for (std::size_t i = 0; i < children.size(); ++i) {
    if (own == Algebra::product && children[i] != sum) continue;
    const bool minus = own == Algebra::negation || (own == Algebra::difference && i == 1);
    divide({part.factors, children[i], part.negative != minus}, is_complex, parts);
  }
}

/// The node itself if it is a sum, or has one as its only child; of a product the child that is one, if no other is.
int WrittenPhases::sum_in(int node) const {
  const std::span<const int> children = forest_.children(node);
  if (!forest_.node(node).dims().is_scalar()) return -1;
  switch (algebra(node)) {
    case Algebra::sum:
    case Algebra::difference:
      return node;
    case Algebra::identity:
    case Algebra::negation:
      return sum_in(children[0]) < 0 ? -1 : node;
    case Algebra::product: {
      const auto is_sum = [this](int child) { return sum_in(child) >= 0; };
      const auto at = std::find_if(children.begin(), children.end(), is_sum);
      return at == children.end() || std::count_if(children.begin(), children.end(), is_sum) > 1 ? -1 : *at;
    }
    default:
      return -1;
  }
}

bool WrittenPhases::read_part(const Part& part, Form& form) {
  form = {Monomial{.coefficient = {part.negative ? -1.0 : 1.0, 0}}};
  std::vector<int> all = part.factors;
  all.push_back(part.term);  // the last one: it may leave out what is flagged
  for (const int factor : all) {
    Form own;
    if (!reader().read(factor, own) || form.size() * own.size() > kMostMonomials) return false;
    form = product(form, own);
  }
  return !form.empty();
}

int WrittenPhases::node_of(const Part& part) {
  int node = part.term;
  for (const int factor : part.factors) node = nodes_.product(factor, node);
  return part.negative ? nodes_.negative(node) : node;
}

}  // namespace rimetree::rewrite
