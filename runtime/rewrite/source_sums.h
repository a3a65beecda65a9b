// From the terms of sums to nodes that evaluate them: one for all terms that differ in nothing but the source.
#pragma once

#include <array>
#include <deque>
#include <span>
#include <vector>

#include "runtime/rewrite/new_nodes.h"
#include "runtime/rewrite/source_terms.h"

namespace rimetree::rewrite {

/// Puts nodes into the places of the sums that a reader has found.
class SourceSums {
 public:
  SourceSums(const SourceNodes& read, const SourceTerms& found, NewNodes& nodes)
      : forest_(read.forest()), read_(read), found_(found), nodes_(nodes) {}
  void make();
  /// Whether a sum has become an element of a sum of matrices.
  bool is_element(int root) const { return is_element_[static_cast<std::size_t>(root)]; }

 private:
  /// A node of a source or of a stack of them: a number (rank 0), a matrix (2), or stacks of these (1, 3).
  struct Part {
    int node = -1;
    int rank = 0;
    int n_source = 0;   ///< of a stack
    int original = -1;  ///< whose conjugate transpose it is; -1: it is none
    bool is_matrix() const { return rank >= 2; }
    bool is_stack() const { return rank % 2 == 1; }
  };
  /// A factor of a term: in how many sums it is, whether it varies in time, whether a class calls it a brightness.
  struct Piece {
    Part part;
    std::uint32_t uses = 0;
    bool varies = false, is_brightness = false;
  };
  /// A term, sorted out: J_n .. J_1 B K_1 .. K_n.
  struct Source {
    const SourceTerm* term = nullptr;
    Part brightness;
    std::vector<Part> left, right;  ///< the innermost first
    std::size_t size() const { return term->n_source > 0 ? static_cast<std::size_t>(term->n_source) : 1; }
  };
  using Group = std::vector<Source>;

  /// Sums of numbers of the same sources, element by element of a matrix: XX and YY, or all four.
  using Elements = std::vector<const SourceSum*>;

  void make_one(const SourceSum& sum);
  void make_elements(const Elements& sums);
  std::vector<Elements> elements() const;
  bool may_be_element(const SourceSum& sum) const;
  Source sorted_out(const SourceTerm& term);
  Source sorted_out(const SourceTerm& term, std::span<const Piece> pieces);
  static void bring_to_ends(Source& source);
  static std::size_t choose_brightness(std::span<const Piece> pieces);
  Piece piece_of(const Factor& factor);
  void add_pieces(const ProductMatrix& matrix, std::vector<Piece>& pieces);
  void add_diagonals(const std::vector<Factor>& first, const std::vector<Factor>& second, std::vector<Piece>& pieces);
  void add_middle(const ProductMatrix& matrix, const std::array<std::vector<Factor>, 4>& numbers, std::uint32_t uses,
                  std::vector<Piece>& pieces);
  Part matrix_of(std::array<Part, 4> elements, const std::array<double, 4>& otherwise);
  Part part_of(const Factor& factor);
  bool are_alike(const Source& a, const Source& b) const;
  int shape_columns(const SourceTerm& term) const;

  int node_of_sum(Group& group, bool is_scalar, bool in_place);
  int node_of_whole(Group& group, bool is_scalar, bool in_place);
  static std::vector<int> take_out_common(Group& group, std::vector<Part> Source::*side);
  int source_sum(const Group& group, bool in_place);
  int uvw_of(const SourceTerm& term);
  int stack_of_places(const Group& group, int SourceTerm::*place);
  template <class PartOf>
  int stack_of_parts(const Group& group, const PartOf& part_of);
  Part adjoint(Part part);

  const Forest& forest_;
  const SourceNodes& read_;
  const SourceTerms& found_;
  NewNodes& nodes_;
  std::vector<bool> is_element_;     // by node
  int direction_ = -1;               // of the term that is being sorted out
  bool shapes_are_vectors_ = false;  // of the sum that is being made: points then count among these
  std::deque<SourceTerm> whole_;     // terms of whole matrices, of which elements are sums
};

}  // namespace rimetree::rewrite
