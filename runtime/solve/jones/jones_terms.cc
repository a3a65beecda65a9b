#include "runtime/solve/jones/jones_terms.h"

#include <algorithm>
#include <functional>
#include <map>

#include "runtime/solve/jones/jones_cores.h"

namespace rimetree::solve {

namespace {

bool solvable(const Forest& forest, int node) { return (forest.dependencies(node) & kSolvable) != 0; }
Algebra algebra_of(const Forest& forest, int node) { return forest.node(node).algebra(); }

/// Whether a factor can be evaluated on one cell of each block: nothing in it looks at other cells than its own.
bool is_cell_by_cell(const Forest& forest, int factor) {
  std::vector<int> stack{factor}, seen;
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    if (std::find(seen.begin(), seen.end(), node) != seen.end()) continue;
    seen.push_back(node);
    const std::span<const int> children = forest.children(node);
    if (!children.empty() && forest.node(node).traits().mixed_axes != kNoAxes) return false;
    for (const int child : children)
      if (child >= 0) stack.push_back(child);
  }
  return true;
}

bool is_scalar(const Forest& forest, int node) { return forest.node(node).dims().is_scalar(); }

/// Whether a 2x2 matrix that is a constant has zeros off the diagonal, on all its cells.
bool is_diagonal_constant(const Forest& forest, int node) {
  const auto& numbers = forest.node(node).state().array("value").data;  // row by row
  const auto quarter = static_cast<std::ptrdiff_t>(numbers.size() / 4);
  return std::all_of(numbers.begin() + quarter, numbers.end() - quarter, [](double x) { return x == 0; });
}

// Walks down a model, collecting what stands to the left and to the right of each fixed node.
class Walk {
 public:
  Walk(const Forest& forest, ElementsOneByOne elements) : forest_(forest), elements_(elements), cores_(forest) {}

  /// `so_far`: what stands around a node, and its sign.
  bool visit(int node, JonesTerm so_far) {
    if (algebra_of(forest_, node) != Algebra::product) return follow(node, std::move(so_far));
    const std::size_t n_term = model_.terms.size();
    const bool diagonal = model_.diagonal;
    if (follow(node, so_far)) return true;
    model_.terms.resize(n_term);
    model_.diagonal = diagonal;
    return take_factors(node, std::move(so_far));
  }

  JonesModel take() { return std::move(model_); }

