// Sums over sources as a tree has them: of a node that is a sum, its terms, each a product of phases, smearing, a shape
// and matrices. What has been found stands in arrays, since there may be millions of terms.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "runtime/rewrite/source_nodes.h"

namespace rimetree::rewrite {

/// A node as it stands in a product: itself, its conjugate transpose, or what it divides by. In a node's place there
/// may be a matrix of products.
struct Factor {
  int node = -1;
  bool adjoint = false, inverse = false;
  int matrix = -1;           ///< number of the matrix of products; -1: a node
  std::int8_t element = -1;  ///< of the node, counted row-major; -1: all of it
  bool in_part = false;      ///< it is within what the real, or imaginary, part is of
  friend bool operator==(const Factor&, const Factor&) = default;
};

/// A matrix that is written element by element, each a product of numbers or zero: Matrix22(g XX, 0, 0, h YY), whose
/// phases are factors of the whole.
struct ProductMatrix {
  struct Element {
    bool is_zero = true, negative = false;
    std::uint32_t first = 0, count = 0;  ///< its factors
  };
  std::array<Element, 4> elements;
};

/// One source, or a stack of them, as one baseline sees it: exp(i phase) smearing taper F1 F2 ...
struct SourceTerm {
  int lmn = -1;
  int shape = -1;                ///< -1: a point
  int uvw = -1, minus_uvw = -1;  ///< the baseline is their difference; -1: there is none to add, or to subtract
  int n_source = 0;              ///< length of the stack; 0: a single source
  int n_minus = 1;
  bool smears = false, smear_time = false, smear_frequency = false;
  double time_width_s = 0, freq_width_hz = 0;  ///< of smearing; 0: those of the cells
  /// All of it (none), or its real or imaginary part, and all factors outside of that are real.
  Algebra part = Algebra::none;
  bool negative = false;
  int written = -1;                    ///< the node that is just this term, or its negative; -1: none is
  bool in_difference = false;          ///< of a difference, which is missing without it
  std::uint32_t first = 0, count = 0;  ///< its factors, from left to right

  /// What is seen, but for the source: terms that agree in it can be summed by one node.
  auto sight() const {
    return std::tuple(uvw, minus_uvw, n_minus, smears, smear_time, smear_frequency, time_width_s, freq_width_hz, part);
  }
};

/// A node that is a sum of such terms and, perhaps, of nodes that are none.
struct SourceSum {
  int root = -1;
  bool is_reduction = false;        ///< over a stack: flagged cells are left out of it
  bool by_element = false;          ///< a part of it is written element by element: each element has its own flags
  bool leaves_out_flagged = false;  ///< a phase of it does so with u, v or w
  bool holds_zero = false;          ///< something of it is left out where it is missing: the sum need not be
  /// Whether flags of coordinates may be other ones than those of the sum.
  bool own_flags() const { return by_element || leaves_out_flagged; }
  std::uint32_t first_term = 0, n_term = 0;
  std::vector<int> rest;  ///< added as they are
};

/// Why a node of a sum was not taken.
struct Obstacle {
  int root = -1, node = -1;
  const char* reason = "";
};

class SourceTerms {
 public:
  explicit SourceTerms(std::size_t n_node) : uses_(n_node) {}

  const std::vector<SourceSum>& sums() const { return sums_; }
  std::span<const SourceTerm> terms(const SourceSum& sum) const { return {&terms_[sum.first_term], sum.n_term}; }
  std::span<const Factor> factors(const SourceTerm& term) const { return {factors_.data() + term.first, term.count}; }
  std::span<const Factor> factors(const ProductMatrix::Element& element) const {
    return {factors_.data() + element.first, element.count};
  }
  const ProductMatrix& matrix(const Factor& factor) const { return matrices_[static_cast<std::size_t>(factor.matrix)]; }
  const std::vector<Obstacle>& obstacles() const { return obstacles_; }
  /// In how many sums a node is a factor of terms of a direction.
  std::uint32_t uses(int node, int lmn) const {
    const Uses& own = uses_[static_cast<std::size_t>(node)];
    return own.lmn == lmn ? own.count : more_uses_.at(key_of(node, lmn)).count;
  }

  /// f(factor) of each factor of a term that is a node.
  template <class F>
  void for_each_node(const SourceTerm& term, const F& f) const {
    for (const Factor& factor : factors(term)) {
      if (factor.matrix < 0) {
        f(factor.node);
        continue;
      }
      for (const ProductMatrix::Element& element : matrix(factor).elements)
        for (const Factor& one : factors(element)) f(one.node);
    }
  }

  /// How much has been found.
  struct Mark {
    std::size_t terms = 0, factors = 0, matrices = 0;
  };
  Mark mark() const { return {terms_.size(), factors_.size(), matrices_.size()}; }
  std::span<const SourceTerm> terms_since(const Mark& mark) const { return std::span(terms_).subspan(mark.terms); }
  void forget_since(const Mark& mark);
  /// Terms since a mark, which are then no longer there; their factors are.
  std::vector<SourceTerm> take_terms_since(const Mark& mark);

  /// These factors must not lie in the arrays of what has been found.
  void add(SourceTerm term, std::span<const Factor> factors);
  ProductMatrix::Element element_of(bool negative, std::span<const Factor> factors);
  /// As a factor; as none if it is the identity.
  void add_matrix(const ProductMatrix& matrix, std::vector<Factor>& factors);
  /// A sum of terms that have been added; what they are made of now counts as used.
  void add(SourceSum sum);
  void add(const Obstacle& obstacle) { obstacles_.push_back(obstacle); }

 private:
  /// Of a node in terms of a direction, and the last sum that was counted.
  struct Uses {
    int lmn = -1, last = -1;
    std::uint32_t count = 0;
  };

  std::vector<SourceSum> sums_;
  std::vector<SourceTerm> terms_;
  std::vector<Factor> factors_;
  std::vector<ProductMatrix> matrices_;
  std::vector<Obstacle> obstacles_;
  std::vector<Uses> uses_;                             // by node: of the first direction
  std::unordered_map<std::uint64_t, Uses> more_uses_;  // by key: of all others
};

}  // namespace rimetree::rewrite
