// Finds Jones terms in models: V = sum over terms of +- L M R, with M fixed and L and R products of matrices (or
// scalars) that are the same on all cells of a block, as in G_p M_pq G_q^H. What L and R are made of does not matter.
// A model may also have some elements only of such a product, as V[0, 0] has, in any order, and be conjugated.
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
  /// What M is multiplied with, or divided by, element by element.
  struct Beside {
    int node;
    bool divides;
    bool operator==(const Beside&) const = default;
  };
  int core = 0;                ///< M: depends on no solvable Parm
  std::vector<Beside> beside;  ///< likewise
  std::vector<int> left, right;
  TensorShape shape;  ///< of L M R and M
  /// By element of the model which element of L M R stands there, -1: none; empty: the same one.
  std::vector<int> elements;
  bool flags_merge = false;  ///< a matrix product is involved: a cell of M is flagged as a whole
  bool minus = false;        ///< it is taken off: what is summed up is of -M
  bool conjugate = false;    ///< the model has the conjugate of L M R
  bool solvable() const { return !left.empty() || !right.empty(); }

  /// Where an element of the model stands in L M R; M alone may be a vector, of which L and R are numbers.
  struct Place {
    bool there;
    std::size_t element, row, column;
  };
  Place place(std::size_t element) const {
    const int own = elements.empty() ? static_cast<int>(element) : elements[element];
    if (own < 0) return {false, 0, 0, 0};
    const auto k = static_cast<std::size_t>(own);
    return shape == TensorShape{2, 2} ? Place{true, k, k / 2, k % 2} : Place{true, k, 0, 0};
  }
};

/// The model of one equation.
struct JonesModel {
  std::vector<JonesTerm> terms;
  std::size_t n_element = 1;  ///< that are compared: of a visibility 4
  bool conjugate = false;     ///< it is the conjugate of what the terms make
  bool diagonal = true;       ///< all factors are scalars or diagonal, so that an element of V has only that of M
};

inline std::size_t n_solvable(const JonesModel& model) {
  return static_cast<std::size_t>(
      std::count_if(model.terms.begin(), model.terms.end(), [](const JonesTerm& term) { return term.solvable(); }));
}

/// Whether elements of a matrix, or of a vector, may be written one by one: in each of them sums would be terms of its
/// own, where a forest that is evaluated has one node for all.
enum class ElementsOneByOne : std::uint8_t { no, yes };
/// The terms of a model; nothing if it has another form, or depends on data inside a factor, or of elements one by one
/// where they are so many that derivatives of the model take less.
std::optional<JonesModel> jones_model(const Forest& forest, int model, ElementsOneByOne = ElementsOneByOne::yes);

/// Where factors change besides at the edges of what is solved for.
BlockEdges edges_of_factors(const Forest& forest, const Problem& problem, const std::vector<JonesModel>& models);

}  // namespace rimetree::solve
