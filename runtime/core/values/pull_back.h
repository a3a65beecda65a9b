// One node's share of a reverse pass: from the adjoint of its result (the derivatives of a real objective with respect
// to the result's real and imaginary parts) to those of its children.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "runtime/core/values/evaluation.h"

namespace rimetree {

/// Derivatives of an objective with respect to the unknowns of solvable nodes: by node, Node::n_unknown() numbers each.
class Gradient {
 public:
  /// Adds a node whose unknowns are asked for.
  void include(int node, std::size_t n_unknown) { by_node_[node].assign(n_unknown, 0.0); }
  /// Empty if the node's unknowns are not asked for.
  std::span<double> of(int node) {
    const auto it = by_node_.find(node);
    return it == by_node_.end() ? std::span<double>() : std::span<double>(it->second);
  }
  const std::map<int, std::vector<double>>& by_node() const { return by_node_; }

 private:
  std::map<int, std::vector<double>> by_node_;
};

class PullBack {
 public:
  /// `children`: where adjoints are added, one for each of inputs.children(), nullptr where none is asked for. Empty
  /// ones have a place in `originals`, too, and are made when somebody asks for them.
  PullBack(const Evaluation& evaluation, const Vells& result_adjoint, std::vector<Vells*> children, Gradient& unknowns,
           std::vector<Vells*> originals = {})
      : inputs(evaluation),
        adjoint(result_adjoint),
        gradient(unknowns),
        children_(std::move(children)),
        originals_(std::move(originals)) {}

  const Evaluation& inputs;  ///< the children's results, as the evaluation of the node saw them
  const Vells& adjoint;      ///< of the type, dimensions and cells of the node's result
  Gradient& gradient;        ///< for nodes with unknowns of their own
  /// See Evaluation::programs.
  CellPrograms* programs = nullptr;

  /// Where to add the adjoint of a child: of the type, dimensions and cells of its result. nullptr: not asked for.
  /// Batches ask on one thread.
  Vells* child(std::size_t slot) const {
    if (children_[slot] != nullptr && children_[slot]->empty()) make(slot);
    return children_[slot];
  }
  /// For kernels that say BatchKernel::adds_to_originals(): where the conjugate transpose of a child's adjoint may be
  /// added in its place, the adjoint of what the child's value is the conjugate transpose of. nullptr: nowhere.
  Vells* original(std::size_t slot) const { return originals_.empty() ? nullptr : originals_[slot]; }
  /// For the slots that BatchKernel::tangent_slots() names: the child's derivative along a direction in the space of
  /// unknowns that is like no other, so that what is zero in it is zero in all. nullptr: it does not depend on
  /// unknowns.
  const Vells* tangent(std::size_t slot) const;
  /// Adds to one number of a child's adjoint, if that is asked for; a real child takes the real part.
  void add(std::size_t slot, std::size_t at, Complex<double> x) const {
    if (Vells* to = child(slot); to == nullptr)
      return;
    else if (to->is_complex())
      to->complex()[at] += x;
    else
      to->real()[at] += x.re;
  }
  /// Adds the result's adjoint to that of a child that is passed on unchanged.
  void pass_on(std::size_t slot);

  std::string failure;                        ///< why it could not be done; empty if it was
  std::map<std::size_t, ResultPtr> tangents;  ///< by slot

 private:
  friend class BatchKernel;
  void make(std::size_t slot) const;

  std::vector<Vells*> children_, originals_;
};

/// Values, all zero.
Vells zeros(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells);
/// Values written out on the cells and in the type of others of the same dimensions.
Vells on_cells(memory::Pool& pool, const Vells& values, const Vells& like);
/// target += values, both of the same type, dimensions and cells.
void add_to(Vells& target, const Vells& values);

}  // namespace rimetree
