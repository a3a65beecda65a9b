#include "runtime/solve/jones/jones_cores.h"

#include <algorithm>
#include <vector>

namespace rimetree::solve {

namespace {

bool is_combination(Algebra algebra) {
  return algebra == Algebra::sum || algebra == Algebra::difference || algebra == Algebra::negation ||
         algebra == Algebra::matrix_product || algebra == Algebra::product || algebra == Algebra::quotient ||
         algebra == Algebra::selection;
}

}  // namespace

std::ptrdiff_t CoresOfProducts::core_of(int product) {
  const std::span<const int> children = forest_.children(product);
  std::ptrdiff_t fixed = -1, nested = -1, data = -1;
  int n_fixed = 0, n_nested = 0, n_data = 0;
  for (std::size_t i = 0; i < children.size(); ++i) {
    const auto here = static_cast<std::ptrdiff_t>(i);
    if ((forest_.dependencies(children[i]) & kData) != 0) data = here, ++n_data;
    if (!is_solvable(children[i]))
      fixed = here, ++n_fixed;
    else if (is_combination(forest_.node(children[i]).algebra()))
      nested = here, ++n_nested;
  }
  if (n_data == 1) return data;
  if (n_fixed == 1 && n_nested == 0) return fixed;
  if (n_fixed == 0 && n_nested == 1) return nested;
  return fullest_of(product, n_fixed == 1 ? fixed : -1);
}

/// Of the children of a product that which holds something fixed that varies, or if none does, something fixed: of
/// G_p G_q* M it is M, of 2 (G_p M G_q*) the second. Of several those that are as large as the product, and of these
/// `preferred`.
std::ptrdiff_t CoresOfProducts::fullest_of(int product, std::ptrdiff_t preferred) {
  const std::span<const int> children = forest_.children(product);
  std::vector<Fixed> holds;
  for (const int child : children) holds.push_back(held_by(child));
  const Fixed most = *std::max_element(holds.begin(), holds.end());
  if (most == Fixed::nothing) return -1;
  std::vector<std::ptrdiff_t> found;
  for (const bool as_large : {false, true}) {
    found.clear();
    for (std::size_t i = 0; i < children.size(); ++i)
      if (holds[i] == most && (!as_large || forest_.node(children[i]).dims() == forest_.node(product).dims()))
        found.push_back(static_cast<std::ptrdiff_t>(i));
    if (found.size() == 1) return found[0];
  }
  return std::find(found.begin(), found.end(), preferred) != found.end() ? preferred : -1;
}

CoresOfProducts::Fixed CoresOfProducts::held_by(int node) {
  if (!is_solvable(node))
    return (forest_.dependencies(node) & (kDomain | kData)) != 0 ? Fixed::varying : Fixed::numbers;
  const Algebra algebra = forest_.node(node).algebra();
  if (algebra != Algebra::identity && !is_combination(algebra)) return Fixed::nothing;
  if (const auto known = held_.find(node); known != held_.end()) return known->second;
  Fixed most = Fixed::nothing;
  for (const int child : forest_.children(node)) most = std::max(most, held_by(child));
  return held_[node] = most;
}

}  // namespace rimetree::solve
