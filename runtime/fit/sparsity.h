// Which elements of a large normal matrix may differ from zero: those of unknowns that occur in one equation together.
// Gains of different time tiles never do, though a term that is constant in time connects them all.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/fit/block_order.h"

namespace rimetree::fit {

/// The lower triangle of a symmetric matrix, column after column, rows ascending; the diagonal is always there.
class Sparsity {
 public:
  std::size_t n() const { return begin_.size() - 1; }
  std::size_t n_element() const { return row_.size(); }
  /// Elements of column k: [begin(k), begin(k + 1)); the first is the diagonal.
  std::size_t begin(std::size_t column) const { return begin_[column]; }
  std::uint32_t row(std::size_t element) const { return row_[element]; }
  /// Where an element is kept; row >= column. Throws std::out_of_range where the matrix has none.
  std::size_t find(std::size_t row, std::size_t column) const { return find_after(begin_[column], row, column); }
  /// As find(), where it is at or behind an element of that column: the next ones are looked at first.
  std::size_t find_after(std::size_t element, std::size_t row, std::size_t column) const {
    for (std::size_t e = element; e < std::min(element + 2, begin_[column + 1]); ++e)
      if (row_[e] == row) return e;
    return search(element, row, column);
  }
  /// Whether equations of two unknowns are added to an element: not where one of them is held while the other moves.
  bool couples(std::size_t a, std::size_t b) const { return part_.empty() || part_[a] == part_[b]; }
  bool leaves_out() const { return !part_.empty(); }
  /// How to eliminate blocks that share few unknowns; nothing where that saves little.
  const BlockOrder* order() const { return order_.get(); }
  /// Elements over those of a full triangle.
  double density() const {
    return static_cast<double>(n_element()) / (0.5 * static_cast<double>(n()) * static_cast<double>(n() + 1));
  }

 private:
  friend class SparsityBuilder;
  std::size_t search(std::size_t from, std::size_t row, std::size_t column) const;
  std::vector<std::size_t> begin_;
  std::vector<std::uint32_t> row_, part_;
  std::shared_ptr<const BlockOrder> order_;
};

/// Collects which unknowns occur together.
class SparsityBuilder {
 public:
  explicit SparsityBuilder(std::size_t n);
  void connect(std::uint32_t a, std::uint32_t b);
  /// Each with each.
  void connect(std::span<const std::uint32_t> unknowns);
  /// `part`: by unknown, if what couples different ones is left out.
  std::shared_ptr<const Sparsity> finish(std::vector<std::uint32_t> part = {});

 private:
  std::vector<std::vector<std::uint32_t>> rows_;  ///< by column; an element may come several times
};

}  // namespace rimetree::fit
