#include "runtime/solve/jones/jones_sums.h"

namespace rimetree::solve {

JonesSums::JonesSums(const Problem& problem, const JonesProducts& products)
    : has_data(products.n_equation(), 0),
      is_complex(products.n_equation(), 0),
      problem_(problem),
      of_(products),
      first_{0} {
  for (std::size_t e = 0; e < products.n_equation(); ++e) {
    const std::size_t k = products.n_basis(e);
    first_.push_back(first_.back() + products.n_element() * (k + k * (k + 1) / 2));
  }
}

std::uint64_t JonesSums::bytes() const {
  return problem_.n_block() *
         (first_.back() * sizeof(Complex<double>) + has_data.size() * of_.n_element() * sizeof(ScalarSums));
}

void JonesSums::clear(bool with_products) {
  if (with_products) products_.assign(problem_.n_block() * first_.back(), {});
  scalars_.assign(has_data.size() * problem_.n_block() * of_.n_element(), {});
}

double JonesSums::n_equation(const Item& item) const {
  double n = 0;
  for (std::size_t element = 0; element < of_.n_element(); ++element)
    n += scalars(block_of(item), item.equation, element).equations;
  return n;
}

void JonesSums::append_items(std::uint32_t equation, std::uint32_t first_segment, std::uint32_t end_segment,
                             std::vector<Item>& items) const {
  if (!counts(equation)) return;
  for (std::uint32_t t = first_segment; t < end_segment; ++t)
    for (std::uint32_t f = 0; f < problem_.frequency_segments().size(); ++f) items.push_back({equation, t, f});
}

std::vector<Item> JonesSums::items() const {
  std::vector<Item> items;
  for (std::uint32_t e = 0; e < has_data.size(); ++e)
    if (has_data[e]) append_items(e, 0, static_cast<std::uint32_t>(problem_.time_segments().size()), items);
  return items;
}

}  // namespace rimetree::solve
