// Nodes that compare a model with data and give one real number: chi-square and the log-likelihood. Both are sums over
// their children, which are residuals, so that they can be evaluated and differentiated some children at a time.
#pragma once

#include "runtime/node.h"
#include "runtime/pull_back.h"

namespace rimetree {

/// What residuals add up to. A complex residual counts as two real ones, each of the residual's weight.
struct ResidualSums {
  double chi_square = 0;     ///< sum w |r|^2
  double log_weight = 0;     ///< sum ln w over real residuals
  std::uint64_t n_real = 0;  ///< real residuals: those that are not flagged and have a positive weight
  double lost[2] = {0, 0};   ///< what rounding took from the two sums

  void add(const ResidualSums& more);
  double total_chi_square() const { return chi_square + lost[0]; }
  double total_log_weight() const { return log_weight + lost[1]; }
};

/// One child each: a Condeq. Flagged cells and cells of weight zero are left out; missing children too.
class Objective : public Node {
 public:
  using Node::Node;
  TensorShape result_dims(std::span<const TensorShape* const> children) const override;
  /// A residual that does not vary along an axis counts for each cell of it.
  DependencySet own_dependencies() const override { return kDomain; }
  bool skips_missing() const override { return true; }

  /// Adds the children of an evaluation, in their order.
  void add_residuals(BatchContext& context, const Evaluation& evaluation, ResidualSums& sums) const;
  /// Adds `weight` d(chi-square)/d(residual) to the children's adjoints.
  void pull_residuals(BatchContext& context, PullBack& pull, double weight) const;

  /// The result from the sums over all children, and what does not depend on them: adds `weight` times the latter's
  /// derivatives to the gradient, if given.
  virtual double value_of(const ResidualSums& sums, const Forest& forest, Gradient* gradient, double weight) const = 0;
  /// d(result)/d(chi-square).
  virtual double slope() const = 0;

  void evaluate_batch(BatchContext& context, std::span<Evaluation* const> batch) const override;
  void pull_back_batch(BatchContext& context, std::span<PullBack* const> batch) const override;

 protected:
  void evaluate(Evaluation&) const override {}  // evaluate_batch does it

 private:
  void add_derivatives(Evaluation& evaluation, const Forest& forest) const;
};

}  // namespace rimetree
