#include "runtime/rewrite/source_terms.h"

#include <utility>

namespace rimetree::rewrite {

namespace {

bool is_identity(const ProductMatrix& matrix) {
  const auto& all = matrix.elements;
  const auto is_one = [](const ProductMatrix::Element& e) { return !e.is_zero && !e.negative && e.count == 0; };
  return is_one(all[0]) && is_one(all[3]) && all[1].is_zero && all[2].is_zero;
}

}  // namespace

void SourceTerms::forget_since(const Mark& mark) {
  terms_.resize(mark.terms);
  factors_.resize(mark.factors);
  matrices_.resize(mark.matrices);
}

std::vector<SourceTerm> SourceTerms::take_terms_since(const Mark& mark) {
  const auto begin = terms_.begin() + static_cast<std::ptrdiff_t>(mark.terms);
  std::vector<SourceTerm> taken(begin, terms_.end());
  terms_.resize(mark.terms);
  return taken;
}

void SourceTerms::add(SourceTerm term, std::span<const Factor> factors) {
  term.first = static_cast<std::uint32_t>(factors_.size());
  term.count = static_cast<std::uint32_t>(factors.size());
  factors_.insert(factors_.end(), factors.begin(), factors.end());
  terms_.push_back(term);
}

ProductMatrix::Element SourceTerms::element_of(bool negative, std::span<const Factor> factors) {
  const auto first = static_cast<std::uint32_t>(factors_.size());
  factors_.insert(factors_.end(), factors.begin(), factors.end());
  return {false, negative, first, static_cast<std::uint32_t>(factors.size())};
}

void SourceTerms::add_matrix(const ProductMatrix& matrix, std::vector<Factor>& factors) {
  if (is_identity(matrix)) return;
  factors.push_back({.matrix = static_cast<int>(matrices_.size())});
  matrices_.push_back(matrix);
}

void SourceTerms::add(SourceSum sum) {
  for (const SourceTerm& term : terms(sum))
    for_each_node(term, [&](int node) {
      Uses& first = uses_[static_cast<std::size_t>(node)];
      if (first.lmn < 0) first.lmn = term.lmn;
      Uses& own = first.lmn == term.lmn ? first : more_uses_[key_of(node, term.lmn)];
      own.count += own.last != sum.root;
      own.last = sum.root;
    });
  sums_.push_back(std::move(sum));
}

}  // namespace rimetree::rewrite
