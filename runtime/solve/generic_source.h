// Normal equations of any tree: the Condeqs are evaluated with their exact derivatives, some at a time.
#pragma once

#include "runtime/evaluator.h"
#include "runtime/solve/assembly.h"

namespace rimetree::solve {

class GenericSource final : public EquationSource {
 public:
  GenericSource(Evaluator& evaluator, const Problem& problem, const Request& request, ErrorModel errors);
  void add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  std::string method() const override { return "derivatives of every Condeq"; }

 private:
  struct Inputs;
  void compute(const Inputs& inputs, const Item& item, Contribution& contribution) const;
  /// Consecutive equations whose results with derivatives fit into the memory budget together.
  std::vector<std::pair<std::size_t, std::size_t>> portions() const;

  Evaluator& evaluator_;
  const Problem& problem_;
  Request request_;
  ErrorModel errors_;
};

/// Throws Error with the first failure among the results, if there is one.
void check_failures(std::span<const ResultPtr> results);

}  // namespace rimetree::solve
