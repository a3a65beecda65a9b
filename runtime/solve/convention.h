// What the data leave open between Parms that are multiplied with each other, as two Jones terms of one antenna, goes
// by the Parms' state field `normalised`.
#pragma once

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

 private:
  const Problem& problem_;
  bool any_ = false;
  std::vector<std::vector<fit::Number>> numbers_;  // by group
};

}  // namespace rimetree::solve
