// Exponentials of sums, of which a part is the phase of a direction and the rest something else, as the ionosphere's or
// a clock's: exp(i (x + y)) is exp(i x) exp(i y).
#include <algorithm>

#include "runtime/rewrite/written_phases.h"

namespace rimetree::rewrite {

bool WrittenPhases::split(int node, const Exponential& found) {
  Parts parts;
  divide({{}, {}, found.argument, false}, found.is_complex, parts);
  // -w of w (n - 1) has no source; a delay of a station is none of the coordinates.
  for (auto& [part, form] : parts.sourceless) {
    const Atom& own = form.front().baseline.front();
    const auto is_own = [&own](const Monomial& one) { return one.baseline.front() == own; };
    if (std::any_of(parts.form.begin(), parts.form.end(), is_own))
      parts.form.insert(parts.form.end(), form.begin(), form.end());
    else
      parts.rest.push_back(part);
  }
  const auto is_refused = [this](const Part& part) {
    const auto refused = [this](int one) { return refused_[static_cast<std::size_t>(one)]; };
    return refused(part.term) || std::ranges::any_of(part.factors, refused) ||
           std::ranges::any_of(part.divisors, refused);
  };
  if (parts.rest.empty() || std::ranges::any_of(parts.rest, is_refused)) return false;
  const std::vector<int> rest = factors_of(parts.rest, found);
  if (!parts.form.empty()) return put(node, found, parts.form, parts.left_out, rest) == nullptr;
  if (rest.size() < 2 || found.part != Algebra::none || parts.left_out.missing) return false;
  std::vector<int> all = amplitude(found);
  all.insert(all.end(), rest.begin(), rest.end());
  nodes_.elementwise_product(std::move(all), true);
  return true;
}

/// exp(i (a - b)) is exp(i a) times the conjugate of exp(i b): so stations have terms of their own, where others have
/// the same a and b.
std::vector<int> WrittenPhases::factors_of(const std::vector<Part>& parts, const Exponential& found) {
  std::vector<Part> plus, minus;
  for (const Part& part : parts) (part.negative ? minus : plus).push_back(part);
  const auto many = [this](const Part& part) { return is_read_by_many(part); };
  const auto is_right = [&](const Part& part) { return !found.is_complex || is_imaginary(part); };
  const bool by_ends = !plus.empty() && !minus.empty() && std::ranges::any_of(plus, many) &&
                       std::ranges::any_of(minus, many) && std::ranges::all_of(minus, is_right);
  if (!by_ends) return {exponential_of(parts, found, found.conjugate)};
  for (Part& part : minus) part.negative = false;
  return {exponential_of(plus, found, found.conjugate), exponential_of(minus, found, !found.conjugate)};
}

/// exp(i x) of the sum of parts, or its conjugate.
int WrittenPhases::exponential_of(const std::vector<Part>& parts, const Exponential& found, bool conjugate) {
  int sum = -1;
  for (const Part& part : parts) sum = sum < 0 ? node_of(part) : nodes_.total(sum, node_of(part));
  const int whole = found.is_complex ? nodes_.exponential(sum) : nodes_.polar(nodes_.constant(1, {}), sum);
  return conjugate ? nodes_.conjugate_transpose(whole) : whole;
}

/// Whether a part is an imaginary number times what is real.
bool WrittenPhases::is_imaginary(const Part& part) {
  std::vector<int> open = part.factors;
  open.push_back(part.term);
  int n_imaginary = 0;
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    const std::span<const int> children = forest_.children(node);
    if (is_real_(node)) continue;
    if (reader().is_number(node)) {
      if (reader().value_of(node).re != 0) return false;
      ++n_imaginary;
    } else if (algebra(node) == Algebra::quotient) {
      if (!is_real_(children[1])) return false;
      open.push_back(children[0]);
    } else if (algebra(node) == Algebra::product) {
      open.insert(open.end(), children.begin(), children.end());
    } else {
      return false;
    }
  }
  return n_imaginary == 1 && std::ranges::all_of(part.divisors, [this](int node) { return is_real_(node); });
}

/// Sorts out what is the phase of a direction, going down sums as far as they are none as a whole.
void WrittenPhases::divide(Part part, bool is_complex, Parts& parts) {
  Form form;
  const auto has_none = [](const Monomial& one) { return one.source.empty(); };
  if (read_part(part, form) && obstacle(form, is_complex, 1) == nullptr) {
    const bool is_sourceless = std::ranges::all_of(form, has_none);
    parts.left_out.flagged = parts.left_out.flagged || reader().leaves_out_flagged();
    if (!is_sourceless) {
      parts.form.insert(parts.form.end(), form.begin(), form.end());
      return;
    }
    if (form.size() == 1) {
      parts.sourceless.emplace_back(std::move(part), std::move(form));
      return;
    }
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
  parts.left_out.missing = parts.left_out.missing || own == Algebra::sum;
  if (own == Algebra::quotient) part.divisors.push_back(children[1]);
  for (std::size_t i = 0; i < children.size(); ++i) {
    if ((own == Algebra::product || own == Algebra::quotient) && children[i] != sum) continue;
    const bool minus = own == Algebra::negation || (own == Algebra::difference && i == 1);
    divide({part.factors, part.divisors, children[i], part.negative != minus}, is_complex, parts);
  }
}

/// The node itself if it is a sum, or has one as its only child; of a product the child that is one, if no other is; of
/// a quotient what is divided.
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
    case Algebra::quotient:
      return sum_in(children[0]) < 0 ? -1 : children[0];
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
  for (const int divisor : part.divisors) {
    Form own;
    if (!reader().read(divisor, own) || !rewrite::divide(form, own)) return false;
  }
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
  for (const int divisor : part.divisors) node = nodes_.quotient(node, divisor);
  return part.negative ? nodes_.negative(node) : node;
}

}  // namespace rimetree::rewrite
