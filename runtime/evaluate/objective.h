// Nodes that compare a model with data and give one real number: chi-square and the log-likelihood. Both are sums over
// their children, which are residuals, so that they can be evaluated and differentiated some children at a time.
#pragma once

#include <cmath>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/review.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

/// What residuals add up to. A complex residual counts as two real ones, each of the residual's weight.
struct ResidualSums {
  double chi_square = 0;           ///< sum w |r|^2
  double log_weight = 0;           ///< sum ln w over real residuals
  std::uint64_t n_real = 0;        ///< real residuals: those that are not flagged and have a positive weight
  double lost[2] = {0, 0};         ///< what rounding took from the two sums
  std::uint64_t n_bad_weight = 0;  ///< data that were left out because their weight is negative or not a number

  void add(const ResidualSums& more);
  /// Counts a weight that is not 0, of a residual of so many real parts; false where it is not sound.
  bool add_weight(double weight, std::uint64_t parts);
  double total_chi_square() const { return chi_square + lost[0]; }
  double total_log_weight() const { return log_weight + lost[1]; }
};

/// The weights of a residual, cell by cell.
class ResidualWeights {
 public:
  explicit ResidualWeights(const Result& residual)
      : residual_(residual),
        flag_stride_(broadcast_strides(residual.flags.empty() ? CellShape{} : residual.flags.cells())),
        weight_stride_(broadcast_strides(residual.weight.empty() ? CellShape{} : residual.weight.cells())) {}
  /// 0 where it is flagged; else its weight, be that sound or not.
  double at(std::size_t element, const std::array<int, kAxes>& cell) const {
    const Flags& flags = residual_.flags;
    const Vells& weight = residual_.weight;
    if (!flags.empty() && flags.plane(element)[offset_of(cell, flag_stride_)] != 0) return 0;
    if (weight.empty()) return 1;
    const std::size_t plane = weight.dims().is_scalar() ? 0 : element * weight.cells_per_element();
    return weight.real()[plane + offset_of(cell, weight_stride_)];
  }
  static bool is_sound(double weight) { return weight > 0 && std::isfinite(weight); }

 private:
  const Result& residual_;
  std::array<std::size_t, kAxes> flag_stride_, weight_stride_;
};

/// The cells of a residual: those on which it, its weight or its flags vary. Along an axis on which none of them does
/// it is one residual, however many cells the request has.
CellShape cells_of(const Result& residual);

/// One child each: a Condeq. Flagged cells and cells of weight zero are left out; missing children too.
class Objective : public Node, public Reviewer {
 public:
  using Node::Node;
  TensorShape result_dims(std::span<const TensorShape* const> children) const override;
  NodeTraits own_traits() const override { return {.skips_missing = true}; }
  Capabilities capabilities() const override { return {.objective = this, .reviewer = this}; }
  /// Warns of Condeqs whose weights are lost on the way to it.
  void review(const Review& review) const override;
  std::unique_ptr<BatchKernel> make_kernel() const override;

  /// Adds the children of an evaluation, in their order.
  void add_residuals(BatchContext& context, const Evaluation& evaluation, ResidualSums& sums) const;
  void warn_of_bad_weights(const ResidualSums& sums, Warnings& warnings) const;
  /// Adds `weight` d(chi-square)/d(residual) to the children's adjoints.
  void pull_residuals(BatchContext& context, PullBack& pull, double weight) const;

  /// The result from the sums over all children, and what does not depend on them: adds `weight` times the latter's
  /// derivatives to the gradient, if given.
  virtual double value_of(const ResidualSums& sums, const Forest& forest, Gradient* gradient, double weight) const = 0;
  /// d(result)/d(chi-square).
  virtual double slope() const = 0;

 protected:
  void evaluate(Evaluation&) const override {}  // the kernel does it

 private:
  class Kernel;
  void add_derivatives(Evaluation& evaluation, const Forest& forest) const;
};

}  // namespace rimetree
