// Sums over sources as a tree has them: of a node that is a sum, its terms, each a product of phases, smearing, a shape
// and matrices. Trees are read by what classes say of themselves (runtime/core/classes/algebra.h).
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "runtime/core/forest/forest.h"
#include "runtime/rewrite/linear_forms.h"
#include "runtime/rewrite/real_nodes.h"

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

/// Whether a node is what a class calls a brightness, or a part of it.
bool looks_like_brightness(const Forest& forest, int node);

/// What smearing is over, from a node's state; 0: the widths of the cells.
double width_of(const State& state, const char* field);

/// Reads the trees of a forest. What it has found stands in arrays, since there may be millions of terms.
class TermReader {
 public:
  /// `refused`: nodes that must not be part of a term, by node. `leaving_out`: phases and smearing that do so.
  TermReader(const Forest& forest, const std::vector<bool>& refused,
             std::span<const std::pair<int, LeftOut>> leaving_out);

  /// Whether there is anything to read: phases of sources.
  bool any() const { return any_; }
  /// Finds the sums below the roots, and which nodes are still needed.
  void read(std::span<const int> roots);

  const std::vector<SourceSum>& sums() const { return sums_; }
  std::span<const SourceTerm> terms(const SourceSum& sum) const { return {&terms_[sum.first_term], sum.n_term}; }
  std::span<const Factor> factors(const SourceTerm& term) const { return {factors_.data() + term.first, term.count}; }
  const ProductMatrix& matrix(const Factor& factor) const { return matrices_[static_cast<std::size_t>(factor.matrix)]; }
  std::span<const Factor> factors(const ProductMatrix::Element& element) const {
    return {factors_.data() + element.first, element.count};
  }
  /// Nodes whose states have been read, as constants that are zero: what has been found holds as long as they do not
  /// change.
  const std::vector<int>& read_states() const { return read_states_; }
  const std::vector<Obstacle>& obstacles() const { return obstacles_; }
  /// In how many sums a node is a factor of terms of a direction.
  std::uint32_t uses(int node, int lmn) const {
    const Uses& own = uses_[static_cast<std::size_t>(node)];
    return own.lmn == lmn ? own.count : more_uses_.at(key_of(node, lmn)).count;
  }
  bool may_vary_in_time(int node) const { return may_vary(node, Axis::time); }

