#include "runtime/fit/sparsity.h"

#include <algorithm>
#include <stdexcept>

namespace rimetree::fit {

std::size_t Sparsity::find(std::size_t row, std::size_t column) const {
  const auto first = row_.begin() + static_cast<std::ptrdiff_t>(begin_[column]);
  const auto last = row_.begin() + static_cast<std::ptrdiff_t>(begin_[column + 1]);
  const auto found = std::lower_bound(first, last, static_cast<std::uint32_t>(row));
  if (found == last || *found != row) throw std::out_of_range("no such element in a sparse normal matrix");
  return static_cast<std::size_t>(found - row_.begin());
}

SparsityBuilder::SparsityBuilder(std::size_t n) : n_(n) {
  for (std::uint64_t k = 0; k < n; ++k) elements_.push_back(k << 32 | k);
}

void SparsityBuilder::connect(std::span<const std::uint32_t> unknowns) {
  for (const std::uint64_t a : unknowns)
    for (const std::uint64_t b : unknowns)
      if (a > b) elements_.push_back(b << 32 | a);
  if (elements_.size() > 2 * tidied_ + (1u << 20)) tidy();
}

void SparsityBuilder::tidy() {
  std::sort(elements_.begin(), elements_.end());
  elements_.erase(std::unique(elements_.begin(), elements_.end()), elements_.end());
  tidied_ = elements_.size();
}

std::shared_ptr<const Sparsity> SparsityBuilder::finish() {
  tidy();
  auto result = std::make_shared<Sparsity>();
  result->begin_.assign(n_ + 1, 0);
  result->row_.reserve(elements_.size());
  for (const std::uint64_t element : elements_) {
    ++result->begin_[(element >> 32) + 1];
    result->row_.push_back(static_cast<std::uint32_t>(element));
  }
  for (std::size_t k = 0; k < n_; ++k) result->begin_[k + 1] += result->begin_[k];
  elements_ = {};
  return result;
}

}  // namespace rimetree::fit
