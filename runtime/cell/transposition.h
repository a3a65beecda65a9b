// What Transpose and ConjTranspose share: the last two dimensions exchanged.
#pragma once

#include <utility>

#include "runtime/cell/cell_node.h"
#include "runtime/core/pull_back.h"

namespace rimetree {

struct TransposeBody {
  TensorShape dims;  ///< of the result
  bool conjugate;

  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const {
    const std::size_t elements = dims.size();
    for (std::size_t e = 0; e < elements; ++e) {
      const auto x = in(0, source_of(e));
      if constexpr (requires { x.im; })
        out[e] = conjugate ? conj(x) : x;
      else
        out[e] = x;
    }
  }
  /// The child's element that becomes element e.
  RT_HD std::size_t source_of(std::size_t e) const {
    const int rank = dims.rank;
    if (rank < 2) return e;
    const auto rows = static_cast<std::size_t>(dims[rank - 2]), columns = static_cast<std::size_t>(dims[rank - 1]);
    const std::size_t matrix = e / (rows * columns), i = e / columns % rows, j = e % columns;
    return matrix * rows * columns + j * rows + i;
  }
};

/// Base of a node that transposes; it has `bool conjugates() const`.
template <class Derived>
class Transposition : public CellNode<Derived> {
 public:
  using CellNode<Derived>::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    TensorShape dims = *children[0];
    if (dims.rank >= 2) std::swap(dims.extent[dims.rank - 1], dims.extent[dims.rank - 2]);
    return dims;
  }

  TransposeBody body() const { return {this->dims(), static_cast<const Derived*>(this)->conjugates()}; }

  void combine_flags(Evaluation& evaluation) const override {
    const Flags& of_child = evaluation.child(0).flags;
    if (of_child.planes() < 2) return;  // the default rule gives the same
    const TransposeBody transposed = body();
    Flags flags(evaluation.pool, transposed.dims.size(), of_child.cells());
    for (std::size_t e = 0; e < transposed.dims.size(); ++e)
      merge_flags(flags, e, of_child, transposed.source_of(e), 1);
    evaluation.set_flags(std::move(flags));
  }
};

}  // namespace rimetree