 private:
  /// A product while it is read.
  struct Product {
    struct Phase {
      int uvw = -1;
      bool negative = false;
      friend bool operator==(const Phase&, const Phase&) = default;
    };
    std::vector<Factor> factors;
    std::vector<Phase> phases;
    int lmn = -1, n_minus = -1;
    std::array<int, 2> smearing{-1, -1};  ///< over exposures, over channels
    int taper = -1;
    Algebra part = Algebra::none;  ///< it is only the real, or imaginary, part of what has phases
    bool takes_parts = false;      ///< such parts are not just numbers
    bool negative = false;
    int nested = -1;  ///< a factor that is a sum, which stands before factor `nested_at`
    std::size_t nested_at = 0;
    bool nested_adjoint = false;
    /// Of a matrix that is written element by element the one that this is a term of, and how many factors of that
    /// matrix stand to the left and to the right of it; -1: it is a whole term.
    int element = -1;
    std::size_t n_left = 0, n_right = 0;
    void clear();
    /// Whether there is nothing but the sum.
    bool is_bare() const { return factors.empty() && phases.empty() && !smears() && taper < 0; }
    bool smears() const { return smearing[0] >= 0 || smearing[1] >= 0; }
  };
  /// Of a term of an element.
  struct Place {
    int element = -1;
    std::size_t n_left = 0, n_right = 0;
  };
  /// How much had been found.
  struct Mark {
    std::size_t terms = 0, factors = 0, matrices = 0;
  };
  /// Where a sum is read.
  struct Around {
    const Product* outer = nullptr;  ///< the product that the sum is a factor of
    bool adjoint = false;
    int stack = 0;     ///< length of the stack that is summed
    int element = -1;  ///< of a matrix in the outer product, in whose place it stands
  };
  /// Of a node in terms of a direction, and the last sum that was counted.
  struct Uses {
    int lmn = -1, last = -1;
    std::uint32_t count = 0;
  };
  static std::uint64_t key_of(int node, int other) {
    return static_cast<std::uint64_t>(node) << 32 | static_cast<std::uint32_t>(other);
  }
  bool read_sum(int root);
  void read_parts(int node, SourceSum& sum);
  bool read_terms(int node, bool negative, const Around& around);
  bool read_reduction(int node, bool negative, const Around& around);
  bool read_term(int node, bool negative, const Around& around);
  bool read_source_sum(int node, bool negative, const Around& around);
  bool put_into(const Product& outer, Product& product);
  bool take_place(const Product& from, Product& product);
  bool is_too_long(const Product& product, const Around& around) const;
  bool is_refused(int node) const;
  bool read_factors(int node, bool adjoint, Product& product);
  bool is_of_one_term(int node) const;
  bool read_product(int node, bool adjoint, Product& product);
  bool read_quotient(int node, bool adjoint, Product& product);
  bool read_phase(int node, bool adjoint, Product& product);
  bool read_smearing(int node, Product& product);
  bool take_smearing(const std::array<int, 2>& smearing, Product& product);
  bool read_part(int node, Product& product);
  bool has_real_factors(const Product& product);
  bool read_adjoint(int node, bool adjoint, Product& product);
  bool read_selection(int node, bool adjoint, Product& product);
  bool read_matrix(int node, bool adjoint, Product& product);
  bool read_elements(int node, bool negative, const Around& around);
  void join_elements(std::size_t first_term);
  void add_matrix(const ProductMatrix& matrix, std::vector<Factor>& factors);
  bool is_zero(int node);
  void note_left_out(int node);
  bool leaves_out(int term) { return is_zero(term) && (any_zero_ = true); }
  bool take_direction(int node, Product& product);
  bool emit(const Product& product, int stack);
  void add(SourceTerm& term, const Product& product);
  using Coordinates = std::vector<std::pair<int, int>>;
  void add_coordinates(int node, int times, Coordinates& all);
  bool are_one_place(int a, int b);
  int sign_of_baseline(const Product& product, int other);
  bool set_baseline(const Product& product, SourceTerm& term);
  void set_smearing(const Product& product, SourceTerm& term) const;
  bool fits(const Product& product, int stack);
  bool varies_with_baseline(const Product& product);
  bool may_vary(int node, Axis axis) const { return (varies_[static_cast<std::size_t>(node)] & set_of(axis)) != 0; }
  bool refuse(int node, const char* reason);
  void need(const SourceSum& sum);
  int n_term(int node) const;
  bool holds_sum(int node) const;
  Mark mark() const { return {terms_.size(), factors_.size(), matrices_.size()}; }
  void forget_since(const Mark& mark);
  template <class F>
  void for_each_factor(const SourceTerm& term, const F& f) const;
  Algebra algebra(int node) const { return forest_.node(node).algebra(); }

  const Forest& forest_;
  const std::vector<bool>& refused_;
  bool any_ = false;
  std::size_t n_direction_ = 0;          // of phases
  std::size_t n_moving_ = 0;             // directions and shapes of sources that vary in time
  std::vector<std::uint32_t> n_reader_;  // by node: parents
  /// What a node is, or one below it in sums and products is.
  enum Holds : std::uint8_t { kPhase = 1, kLoss = 2, kPart = 4 };
  std::vector<std::uint8_t> has_term_;  // by node: phases, smearing or tapers, real or imaginary parts of phases
  RealNodes is_real_;
  std::vector<std::uint8_t> needed_;                   // by node: somebody reads it
  std::vector<Uses> uses_;                             // by node: of the first direction
  std::unordered_map<std::uint64_t, Uses> more_uses_;  // by key: of all others
  std::vector<SourceSum> sums_;
  std::vector<SourceTerm> terms_;
  std::vector<Factor> factors_;
  std::vector<ProductMatrix> matrices_;
  std::vector<int> read_states_;
  std::unordered_map<std::uint64_t, bool> one_place_;  // by pair of nodes
  std::vector<Place> places_;        // of the terms of the matrix that is being read element by element
  std::vector<AxisSet> varies_;      // by node: along which axes
  std::vector<LeftOut> leaves_out_;  // by node; empty: none does
  // Of the sum that is being read: something of it is such a matrix, such a phase, or a zero.
  bool by_element_ = false, any_leaves_out_flagged_ = false, any_zero_ = false;
  bool in_difference_ = false;  // what is being read
  std::vector<Obstacle> obstacles_;
  Obstacle obstacle_;  // the last one met
  Product spare_, element_;
};

}  // namespace rimetree::rewrite
