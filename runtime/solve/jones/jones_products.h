// The factors of a problem's models at the present values of the unknowns, and their products.
#pragma once

#include <array>
#include <utility>
#include <vector>

#include "runtime/evaluate/evaluator.h"
#include "runtime/solve/jones/jones_terms.h"
#include "runtime/solve/problem/problem.h"

namespace rimetree::solve {

/// A product of factors on a block, with its derivatives.
struct JonesProduct {
  using Matrix = std::array<Complex<double>, 4>;
  Matrix value{};
  std::vector<std::pair<std::uint32_t, Matrix>> derivatives;  ///< by unknown
};

class JonesProducts {
 public:
  /// Of a problem whose cells are divided into blocks; `whole` is the request for all of them.
  JonesProducts(ModelForest forest, const Problem& problem, const Request& whole, std::vector<JonesModel> models);

  /// Takes the factors at the present values. False if one of them has no value or flags, which only the general way
  /// can take account of.
  bool evaluate(Cancellation& cancellation);

  /// Where the nodes of models are.
  const ModelForest& forest() const { return forest_; }
  std::size_t n_equation() const { return models_.size(); }
  const JonesModel& model(std::size_t equation) const { return models_[equation]; }
  const std::vector<JonesModel>& models() const { return models_; }
  /// Elements that an equation compares, and the most that any does.
  std::size_t n_element(std::size_t equation) const { return models_[equation].n_element; }
  std::size_t n_element() const { return n_element_; }
  /// Rows of matrices: 2, or 1 where all factors and fixed visibilities are numbers.
  std::size_t n_feed() const { return n_feed_; }
  /// Fixed visibilities that an element of a term is made of.
  std::size_t n_basis_of_term(std::size_t equation) const { return models_[equation].diagonal ? 1 : n_feed_ * n_feed_; }
  /// Fixed visibilities that an element of an equation's model is made of.
  std::size_t n_basis(std::size_t equation) const { return n_basis_[equation]; }
  const std::vector<int>& factor_nodes() const { return factor_nodes_; }
  const Result& factor(int node) const { return *factors_[static_cast<std::size_t>(node)]; }
  /// The factors of each different product.
  const std::vector<std::vector<int>>& different() const { return different_; }
  /// The numbers of the left and the right product, by solvable term.
  const std::vector<std::array<std::uint32_t, 2>>& sides(std::size_t equation) const { return sides_[equation]; }
  /// Where an element of the model stands in the k-th solvable term.
  JonesTerm::Place place(std::size_t equation, std::size_t k, std::size_t element) const {
    return models_[equation].terms[solvable_terms_[equation][k]].place(element);
  }
  /// What a product takes with its derivatives, all different ones together.
  std::size_t bytes_of_a_block() const;

  JonesProduct product(const std::vector<int>& factors, const Item& item) const;
  /// Coefficients of the fixed visibilities in an element of the model.
  std::vector<Complex<double>> coefficients(const Item& item, std::size_t element,
                                            const std::vector<std::array<JonesProduct, 2>>& by_term) const;
  std::vector<std::array<JonesProduct, 2>> by_term(const Item& item) const;
  /// Those of the k-th solvable term.
  void append_coefficients(std::uint32_t equation, std::size_t k, std::size_t element, const JonesProduct& left,
                           const JonesProduct& right, std::vector<Complex<double>>& c) const;

 private:
  void find_different();

  ModelForest forest_;
  const Problem& problem_;
  Request request_;
  std::vector<JonesModel> models_;
  std::size_t n_element_, n_feed_;
  std::vector<std::size_t> n_basis_;
  std::vector<int> factor_nodes_;
  std::vector<ResultPtr> factors_;  ///< by node of the forest
  std::vector<std::vector<int>> different_;
  std::vector<std::vector<std::array<std::uint32_t, 2>>> sides_;  ///< by equation and solvable term
  std::vector<std::vector<std::uint32_t>> solvable_terms_;        ///< by equation: their numbers
};

}  // namespace rimetree::solve
