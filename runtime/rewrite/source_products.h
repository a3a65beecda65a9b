// What a term of a sum over sources is a product of. A kind of factor is read by a function of its own, which
// `read_factors` chooses by the algebra of a node, and goes to a field of `Product`; `term_of` makes the term.
#pragma once

#include <array>
#include <optional>
#include <utility>
#include <vector>

#include "runtime/rewrite/source_terms.h"

namespace rimetree::rewrite {

/// What is read, what has been found in it, and the sum that is being read.
struct Reading {
  SourceNodes& nodes;
  SourceTerms& found;
  SourceSum sum;
  Obstacle obstacle;  ///< the last one met
  bool refuse(int node, const char* reason) {
    obstacle.node = node;
    obstacle.reason = reason;
    return false;
  }
};

/// What lessens a source, of which a product has one of each kind at most. These nodes have coordinates as children[1].
enum Loss { kOverExposures, kOverChannels, kTaper, kLosses };

/// A node of each kind; -1: none.
struct Losses : std::array<int, kLosses> {
  Losses() { fill(-1); }
};

/// How a product sees its source: what is no factor of it.
struct ProductSight {
  struct Phase {
    int uvw = -1;
    bool negative = false;
    friend bool operator==(const Phase&, const Phase&) = default;
  };
  std::vector<Phase> phases;
  int lmn = -1, n_minus = -1;
  Losses losses;
  Algebra part = Algebra::none;  ///< it is only the real, or imaginary, part of what has phases
  friend bool operator==(const ProductSight&, const ProductSight&) = default;
};

/// Where a product stands that is a term of one element of a matrix, and how many of its factors are those of that
/// matrix, to its left and to its right.
struct ElementPlace {
  int element = -1;  ///< -1: it is a whole term
  std::size_t n_left = 0, n_right = 0;
};

/// A product while it is read.
struct Product {
  std::vector<Factor> factors;
  ProductSight sight;
  bool takes_parts = false;  ///< real and imaginary parts are not just numbers
  bool negative = false;
  int nested = -1;  ///< a factor that is a sum, which stands before factor `nested_at`
  std::size_t nested_at = 0;
  bool nested_adjoint = false;
  ElementPlace place;

  /// Empties it, and keeps its memory.
  void clear();
  /// Whether there is nothing but the sum.
  bool is_bare() const { return factors.empty() && sight.phases.empty() && sight.losses == Losses(); }
  bool smears() const { return sight.losses[kOverExposures] >= 0 || sight.losses[kOverChannels] >= 0; }
};

/// All of them add what a node is to a product. False if it is no part of one: then the obstacle says why.
bool read_factors(Reading& reading, int node, bool adjoint, Product& product);
bool read_matrix(Reading& reading, int node, bool adjoint, Product& product);
bool read_selection(Reading& reading, int node, bool adjoint, Product& product);
bool read_smearing(Reading& reading, int node, Product& product);
bool read_part(Reading& reading, int node, Product& product);

/// A sum as a factor, of which there can be one.
bool nest(Reading& reading, int node, bool adjoint, Product& product);
bool take_loss(Reading& reading, Loss loss, int node, Product& product);
/// The direction of a phase or of its smearing, which is one for all factors.
bool take_direction(Reading& reading, int node, Product& product);
/// Notes what is left out in the sums that a phase or smearing is made from.
void note_left_out(Reading& reading, int node);
/// How another product, which is a part of this one, sees the source.
bool take_sight(Reading& reading, const ProductSight& from, Product& product);
/// Puts a product in the place of the sum in another one.
bool put_into(Reading& reading, const Product& outer, Product& product);

/// Which row-major element of a matrix's transpose is which.
inline constexpr int kTransposed[] = {0, 2, 1, 3};
/// Where elements of a matrix are different terms: one term for those of a source. `places`: of the terms since a mark.
void join_elements(Reading& reading, const SourceTerms::Mark& start, std::span<const ElementPlace> places);

/// Whether all factors are of a source, or of the sources of a stack.
bool fits(Reading& reading, const Product& product, int stack);
/// Nothing if a product is no term.
std::optional<SourceTerm> term_of(Reading& reading, const Product& product, int stack);

}  // namespace rimetree::rewrite
