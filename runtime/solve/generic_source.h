// Normal equations of any tree: the Condeqs are evaluated with their exact derivatives, some at a time.
#pragma once

#include "runtime/evaluator.h"
#include "runtime/solve/assembly.h"
#include "runtime/solver_node.h"

namespace rimetree::solve {

class GenericSource final : public EquationSource {
 public:
  GenericSource(Evaluator& evaluator, const Problem& problem, RequestParts& parts, fit::ErrorModel errors);
  void add_to(std::vector<GroupEquations>& groups, Cancellation& cancellation) override;
  std::string method() const override { return "derivatives of every Condeq"; }

 private:
  struct Inputs;
  void add_part(const RequestPart& part, std::vector<GroupEquations>& groups, Cancellation& cancellation);
  void compute(const RequestPart& part, const Inputs& inputs, const Item& item, Contribution& contribution) const;
  /// Consecutive equations whose results with derivatives fit into the memory budget together.
  std::vector<std::pair<std::size_t, std::size_t>> portions(const RequestPart& part) const;

  Evaluator& evaluator_;
  const Problem& problem_;
  RequestParts& parts_;
  std::uint64_t iteration_ = 0;
  fit::ErrorModel errors_;
};

/// Throws Error with the first failure among the results, if there is one.
void check_failures(std::span<const ResultPtr> results);

}  // namespace rimetree::solve
