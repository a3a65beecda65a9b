// From many small contributions to the normal equations of each group: computed in parallel, added in a fixed order, so
// that the sums are the same for any number of threads.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/core/threads/thread_pool.h"
#include "runtime/fit/covariance.h"
#include "runtime/math/error_model.h"
#include "runtime/solve/problem/problem.h"
#include "runtime/solve/sums/cell_sums.h"

namespace rimetree::solve {

/// Data that were left out, and why.
struct Excluded {
  std::uint64_t flagged = 0, bad_weight = 0, not_finite = 0;
  Excluded& operator+=(const Excluded& other) {
    flagged += other.flagged, bad_weight += other.bad_weight, not_finite += other.not_finite;
    return *this;
  }
};

inline Excluded excluded_of(const ScalarSums& sums) {
  const auto count = [](double n) { return static_cast<std::uint64_t>(n); };
  return {count(sums.flagged), count(sums.bad_weight), count(sums.not_finite)};
}

/// What one item adds to its group.
struct Contribution {
  std::vector<std::uint32_t> unknowns;
  fit::NormalEquations equations;  ///< of these unknowns
  Excluded excluded;

  /// Begins a contribution of no data.
  void reset(std::size_t n_unknown);
};

/// The equations of all groups at one set of values.
struct GroupEquations {
  fit::NormalEquations equations;
  Excluded excluded;
  bool wanted = true;  ///< groups that have ended are left alone
};

/// Calls compute(item, contribution) for the items of wanted groups and adds up what it gives.
void assemble(const Problem& problem, std::span<const Item> items,
              const std::function<void(const Item&, Contribution&)>& compute, std::vector<GroupEquations>& groups,
              ThreadPool& threads, Cancellation& cancellation);

/// A combination of unknowns (by place in their group), and how many equations with data they occur in.
struct Essential {
  fit::Combination combination;
  std::size_t equations = 0;
};

/// A product of factors on a block of cells, and which of its elements data there depend on (bits).
struct ProductOnBlock {
  std::uint32_t product = 0, block = 0;
  std::uint8_t elements = 0;
  bool operator==(const ProductOnBlock&) const = default;
};

/// Makes the normal equations of a problem at the values that the Parms have.
class EquationSource {
 public:
  virtual ~EquationSource() = default;
  /// Adds to the groups that want it.
  virtual void add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) = 0;
  /// How residuals are distributed, from the next add_to() on.
  virtual void set_errors(ErrorModel errors) = 0;
  /// Whether the chi-square of add_to() is a difference of large sums, and so good to 1e-15 of the data's power only.
  virtual bool chi_square_cancels() const { return false; }
  /// Over which width along frequency solutions are smooth, by the equations themselves; 0: they are not.
  virtual double smoothed_hz() const { return 0; }
  /// Chi-square at the values that the Parms have without such loss, added to `groups[g].equations.chi_square`.
  virtual void add_exact_chi_square(std::vector<GroupEquations>&, Cancellation&) {}
  /// Has what is asked below be of the values that the Parms have now: those of add_to() may have been given up since.
  virtual void look_again(Cancellation&) {}
  /// What of each group must be determined for its solution to be of use everywhere. Empty: nothing is known of what
  /// the unknowns mean.
  virtual std::vector<std::vector<Essential>> essential() const { return {}; }
  /// The different products of factors of which models of data are made, by group; empty if they are not known.
  virtual std::vector<std::vector<ProductOnBlock>> products() const { return {}; }
  /// What steps do to such a product: step^T matrix step is the square of the change of these elements, relative to
  /// their value. No unknowns: their value is 0.
  virtual void changes_of(ProductOnBlock, Contribution&) const {}
  /// Brings the values of unknowns, all of which may go anywhere, nearer to the solution by cheaper steps than those of
  /// a fit, if it knows any. Gives chi-square of each group from before; nothing: values are what they were.
  virtual std::vector<double> approach(std::vector<double>&, Cancellation&) { return {}; }
  /// How it makes them, for reports.
  virtual std::string method() const = 0;
  virtual std::uint64_t statistics_bytes() const { return 0; }
};

}  // namespace rimetree::solve
