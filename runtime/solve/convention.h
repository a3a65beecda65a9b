// What the data leave open between Parms that are multiplied with each other, as two Jones terms of one antenna, goes
// by the Parms' state field `normalised`.
#pragma once

#include <vector>

#include "runtime/fit/normalisation.h"
#include "runtime/solve/report.h"

namespace rimetree::solve {

class Convention {
 public:
  Convention(const Forest& forest, const Problem& problem);
  /// Whether any Parm may be normalised.
  bool any() const { return any_; }
  /// Moves the solutions of groups along steps that change no product of factors to where the convention wants them,
  /// and keeps in their outcomes what it holds. Values of all unknowns, which are those that the forest has. Whether
  /// anything was open.
  bool apply(const EquationSource& source, std::vector<Outcome>& outcomes, std::vector<double>& values,
             ThreadPool& threads) const;

  /// Keeps in outcomes what the data leave open where something is held of it. At the values that the Parms have.
  void keep_open(const EquationSource& source, std::vector<Outcome>& outcomes, ThreadPool& threads) const;

 private:
  using Steps = std::vector<std::vector<double>>;
  /// By group, steps that change no product of factors; of groups that are looked at.
  std::vector<Steps> open(const EquationSource& source, const std::vector<Outcome>& outcomes,
                          const std::vector<bool>& looked_at, ThreadPool& threads) const;

  const Problem& problem_;
  bool any_ = false;
  std::vector<std::vector<fit::Number>> numbers_;  // by group
};

}  // namespace rimetree::solve
