// What Transpose and ConjTranspose share: the last two dimensions exchanged.
#pragma once

#include "runtime/cell/cell_node.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

struct TransposeBody {
  TensorShape dims;  ///< of the result
  bool conjugate;

  /// Entries of a stack are transposed alike.
  std::size_t items() const { return dims.rank == 0 || dims.rank == 2 ? 1 : static_cast<std::size_t>(dims[0]); }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    const std::size_t elements = dims.size() / items();
    for (std::size_t e = 0; e < elements; ++e) {
      const auto x = in(0, dims.transposed(s * elements + e));
      if constexpr (requires { x.im; })
        out[e] = conjugate ? conj(x) : x;
      else
        out[e] = x;
    }
  }
};

/// Base of a node that transposes; it has `bool conjugates() const`.
template <class Derived>
class Transposition : public CellNode<Derived> {
 public:
  using CellNode<Derived>::CellNode;
  static constexpr Numbers kNumbers = Numbers::same;

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    return children[0]->transposed();
  }

  TransposeBody body() const { return {this->dims(), static_cast<const Derived*>(this)->conjugates()}; }

  ZeroElements zero_elements(const Evaluation& evaluation) const override {
    const ZeroElements of_child = evaluation.child(0).zeros;
    const std::size_t elements = of_child == 0 ? 0 : std::min<std::size_t>(this->dims().size(), 64);
    ZeroElements zeros = 0;
    for (std::size_t e = 0; e < elements; ++e)
      if (const std::size_t from = this->dims().transposed(e); from < 64) zeros |= (of_child >> from & 1) << e;
    return zeros;
  }

  void combine_flags(Evaluation& evaluation) const override {
    const Flags& of_child = evaluation.child(0).flags;
    if (of_child.planes() < 2) return;  // the default rule gives the same
    const TensorShape& dims = this->dims();
    Flags flags(evaluation.pool, dims.size(), of_child.cells());
    for (std::size_t e = 0; e < dims.size(); ++e) merge_flags(flags, e, of_child, dims.transposed(e), 1);
    evaluation.set_flags(std::move(flags));
  }
};

}  // namespace rimetree
