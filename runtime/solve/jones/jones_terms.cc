#include "runtime/solve/jones/jones_terms.h"

#include <algorithm>

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

/// Whether a node is a scalar, or a 2x2 matrix whose elements off the diagonal are zero by construction.
bool is_diagonal(const Forest& forest, int node) {
  if (forest.node(node).dims().is_scalar()) return true;
  const std::span<const int> children = forest.children(node);
  switch (algebra_of(forest, node)) {
    case Algebra::composition:
      return children.size() == 4 && is_constant_zero(forest, children[1]) && is_constant_zero(forest, children[2]);
    case Algebra::conjugate_transpose:
    case Algebra::transpose:
    case Algebra::conjugate:
    case Algebra::identity:
    case Algebra::matrix_product:
      return std::all_of(children.begin(), children.end(), [&](int child) { return is_diagonal(forest, child); });
    default:
      return false;
  }
}

bool is_combination(Algebra algebra) {
  return algebra == Algebra::sum || algebra == Algebra::matrix_product || algebra == Algebra::product;
}

// Walks down a model, collecting what stands to the left and to the right of each fixed node.
class Walk {
 public:
  explicit Walk(const Forest& forest) : forest_(forest) {}

  bool visit(int node, std::vector<int> left, std::vector<int> right, bool flags_merge) {
    if ((forest_.dependencies(node) & kIteration) != 0) return false;  // not the same at each step
    if (!solvable(forest_, node)) {
      model_.terms.push_back({node, std::move(left), std::move(right), flags_merge});
      return true;
    }
    const Algebra algebra = algebra_of(forest_, node);
    const std::span<const int> children = forest_.children(node);
    if (algebra == Algebra::identity) return visit(children[0], std::move(left), std::move(right), flags_merge);
    if (algebra == Algebra::sum) {
      // A scalar added to a matrix means another thing than a Jones term.
      return std::all_of(children.begin(), children.end(), [&](int child) {
        return forest_.node(child).dims() == forest_.node(node).dims() && visit(child, left, right, flags_merge);
      });
    }
    const bool product = algebra == Algebra::matrix_product;
    if (!product && algebra != Algebra::product) return false;
    const std::ptrdiff_t core = core_of(children);
    if (core < 0) return false;
    for (std::size_t i = 0; i < children.size(); ++i) {
      if (static_cast<std::ptrdiff_t>(i) == core) continue;
      const Node& factor = forest_.node(children[i]);
      // Elements multiplied one by one are a product of matrices for scalars only.
      if (!(product ? factor.dims().is_scalar() || factor.dims() == TensorShape{2, 2} : factor.dims().is_scalar()))
        return false;
      if ((forest_.dependencies(children[i]) & kData) != 0 || !is_cell_by_cell(forest_, children[i])) return false;
      model_.diagonal = model_.diagonal && is_diagonal(forest_, children[i]);
    }
    left.insert(left.end(), children.begin(), children.begin() + core);
    right.insert(right.begin(), children.begin() + core + 1, children.end());
    return visit(children[static_cast<std::size_t>(core)], std::move(left), std::move(right), flags_merge || product);
  }

  JonesModel take() { return std::move(model_); }

 private:
  /// Which child of a product is the visibility: the only one that depends on data (on a Spigot's UVW, say); or the
  /// only fixed one, or the only one that is a sum or product again. -1 where it is not clear.
  std::ptrdiff_t core_of(std::span<const int> children) const {
    std::ptrdiff_t fixed = -1, nested = -1, data = -1;
    int n_fixed = 0, n_nested = 0, n_data = 0;
    for (std::size_t i = 0; i < children.size(); ++i) {
      const auto here = static_cast<std::ptrdiff_t>(i);
      if ((forest_.dependencies(children[i]) & kData) != 0) data = here, ++n_data;
      if (!solvable(forest_, children[i]))
        fixed = here, ++n_fixed;
      else if (is_combination(algebra_of(forest_, children[i])))
        nested = here, ++n_nested;
    }
    if (n_data == 1) return data;
    if (n_fixed == 1 && n_nested == 0) return fixed;
    return n_fixed == 0 && n_nested == 1 ? nested : -1;
  }

  const Forest& forest_;
  JonesModel model_;
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

std::optional<JonesModel> jones_model(const Forest& forest, int model) {
  const TensorShape& dims = forest.node(model).dims();
  if (!dims.is_scalar() && !(dims == TensorShape{2, 2})) return std::nullopt;
  Walk walk(forest);
  if (!walk.visit(model, {}, {}, false)) return std::nullopt;
  JonesModel result = walk.take();
  for (const JonesTerm& term : result.terms)
    if (!(forest.node(term.core).dims() == dims)) return std::nullopt;
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
