// Smearing that a script writes by hand: sin(x)/x with x = pi W/c (u l + v m + w (n - 1)) is that of a channel of width
// W, and with x = pi W nu/c (u' l + v' m + w' (n - 1)), where u', v', w' are rates, that of an exposure W. Where x is
// zero sin(x)/x is none, but smearing is one.
#include <algorithm>
#include <cmath>

#include "runtime/rewrite/written_phases.h"

namespace rimetree::rewrite {

namespace {

/// What a script adds to x so that it is never zero, in radians: that changes sin(x)/x by less than half of it.
constexpr double kNothing = 1e-12;

}  // namespace

/// A node as numbers times sin(x)/x, of one x or of several; nothing if it is none.
std::optional<WrittenPhases::Sincs> WrittenPhases::sincs(int node) const {
  const std::span<const int> children = forest_.children(node);
  if (forest_.node(children[1]).dims().rank > 1) return {};
  Factors product = factors(children[0]);
  Sincs found;
  if (!take_sines(children[1], product, found.sines)) return {};
  found.others = std::move(product.all);
  found.negative = product.negative;
  return found;
}

/// Takes the sines of what a divisor is a product of out of a product; false if they are not all there.
bool WrittenPhases::take_sines(int divisor, Factors& product, std::vector<int>& sines) const {
  if (refused_[static_cast<std::size_t>(divisor)]) return false;
  const auto is_its = [&](int node) {
    return algebra(node) == Algebra::sine && forest_.children(node)[0] == divisor &&
           !refused_[static_cast<std::size_t>(node)];
  };
  const auto at = std::ranges::find_if(product.all, is_its);
  if (at != product.all.end()) {
    sines.push_back(*at);
    product.all.erase(at);
    return true;
  }
  return algebra(divisor) == Algebra::product &&
         std::ranges::all_of(forest_.children(divisor), [&](int child) { return take_sines(child, product, sines); });
}

/// Puts nodes that smear by class into the place of what does so by its formula, as far as it does.
bool WrittenPhases::make(int node, const Sincs& found) {
  nodes_.set_owner(node);
  std::vector<int> all = found.others;
  if (found.negative) all.push_back(nodes_.constant(-1, {}));
  const bool alone = all.empty() && found.sines.size() == 1;
  for (const int sine : found.sines) {
    const char* reason = "";
    const int one = smearing(forest_.children(sine)[0], alone, reason);
    if (one < 0) {
      if (*reason != 0) obstacles_.push_back({node, reason, "smearing"});
      return false;
    }
    all.push_back(one);
  }
  if (!alone) nodes_.elementwise_product(std::move(all), true);
  return true;
}

/// -1: sin(x)/x does not smear, and the reason why, if it looks as if it did.
int WrittenPhases::smearing(int x, bool in_place, const char*& reason) {
  Form form;
  if (!reader().read(x, form)) return -1;
  const LeftOut left_out{.flagged = reader().leaves_out_flagged()};
  std::erase_if(form, [this](const Monomial& one) { return is_nothing(one); });
  const auto of_baseline = [](const Monomial& one) { return !one.baseline.empty(); };
  const auto of_source = [](const Monomial& one) { return !one.source.empty(); };
  if (std::ranges::none_of(form, of_baseline) || std::ranges::none_of(form, of_source)) return -1;
  SmearingNode node;
  node.in_time = form.front().frequency != 0;
  reason = obstacle(form, false, node.in_time ? 1 : 0);
  if (reason != nullptr) return -1;
  node.width = 2 * std::abs(take_scale(form, false));
  Columns columns;
  reason = node.in_time ? "its rates are not those of coordinates [2,3]" : "its coordinates are no three numbers";
  if (!sort_columns(form, columns, node.uvw, node.in_time ? 3 : 0)) return -1;
  const TensorShape& dims = forest_.node(x).dims();
  node.lmn = lmn_of(columns, dims.rank == 1 ? dims[0] : 0, node.n_minus);
  const auto scaled = scaled_.find(node.uvw);
  if (scaled != scaled_.end()) {
    node.uvw = scaled->second.first;
    node.width /= std::abs(scaled->second.second);
  }
  const int made = nodes_.smearing(node, in_place);
  leaving_out_.emplace_back(made, left_out);
  return made;
}

/// Whether a part of a sum is a number that only keeps it from being zero.
bool WrittenPhases::is_nothing(const Monomial& one) {
  if (one.frequency != 0 || !one.baseline.empty() || !one.source.empty()) return false;
  double value = abs(one.coefficient);
  for (const auto& [number, power] : one.numbers) value *= std::pow(abs(reader().value_of(number)), power);
  return value <= kNothing;
}

}  // namespace rimetree::rewrite
