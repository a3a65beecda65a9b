// Sums over the data: of each element on each block those of w m_k* d and of w m_k* m_l, with m the fixed visibilities
// that the model is made of, and scalars.
#pragma once

#include <span>
#include <vector>

#include "runtime/solve/jones/jones_products.h"
#include "runtime/solve/sums/cell_sums.h"

namespace rimetree::solve {

class JonesSums {
 public:
  JonesSums(const Problem& problem, const JonesProducts& products);

  std::uint64_t bytes() const;
  /// All begin at zero; those of products only if asked for.
  void clear(bool with_products);

  std::size_t block_of(const Item& item) const {
    return item.time_segment * problem_.frequency_segments().size() + item.frequency_segment;
  }
  /// The sums of w m_k* d, then the lower triangle of those of w m_k* m_l.
  Complex<double>* of_products(std::size_t block, std::uint32_t equation, std::size_t element) {
    return products_.data() + place(block, equation, element);
  }
  const Complex<double>* of_products(std::size_t block, std::uint32_t equation, std::size_t element) const {
    return products_.data() + place(block, equation, element);
  }
  ScalarSums& scalars(std::size_t block, std::uint32_t equation, std::size_t element) {
    return scalars_[(block * has_data.size() + equation) * of_.n_element() + element];
  }
  const ScalarSums& scalars(std::size_t block, std::uint32_t equation, std::size_t element) const {
    return scalars_[(block * has_data.size() + equation) * of_.n_element() + element];
  }
  /// Equations of all elements of an item that has data.
  double n_equation(const Item& item) const;

  /// Whether an equation has unknowns, be it that nothing is left of them in its elements.
  bool counts(std::size_t equation) const { return !problem_.equations[equation].parms.empty(); }
  /// All blocks of equations that have data and count, in their order.
  std::vector<Item> items() const;
  /// Appends those of one equation on some time segments, be there data or not.
  void append_items(std::uint32_t equation, std::uint32_t first_segment, std::uint32_t end_segment,
                    std::vector<Item>& items) const;

  /// All of them, [block, ...].
  std::size_t n_block() const { return problem_.n_block(); }
  std::span<Complex<double>> all_products() { return products_; }
  std::span<ScalarSums> all_scalars() { return scalars_; }

  std::vector<std::uint8_t> has_data, is_complex;  ///< by equation

 private:
  std::size_t place(std::size_t block, std::uint32_t equation, std::size_t element) const {
    const std::size_t k = of_.n_basis(equation);
    return block * first_.back() + first_[equation] + element * (k + k * (k + 1) / 2);
  }

  const Problem& problem_;
  const JonesProducts& of_;
  std::vector<std::size_t> first_;         ///< by equation: where its sums begin among those of a block; and all
  std::vector<Complex<double>> products_;  ///< [block, equation, element]
  std::vector<ScalarSums> scalars_;        ///< [block, equation, element]
};

}  // namespace rimetree::solve