 private:
  bool follow(int node, JonesTerm so_far) {
    if ((forest_.dependencies(node) & kIteration) != 0) return false;  // not the same at each step
    if (!solvable(forest_, node)) {
      so_far.core = node;
      model_.terms.push_back(std::move(so_far));
      return true;
    }
    const Algebra algebra = algebra_of(forest_, node);
    const std::span<const int> children = forest_.children(node);
    if (algebra == Algebra::identity) return visit(children[0], std::move(so_far));
    if (algebra == Algebra::negation) so_far.minus = !so_far.minus;
    if (algebra == Algebra::sum || algebra == Algebra::difference || algebra == Algebra::negation) {
      // A scalar added to a matrix means another thing than a Jones term.
      return std::all_of(children.begin(), children.end(), [&](const int& child) {
        JonesTerm term = so_far;
        if (algebra == Algebra::difference && &child != children.data()) term.minus = !term.minus;
        return forest_.node(child).dims() == forest_.node(node).dims() && visit(child, std::move(term));
      });
    }
    if (algebra == Algebra::selection) return select(node, std::move(so_far));
    if (algebra == Algebra::composition) return compose(node, so_far);
    if (algebra == Algebra::transpose || algebra == Algebra::conjugate || algebra == Algebra::conjugate_transpose)
      return turn(node, std::move(so_far));
    if (algebra == Algebra::quotient) {
      const int divisor = children[1];
      if (solvable(forest_, divisor) || (forest_.dependencies(divisor) & kIteration) != 0 ||
          !is_scalar(forest_, divisor))
        return false;
      so_far.beside.push_back({divisor, true});
      return visit(children[0], std::move(so_far));
    }
    const bool product = algebra == Algebra::matrix_product;
    if (!product && algebra != Algebra::product) return false;
    const std::ptrdiff_t core = cores_.core_of(node);
    if (core < 0) return false;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) == core) continue;
      const Node& factor = forest_.node(children[i]);
      // Elements multiplied one by one are a product of matrices for scalars only.
      if (!(product ? factor.dims().is_scalar() || factor.dims() == TensorShape{2, 2} : factor.dims().is_scalar()))
        return false;
      if ((forest_.dependencies(children[i]) & kData) != 0 || !is_cell_by_cell(forest_, children[i])) return false;
      model_.diagonal = model_.diagonal && is_diagonal(children[i]);
    }
    so_far.left.insert(so_far.left.end(), children.begin(), children.begin() + core);
    so_far.right.insert(so_far.right.begin(), children.begin() + core + 1, children.end());
    if (!(so_far.shape == TensorShape{2, 2}) && has_matrices(so_far)) return false;  // of a row or a column
    split(so_far.left, so_far.right);
    so_far.flags_merge = so_far.flags_merge || product;
    return visit(children[static_cast<std::size_t>(core)], std::move(so_far));
  }

  bool has_matrices(const JonesTerm& term) const {
    const auto matrix = [&](int factor) { return !is_scalar(forest_, factor); };
    return std::any_of(term.left.begin(), term.left.end(), matrix) ||
           std::any_of(term.right.begin(), term.right.end(), matrix);
  }

  /// Conjugated or transposed, with nothing around it.
  bool turn(int node, JonesTerm so_far) {
    if (so_far.solvable() || !so_far.beside.empty()) return false;
    const Algebra algebra = algebra_of(forest_, node);
    so_far.conjugate = so_far.conjugate != (algebra != Algebra::transpose);
    if (algebra != Algebra::conjugate && so_far.shape.size() > 1) {
      if (!(so_far.shape == TensorShape{2, 2})) return false;
      constexpr std::array<int, 4> kTransposed{0, 2, 1, 3};
      name_elements(so_far);
      for (int& element : so_far.elements)
        if (element >= 0) element = kTransposed[static_cast<std::size_t>(element)];
    }
    return visit(forest_.children(node)[0], std::move(so_far));
  }

  static void name_elements(JonesTerm& term) {
    if (term.elements.empty())
      for (std::size_t e = 0; e < term.shape.size(); ++e) term.elements.push_back(static_cast<int>(e));
  }

  /// Elements of its child, which numbers around it multiply as well.
  bool select(int selection, JonesTerm so_far) {
    const ElementSelection* of = forest_.node(selection).capabilities().selection;
    if (of == nullptr || has_matrices(so_far)) return false;
    const int child = forest_.children(selection)[0];
    const TensorShape& from = forest_.node(child).dims();
    name_elements(so_far);
    for (int& element : so_far.elements)
      if (element >= 0) element = static_cast<int>(of->selected_element(static_cast<std::size_t>(element), from));
    so_far.shape = from;
    return visit(child, std::move(so_far));
  }

  /// Elements one by one; those of one product, as in Composer(V[0, 0], V[1, 1]), become one term again.
  bool compose(int composition, const JonesTerm& so_far) {
    const std::span<const int> children = forest_.children(composition);
    if (elements_ == ElementsOneByOne::no || has_matrices(so_far) || children.size() != so_far.shape.size())
      return false;
    const std::size_t first = model_.terms.size(),
                      n_element = so_far.elements.empty() ? children.size() : so_far.elements.size();
    for (std::size_t c = 0; c < children.size(); ++c) {
      if (children[c] < 0 || !is_scalar(forest_, children[c])) return false;
      JonesTerm own = so_far;
      own.shape = {};
      own.elements.assign(n_element, -1);
      for (std::size_t e = 0; e < n_element; ++e)
        if (so_far.place(e).there && so_far.place(e).element == c) own.elements[e] = 0;
      const bool wanted = std::any_of(own.elements.begin(), own.elements.end(), [](int e) { return e >= 0; });
      if (wanted && !visit(children[c], std::move(own))) return false;
    }
    // With 10 antennas and 80 cells 120 terms took three times as long as derivatives of the model, 32 as long (2 cores
    // of an Intel Xeon with AVX-512, 2026-11-30).
    constexpr std::size_t kMostTerms = 16;
    if (model_.terms.size() > first + kMostTerms * n_element) return false;
    join_elements(first);
    return model_.terms.size() <= first + kMostTerms;
  }

  /// Terms from `first` on that are different elements of the same product become one.
  void join_elements(std::size_t first) {
    std::vector<JonesTerm> terms(std::make_move_iterator(model_.terms.begin() + static_cast<std::ptrdiff_t>(first)),
                                 std::make_move_iterator(model_.terms.end()));
    model_.terms.resize(first);
    for (JonesTerm& term : terms) {
      const auto fits = [&](const JonesTerm& other) {
        if (other.core != term.core || other.beside != term.beside || other.left != term.left ||
            other.right != term.right || other.minus != term.minus || other.conjugate != term.conjugate ||
            !(other.shape == term.shape))
          return false;
        for (std::size_t e = 0; e < term.elements.size(); ++e)
          if (term.elements[e] >= 0 && other.elements[e] >= 0) return false;
        return true;
      };
      const auto known =
          std::find_if(model_.terms.begin() + static_cast<std::ptrdiff_t>(first), model_.terms.end(), fits);
      if (known == model_.terms.end()) {
        model_.terms.push_back(std::move(term));
        continue;
      }
      known->flags_merge = known->flags_merge || term.flags_merge;
      for (std::size_t e = 0; e < term.elements.size(); ++e)
        known->elements[e] = std::max(known->elements[e], term.elements[e]);
    }
  }

  /// A product, element by element, of which what is fixed does not stand together, as g_p B K g_q* does not, which is
  /// written from left to right.
  bool take_factors(int product, JonesTerm so_far) {
    std::vector<int> open{product}, scalars, fixed;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      const std::span<const int> children = forest_.children(node);
      const bool is_solvable = solvable(forest_, node);
      if (is_solvable &&
          (algebra_of(forest_, node) == Algebra::product || algebra_of(forest_, node) == Algebra::identity))
        open.insert(open.end(), children.rbegin(), children.rend());
      else
        (is_solvable ? scalars : fixed).push_back(node);
    }
    const auto is_factor = [&](int node) {
      return is_scalar(forest_, node) && (forest_.dependencies(node) & (kData | kIteration)) == 0 &&
             is_cell_by_cell(forest_, node);
    };
    const auto in_iteration = [&](int node) { return (forest_.dependencies(node) & kIteration) != 0; };
    if (fixed.size() < 2 || !std::all_of(scalars.begin(), scalars.end(), is_factor) ||
        std::any_of(fixed.begin(), fixed.end(), in_iteration))
      return false;
    const auto fullest = std::max_element(fixed.begin(), fixed.end(), [&](int a, int b) {
      return forest_.node(a).dims().size() < forest_.node(b).dims().size();
    });
    so_far.core = *fullest;
    fixed.erase(fullest);
    for (const int node : fixed) so_far.beside.push_back({node, false});
    so_far.left.insert(so_far.left.end(), scalars.begin(), scalars.end());
    split(so_far.left, so_far.right);
    model_.terms.push_back(std::move(so_far));
    return true;
  }

  /// Whether a node is a scalar, or a 2x2 matrix whose elements off the diagonal are zero by construction.
  bool is_diagonal(int node) {
    if (is_scalar(forest_, node)) return true;
    if (const auto known = diagonal_.find(node); known != diagonal_.end()) return known->second;
    return diagonal_[node] = is_diagonal_matrix(node);
  }

  bool is_diagonal_matrix(int node) {
    const std::span<const int> children = forest_.children(node);
    const auto diagonal = [&](int child) { return is_diagonal(child); };
    const auto matrix = [&](int child) { return !is_scalar(forest_, child) && is_diagonal(child); };
    switch (algebra_of(forest_, node)) {
      case Algebra::constant:
        return is_diagonal_constant(forest_, node);
      case Algebra::composition:
        return children.size() == 4 && is_constant_zero(forest_, children[1]) && is_constant_zero(forest_, children[2]);
      case Algebra::conjugate_transpose:
      case Algebra::transpose:
      case Algebra::conjugate:
      case Algebra::identity:
      case Algebra::matrix_product:
        return std::all_of(children.begin(), children.end(), diagonal);
      case Algebra::product:  // element by element
        return std::any_of(children.begin(), children.end(), matrix);
      case Algebra::sum:
      case Algebra::difference:
      case Algebra::negation:
        return std::all_of(children.begin(), children.end(), matrix);
      default:
        return false;
    }
  }

  /// Scalars that are products of scalars become their factors, conjugates those of the right side: as they stand in
  /// G_p M G_q*, and as baselines share them.
  void split(std::vector<int>& left, std::vector<int>& right) const {
    const auto is_product = [&](int factor) {
      return is_scalar(forest_, factor) && solvable(forest_, factor) && algebra_of(forest_, factor) == Algebra::product;
    };
    std::vector<int> open;
    for (std::vector<int>* side : {&left, &right}) {
      const auto products = std::stable_partition(side->begin(), side->end(), std::not_fn(is_product));
      open.insert(open.end(), products, side->end());
      side->erase(products, side->end());
    }
    while (!open.empty()) {
      const int factor = open.back();
      open.pop_back();
      const std::span<const int> children = forest_.children(factor);
      const Algebra algebra = algebra_of(forest_, factor);
      if (is_product(factor))
        open.insert(open.end(), children.begin(), children.end());
      else if (algebra == Algebra::conjugate || algebra == Algebra::conjugate_transpose)
        right.push_back(factor);
      else
        left.push_back(factor);
    }
  }

  const Forest& forest_;
  ElementsOneByOne elements_;
  CoresOfProducts cores_;
  JonesModel model_;
  std::map<int, bool> diagonal_;
};

}  // namespace

