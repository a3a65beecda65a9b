// Reads the trees of a forest as sums over sources, by what classes say of themselves (runtime/core/classes/algebra.h).
#pragma once

#include <span>
#include <utility>
#include <vector>

#include "runtime/rewrite/source_products.h"

namespace rimetree::rewrite {

class TermReader {
 public:
  /// As `SourceNodes` takes them.
  TermReader(const Forest& forest, const std::vector<bool>& refused,
             std::span<const std::pair<int, LeftOut>> leaving_out)
      : nodes_(forest, refused, leaving_out), found_(nodes_.any() ? forest.size() : 0) {}
  TermReader(const TermReader&) = delete;
  TermReader& operator=(const TermReader&) = delete;

  /// Finds the sums below the roots. Those of nodes that no other sum or node needs are not looked for.
  void read(std::span<const int> roots);

  const SourceNodes& nodes() const { return nodes_; }
  const SourceTerms& found() const { return found_; }

 private:
  /// Where a sum is read.
  struct Around {
    const Product* outer = nullptr;  ///< the product that the sum is a factor of
    bool adjoint = false;
    int stack = 0;               ///< length of the stack that is summed
    int element = -1;            ///< of a matrix in the outer product, in whose place it stands
    bool in_difference = false;  ///< which is missing without what is read
  };
  bool read_sum(int root);
  void read_parts(int node);
  bool read_terms(int node, bool negative, const Around& around);
  bool read_reduction(int node, bool negative, const Around& around);
  bool read_source_sum(int node, bool negative, const Around& around);
  bool read_term(int node, bool negative, const Around& around);
  bool read_elements(int node, bool negative, const Around& around);
  bool is_too_long(const Product& product, const Around& around) const;
  bool leaves_out(int term) { return nodes_.is_zero(term) && (reading_.sum.holds_zero = true); }
  Algebra kind_of_sum() const { return nodes_.algebra(reading_.sum.root); }
  bool refuse(int node, const char* reason) { return reading_.refuse(node, reason); }

  SourceNodes nodes_;
  SourceTerms found_;
  Reading reading_{nodes_, found_, {}, {}};
  std::vector<ElementPlace> places_;  // of the terms of the matrix that is being read element by element
  Product spare_;
};

}  // namespace rimetree::rewrite
