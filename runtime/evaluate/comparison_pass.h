// Residuals of an Objective that are compared with data where their models are computed; see comparison_pass.cc.
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/evaluate/reverse_pass.h"

namespace rimetree {

class ComparisonPass {
 public:
  ComparisonPass(EvaluatorState& state, ReversePass& reverse)
      : state_(state),
        forest_(state.evaluated.forest()),
        plan_(state.evaluated.plan()),
        reverse_(reverse),
        forward_(reverse.forward()) {}

  /// Compares the objective's children as far as there are devices for it, and pulls them back; gives the others.
  /// `any`: set where something has been added to the sums.
  std::vector<int> run(int root, const Objective& objective, ResidualSums& sums, bool& any);

 private:
  /// A residual: `node` subtracts `model`, which is the only term, or a sum of terms and of what depends on no unknown.
  struct Compared {
    int node = -1, model = -1;
    std::vector<int> terms;
    std::uint64_t version = 0;
    bool missing = false;

    bool model_is_term() const { return terms.front() == model; }
    bool is_term(int child) const { return std::find(terms.begin(), terms.end(), child) != terms.end(); }
  };
  Compared find_terms(int node) const;
  std::vector<int> inputs_of(const Compared& compared) const;
  bool prepare(Compared& compared) const;
  ResultPtr residual_without(const Compared& compared, BatchContext& context, std::span<PullBack* const> terms) const;
  bool compare_group(const Objective& objective, std::vector<Compared>& group, ResidualSums& sums, bool& any);
  void finish(const Compared& compared);

  EvaluatorState& state_;
  const Forest& forest_;
  const Plan& plan_;
  ReversePass& reverse_;
  ForwardPass& forward_;
};

}  // namespace rimetree