std::vector<ResultPtr> ModelForest::evaluate(const Request& request, const std::vector<int>& roots,
                                             Cancellation& cancellation, Placing placing) const {
  if (is_evaluated_) {
    evaluator_.update_plan(roots);
    if (evaluator_.n_plan() != n_plan_) throw PlanRefused();
  }
  return evaluator_.evaluate_step(request, roots, &cancellation, placing);
}

std::optional<JonesModel> jones_model(const Forest& forest, int model, ElementsOneByOne elements) {
  constexpr std::size_t kMostElements = 4;
  JonesTerm start;
  start.shape = forest.node(model).dims();
  if (start.shape.size() > kMostElements || start.shape.size() == 0) return std::nullopt;
  Walk walk(forest, elements);
  if (!walk.visit(model, std::move(start))) return std::nullopt;
  JonesModel result = walk.take();
  result.n_element = forest.node(model).dims().size();
  for (const JonesTerm& term : result.terms)
    if (!(forest.node(term.core).dims() == term.shape) || term.conjugate != result.terms[0].conjugate)
      return std::nullopt;
  result.conjugate = result.terms[0].conjugate;
  return result;
}

BlockEdges edges_of_factors(const Forest& forest, const Problem& problem, const std::vector<JonesModel>& models) {
  BlockEdges edges;
  std::vector<bool> seen(forest.size(), false);
  std::vector<int> stack;
  for (const JonesModel& model : models)
    for (const JonesTerm& term : model.terms) {
      stack.insert(stack.end(), term.left.begin(), term.left.end());
      stack.insert(stack.end(), term.right.begin(), term.right.end());
    }
  while (!stack.empty()) {
    const int node = stack.back();
    stack.pop_back();
    if (seen[node]) continue;
    seen[node] = true;
    if (algebra_of(forest, node) == Algebra::parameter) {
      SolutionTiles tiles(forest.node(node).state());
      edges.each_cell[0] = edges.each_cell[0] || tiles.time_terms() > 1;
      edges.each_cell[1] = edges.each_cell[1] || tiles.frequency_terms() > 1;
      if (problem.parm_of_node[node] < 0 && tiles.n_tile() > 1) edges.held.push_back(std::move(tiles));
    } else {
      const AxisSet own = forest.node(node).traits().varies_along;
      for (const Axis axis : {Axis::time, Axis::frequency})
        if ((own & set_of(axis)) != 0) edges.each_cell[static_cast<int>(axis)] = true;
    }
    for (const int child : forest.children(node))
      if (child >= 0) stack.push_back(child);
  }
  return edges;
}

}  // namespace rimetree::solve
