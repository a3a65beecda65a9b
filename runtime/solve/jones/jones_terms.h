// Finds Jones terms in models: V = sum over terms of +- L M R, with M fixed and L and R products of matrices (or
// scalars) that are the same on all cells of a block, as in G_p M_pq G_q^H. What L and R are made of does not matter.
#pragma once

#include <algorithm>
#include <optional>

#include "runtime/evaluate/evaluator.h"
#include "runtime/solve/problem/problem.h"

namespace rimetree::solve {

/// Where models are read: in the user's forest, or in the one that is evaluated, whose sums over sources are single
/// nodes. The latter's nodes hold as long as its plan.
class ModelForest {
 public:
  ModelForest(Evaluator& evaluator, bool evaluated)
      : evaluator_(evaluator), is_evaluated_(evaluated), n_plan_(evaluator.n_plan()) {}
  const Forest& get() const { return is_evaluated_ ? evaluator_.evaluated() : evaluator_.forest(); }
  /// The model of a Condeq.
  int model_of(const Equation& equation) const {
    const bool first = evaluator_.forest().children(equation.condeq)[0] == equation.model;
    return is_evaluated_ ? get().children(equation.condeq)[first ? 0 : 1] : equation.model;
  }
  /// Evaluator::evaluate_step. Throws PlanRefused where the nodes are no longer those of the plan.
  std::vector<ResultPtr> evaluate(const Request& request, const std::vector<int>& roots, Cancellation& cancellation,
                                  Placing placing) const;

 private:
  Evaluator& evaluator_;
  bool is_evaluated_;
  std::uint64_t n_plan_;
};

/// One additive term of a model. Factors are nodes, from left to right.
struct JonesTerm {
  int core = 0;             ///< M: depends on no solvable Parm
  std::vector<int> beside;  ///< what M is multiplied with element by element, likewise
  std::vector<int> left, right;
  bool flags_merge = false;  ///< a matrix product is involved: a cell of M is flagged as a whole
  bool minus = false;        ///< it is taken off: what is summed up is of -M
  bool solvable() const { return !left.empty() || !right.empty(); }
};

/// The model of one equation.
struct JonesModel {
  std::vector<JonesTerm> terms;
  bool diagonal = true;  ///< all factors are scalars or diagonal, so that an element of V has only that of M
};

inline std::size_t n_solvable(const JonesModel& model) {
  return static_cast<std::size_t>(
      std::count_if(model.terms.begin(), model.terms.end(), [](const JonesTerm& term) { return term.solvable(); }));
}

/// The terms of a model; nothing if it has another form, or depends on data inside a factor.
std::optional<JonesModel> jones_model(const Forest& forest, int model);
/// An element that a model is, or has as a part, of matrices that are sums of Jones terms: were all elements compared,
/// with weights, the data could be summed up. -1: there is none.
int element_of_jones_terms(const Forest& forest, int model);

/// Where factors change besides at the edges of what is solved for.
BlockEdges edges_of_factors(const Forest& forest, const Problem& problem, const std::vector<JonesModel>& models);

}  // namespace rimetree::solve
