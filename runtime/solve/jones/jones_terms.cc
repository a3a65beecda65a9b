#include "runtime/solve/jones/jones_terms.h"

#include <algorithm>
#include <functional>
#include <map>

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

bool is_combination(Algebra algebra) {
  return algebra == Algebra::sum || algebra == Algebra::difference || algebra == Algebra::negation ||
         algebra == Algebra::matrix_product || algebra == Algebra::product;
}

// Walks down a model, collecting what stands to the left and to the right of each fixed node.
class Walk {
 public:
  explicit Walk(const Forest& forest) : forest_(forest) {}

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
    const bool product = algebra == Algebra::matrix_product;
    if (!product && algebra != Algebra::product) return false;
    const std::ptrdiff_t core = core_of(node);
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
    split(so_far.left, so_far.right);
    so_far.flags_merge = so_far.flags_merge || product;
    return visit(children[static_cast<std::size_t>(core)], std::move(so_far));
  }

  /// A product, element by element, of which what is fixed does not stand together, as g_p B K g_q* does not, which is
  /// written from left to right.
  bool take_factors(int product, JonesTerm so_far) {
    std::vector<int> open{product}, scalars;
    while (!open.empty()) {
      const int node = open.back();
      open.pop_back();
      const std::span<const int> children = forest_.children(node);
      const bool is_solvable = solvable(forest_, node);
      if (is_solvable &&
          (algebra_of(forest_, node) == Algebra::product || algebra_of(forest_, node) == Algebra::identity))
        open.insert(open.end(), children.rbegin(), children.rend());
      else
        (is_solvable ? scalars : so_far.beside).push_back(node);
    }
    const auto is_factor = [&](int node) {
      return is_scalar(forest_, node) && (forest_.dependencies(node) & (kData | kIteration)) == 0 &&
             is_cell_by_cell(forest_, node);
    };
    const auto in_iteration = [&](int node) { return (forest_.dependencies(node) & kIteration) != 0; };
    if (so_far.beside.size() < 2 || !std::all_of(scalars.begin(), scalars.end(), is_factor) ||
        std::any_of(so_far.beside.begin(), so_far.beside.end(), in_iteration))
      return false;
    const auto fullest = std::max_element(so_far.beside.begin(), so_far.beside.end(), [&](int a, int b) {
      return forest_.node(a).dims().size() < forest_.node(b).dims().size();
    });
    so_far.core = *fullest;
    so_far.beside.erase(fullest);
    so_far.left.insert(so_far.left.end(), scalars.begin(), scalars.end());
    split(so_far.left, so_far.right);
    model_.terms.push_back(std::move(so_far));
    return true;
  }

  /// Which child of a product is the visibility: the only one that depends on data (on a Spigot's UVW, say); or the
  /// only fixed one, or the only one that is a sum or product again; or else the one that holds most. -1 where it is
  /// not clear.
  std::ptrdiff_t core_of(int product) {
    const std::span<const int> children = forest_.children(product);
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
    if (n_fixed == 0 && n_nested == 1) return nested;
    return fullest_of(product, n_fixed == 1 ? fixed : -1);
  }

  /// Of the children of a product that which holds something fixed that varies, or if none does, something fixed: of
  /// G_p G_q* M it is M, of 2 (G_p M G_q*) the second. Of several those that are as large as the product, and of these
  /// `preferred`.
  std::ptrdiff_t fullest_of(int product, std::ptrdiff_t preferred) {
    const std::span<const int> children = forest_.children(product);
    std::vector<Fixed> holds;
    for (const int child : children) holds.push_back(held_by(child));
    const Fixed most = *std::max_element(holds.begin(), holds.end());
    if (most == Fixed::nothing) return -1;
    std::vector<std::ptrdiff_t> found;
    for (const bool as_large : {false, true}) {
      found.clear();
      for (std::size_t i = 0; i < children.size(); ++i)
        if (holds[i] == most && (!as_large || forest_.node(children[i]).dims() == forest_.node(product).dims()))
          found.push_back(static_cast<std::ptrdiff_t>(i));
      if (found.size() == 1) return found[0];
    }
    return std::find(found.begin(), found.end(), preferred) != found.end() ? preferred : -1;
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

  /// What depends on no solvable Parm in the sums and products that a node is made of.
  enum class Fixed : std::uint8_t { nothing, numbers, varying };
  Fixed held_by(int node) {
    if (!solvable(forest_, node))
      return (forest_.dependencies(node) & (kDomain | kData)) != 0 ? Fixed::varying : Fixed::numbers;
    const Algebra algebra = algebra_of(forest_, node);
    if (algebra != Algebra::identity && !is_combination(algebra)) return Fixed::nothing;
    if (const auto known = held_.find(node); known != held_.end()) return known->second;
    Fixed most = Fixed::nothing;
    for (const int child : forest_.children(node)) most = std::max(most, held_by(child));
    return held_[node] = most;
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
  JonesModel model_;
  std::map<int, Fixed> held_;
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

std::optional<JonesModel> jones_model(const Forest& forest, int model) {
  const TensorShape& dims = forest.node(model).dims();
  if (!dims.is_scalar() && !(dims == TensorShape{2, 2})) return std::nullopt;
  Walk walk(forest);
  if (!walk.visit(model, {})) return std::nullopt;
  JonesModel result = walk.take();
  for (const JonesTerm& term : result.terms)
    if (!(forest.node(term.core).dims() == dims)) return std::nullopt;
  return result;
}

int element_of_jones_terms(const Forest& forest, int model) {
  std::vector<int> open{model};
  while (!open.empty()) {
    const int node = open.back();
    open.pop_back();
    const Algebra algebra = algebra_of(forest, node);
    const std::span<const int> children = forest.children(node);
    if (algebra == Algebra::selection && solvable(forest, node) &&
        forest.node(children[0]).dims() == TensorShape{2, 2} && jones_model(forest, children[0]))
      return node;
    if (algebra == Algebra::identity || algebra == Algebra::composition || is_combination(algebra))
      open.insert(open.end(), children.rbegin(), children.rend());
  }
  return -1;
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
