// XX and YY as sums of their own, or all four correlations: sums of numbers over the same sources, seen by the same
// baseline, are elements of one sum of matrices, which costs half as much.
#include <algorithm>
#include <map>
#include <tuple>

#include "runtime/rewrite/source_sums.h"

namespace rimetree::rewrite {

/// Whether nothing in a sum is solved for - then it is a term of a Solver's by itself - and all of it is numbers.
bool SourceSums::may_be_element(const SourceSum& sum) const {
  if (!forest_.node(sum.root).dims().is_scalar() || sum.is_reduction || sum.by_element || !sum.rest.empty())
    return false;
  const auto is_fixed = [this](int node) { return (forest_.dependencies(node) & kSolvable) == 0; };
  const auto terms = found_.terms(sum);
  return std::all_of(terms.begin(), terms.end(), [&](const SourceTerm& term) {
    const auto factors = found_.factors(term);
    return term.written < 0 && term.part == Algebra::none && is_fixed(term.lmn) &&
           std::all_of(factors.begin(), factors.end(),
                       [&](const Factor& one) { return one.matrix < 0 && is_fixed(one.node); });
  });
}

/// Sums that differ in nothing but numbers of the sources, two to four at a time.
std::vector<SourceSums::Elements> SourceSums::elements() const {
  using Key = std::tuple<int, int, int, decltype(SourceTerm().sight())>;
  std::map<std::vector<Key>, Elements> alike;
  for (const SourceSum& sum : found_.sums()) {
    if (!may_be_element(sum)) continue;
    std::vector<Key> key;
    for (const SourceTerm& term : found_.terms(sum))
      key.emplace_back(term.lmn, term.shape, term.n_source, term.sight());
    alike[std::move(key)].push_back(&sum);
  }
  std::vector<Elements> groups;
  for (auto& [key, sums] : alike) {
    if (sums.size() < 2 || sums.size() > 4) continue;
    std::sort(sums.begin(), sums.end(), [](const SourceSum* a, const SourceSum* b) { return a->root < b->root; });
    groups.push_back(std::move(sums));
  }
  return groups;
}

/// One sum of matrices, of which each of the sums is an element. Where what varies in time is no term of rows and
/// columns each is made by itself.
void SourceSums::make_elements(const Elements& sums) {
  static constexpr int kPlaces[3][4] = {{0, 3}, {0, 1, 3}, {0, 1, 2, 3}};
  const int* places = kPlaces[sums.size() - 2];
  nodes_.set_owner(sums[0]->root);
  Group group;
  bool is_good = true;
  for (std::size_t i = 0; i < sums[0]->n_term && is_good; ++i) {
    ProductMatrix matrix;
    for (std::size_t k = 0; k < sums.size(); ++k) {
      const SourceTerm& term = found_.terms(*sums[k])[i];
      matrix.elements[static_cast<std::size_t>(places[k])] = {false, term.negative, term.first, term.count};
    }
    whole_.push_back(found_.terms(*sums[0])[i]);
    whole_.back().negative = false;
    std::vector<Piece> pieces;
    direction_ = whole_.back().lmn;
    add_pieces(matrix, pieces);
    group.push_back(sorted_out(whole_.back(), pieces));
    is_good = group.back().brightness.is_matrix() && are_alike(group.front(), group.back());
  }
  if (!is_good) return;
  const int matrix = node_of_sum(group, false, false);
  for (std::size_t k = 0; k < sums.size(); ++k) {
    nodes_.set_owner(sums[k]->root);
    nodes_.element_in_place(matrix, places[k]);
    is_element_[static_cast<std::size_t>(sums[k]->root)] = true;
  }
}

}  // namespace rimetree::rewrite
