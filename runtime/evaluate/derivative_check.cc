#include "runtime/evaluate/derivative_check.h"

#include <cmath>
#include <limits>
#include <map>

#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/error.h"
#include "runtime/core/node/solution_tiles.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/core/values/largest_error.h"
#include "runtime/evaluate/reverse_pass.h"

namespace rimetree {

namespace {

/// Steps 1, 1/4, 1/16 ... of a direction whose components are of order 1. The last is small enough for phases of 1e6
/// radians per unit.
constexpr int kSteps = 14;

/// Extrapolates central differences at steps that shrink by 4 each time; `difference[k]` is that at 4^-k, and
/// `rounding` what rounding may add to the last. Gives the best of Neville's table and how much it differs from its
/// neighbours.
std::pair<long double, long double> extrapolate(const std::vector<long double>& difference, long double rounding) {
  // Long steps may agree among each other by chance, far from where the function is smooth: what is taken must agree
  // with the shortest one as well.
  const long double shortest = difference.back();
  const long double doubt = 4 * (std::abs(shortest - difference[difference.size() - 2]) + rounding);
  long double best = shortest, error = doubt;
  std::vector<long double> before, row;
  for (std::size_t k = 0; k < difference.size(); ++k, before = row) {
    row.assign(1, difference[k]);
    long double power = 1;
    for (std::size_t j = 1; j <= k; ++j) {
      power *= 16;  // the error of a central difference is a series in the square of the step
      row.push_back(row[j - 1] + (row[j - 1] - before[j - 1]) / (power - 1));
      const long double guess = std::max(std::abs(row[j] - row[j - 1]), std::abs(row[j] - before[j - 1]));
      if (guess < error && std::abs(row[j] - shortest) <= doubt) best = row[j], error = guess;
    }
  }
  return {best, error};
}

/// A child moved along its derivative.
Result moved(memory::Pool& pool, const Result& child, double step) {
  Result result = child;
  const Vells* derivative = child.derivative(kDirection);
  if (derivative == nullptr) return result;
  const Vells along = on_cells(pool, *derivative, child.value);
  const Vells& value = child.value;
  result.value = Vells(pool, value.type(), value.dims(), value.cells());
  for (std::size_t i = 0; i < value.size(); ++i)
    if (value.is_complex())
      result.value.complex()[i] = value.complex()[i] + step * along.complex()[i];
    else
      result.value.real()[i] = value.real()[i] + step * along.real()[i];
  result.derivatives.clear();
  return result;
}

class Checker {
 public:
  Checker(Evaluator& evaluator, const Request& request, int root)
      : evaluator_(evaluator), forest_(evaluator.forest()), request_(request), threads_(1) {
    const int roots[] = {root};
    below_ = evaluator.plan().below(roots);
  }

  std::vector<NodeCheck> nodes(Cancellation* cancellation) {
    Request along = request_;
    along.derivatives = along.along_direction = true;
    const std::vector<ResultPtr> results = evaluator_.evaluate(along, below_, cancellation);
    result_.assign(forest_.size(), nullptr);
    for (std::size_t i = 0; i < below_.size(); ++i) result_[static_cast<std::size_t>(below_[i])] = results[i];
    std::vector<NodeCheck> checks;
    for (const int node : below_) {
      const ResultPtr& result = result_[static_cast<std::size_t>(node)];
      if (result->status == Result::Status::failed) {
        const Failure& failure = result->failures.front();
        throw Error((failure.origin.empty() ? "" : failure.origin + ": ") + "node \"" + failure.node + "\" (" +
                    failure.node_class + "): " + failure.message);
      }
      // Parms are polynomials in their unknowns by definition; their own test is about that.
      if (result->ok() && !result->derivatives.empty() && !forest_.children(node).empty())
        checks.push_back(check(node, *result));
    }
    return checks;
  }

 private:
  NodeCheck check(int index, const Result& result) {
    const Node& node = forest_.node(index);
    NodeCheck check{node.name(), node.node_class().name, 0, 0, true};
    std::vector<MovedValues> below(kSteps), above(kSteps);
    for (int k = 0; k < kSteps; ++k) {
      const long double step = std::ldexp(1.0L, -2 * k);
      check.extended = evaluate(node, step, above[k]);
      evaluate(node, -step, below[k]);
    }
    const Vells derivative = on_cells(evaluator_.pool(), result.derivatives.front().value, result.value);
    long double scale = 0, difference = 0, noise = 0, size = 0;
    for (const auto& z : above.back()) size = std::max(size, abs(z));
    for (std::size_t i = 0; i < derivative.size(); ++i)
      for (const bool imaginary : {false, true}) {
        if (imaginary && !derivative.is_complex()) continue;
        if (is_flagged(result, i)) continue;
        std::vector<long double> differences;
        for (int k = 0; k < kSteps; ++k) {
          const auto d = above[k].at(i) - below[k].at(i);
          differences.push_back((imaginary ? d.im : d.re) * std::ldexp(0.5L, 2 * k));
        }
        const long double epsilon =
            check.extended ? std::numeric_limits<long double>::epsilon() : std::numeric_limits<double>::epsilon();
        const auto [expected, error] = extrapolate(differences, epsilon * size * std::ldexp(1.0L, 2 * (kSteps - 1)));
        const Complex<double> z =
            derivative.is_complex() ? derivative.complex()[i] : Complex<double>(derivative.real()[i]);
        const long double got = imaginary ? z.im : z.re;
        scale = std::max(scale, std::abs(expected));
        keep_larger(difference, std::abs(got - expected));
        keep_larger(noise, error);
      }
    if (scale > 0) difference /= scale, noise /= scale;
    check.difference = static_cast<double>(difference);
    check.noise = static_cast<double>(noise);
    return check;
  }

  static bool is_flagged(const Result& result, std::size_t i) {
    if (result.flags.empty()) return false;
    const std::size_t plane = result.value.cells_per_element(), element = i / plane;
    const auto stride = broadcast_strides(result.flags.cells());
    std::size_t at = i % plane;
    std::array<int, kAxes> cell{};
    for (int axis = kAxes - 1; axis >= 0; --axis) {
      const auto extent = static_cast<std::size_t>(result.value.cells().extent[axis]);
      cell[static_cast<std::size_t>(axis)] = static_cast<int>(at % extent);
      at /= extent;
    }
    return result.flags.plane(element)[offset_of(cell, stride)] != 0;
  }

  /// The node's result with children moved; true if in extended precision.
  bool evaluate(const Node& node, long double step, MovedValues& values) {
    std::vector<const Result*> children;
    for (const int child : forest_.children(node.index()))
      children.push_back(child < 0 ? nullptr : result_[static_cast<std::size_t>(child)].get());
    const SeenInputs inputs(node, request_, evaluator_.pool(), children);
    if (inputs.evaluation && node.evaluate_moved(*inputs.evaluation, step, values)) return true;

    std::vector<Result> shifted;
    shifted.reserve(children.size());
    for (const Result*& child : children) {
      if (child == nullptr) continue;
      shifted.push_back(moved(evaluator_.pool(), *child, static_cast<double>(step)));
      child = &shifted.back();
    }
    SeenInputs with_moved(node, request_, evaluator_.pool(), children);
    Warnings warnings, notes;
    Verification verification;
    Cancellation none;
    BatchContext context{threads_, none, warnings, notes, verification, forest_};
    Evaluation* batch[] = {&*with_moved.evaluation};
    Contract::evaluate_batch(context, evaluator_.plan().kernel_of(node.index()), batch);
    Contract::finish(*batch[0]);
    const Result& result = with_moved.decided;
    if (!result.ok()) throw Error("node \"" + node.name() + "\" failed with its children moved");
    values.clear();
    for (std::size_t i = 0; i < result.value.size(); ++i) {
      const Complex<double> z =
          result.value.is_complex() ? result.value.complex()[i] : Complex<double>(result.value.real()[i]);
      values.emplace_back(z.re, z.im);
    }
    return false;
  }

  Evaluator& evaluator_;
  const Forest& forest_;
  Request request_;
  ThreadPool threads_;
  std::vector<int> below_;
  std::vector<ResultPtr> result_;  // by node
};

/// While this lives the evaluator evaluates trees as they are written.
class AsWritten {
 public:
  explicit AsWritten(Evaluator& evaluator) : evaluator_(evaluator), before_(evaluator.as_written()) {
    evaluator.set_as_written(true);
  }
  ~AsWritten() { evaluator_.set_as_written(before_); }
  AsWritten(const AsWritten&) = delete;

 private:
  Evaluator& evaluator_;
  std::optional<bool> before_;
};

/// Which of its Parm's unknowns a derivative of a number without axes is with respect to.
std::size_t unknown_of(const Forest& forest, const Cells& cells, const ParameterId& id) {
  const SolutionTiles tiles = SolutionTiles::of(forest.node(id.parm));
  const auto tile = [&](std::int32_t given, Axis axis) {  // that of the cell is that of the only one
    return static_cast<std::size_t>(given >= 0 ? given : tiles.of_cells(cells, axis).front());
  };
  return tiles.at(tile(id.time_tile, Axis::time), tile(id.frequency_tile, Axis::frequency),
                  static_cast<std::size_t>(id.coefficient));
}

}  // namespace

DerivativeCheck check_derivatives(Evaluator& evaluator, const Request& request, int root, Cancellation* cancellation) {
  DerivativeCheck check;
  const AsWritten nodes_that_the_user_knows(evaluator);
  Request plain = request;
  plain.derivatives = plain.along_direction = false;
  check.nodes = Checker(evaluator, plain, root).nodes(cancellation);
  Request forward = plain;
  forward.derivatives = true;
  const ResultPtr result = evaluator.evaluate(forward, std::vector<int>{root}, cancellation).front();
  if (!result->ok() || result->value.is_complex() || result->value.size() != 1) return check;
  ValueAndGradient reverse = evaluator.value_and_gradient(plain, root, cancellation);
  std::map<std::pair<int, std::size_t>, double> by_unknown;
  for (const Derivative& derivative : result->derivatives)
    by_unknown[{derivative.parameter.parm, unknown_of(evaluator.forest(), *request.cells, derivative.parameter)}] +=
        derivative.value.real()[0];
  for (const auto& [parm, gradient] : reverse.gradient.by_node())
    for (std::size_t u = 0; u < gradient.size(); ++u)
      check.unknowns.push_back({evaluator.forest().node(parm).name(), u, by_unknown[{parm, u}], gradient[u]});
  return check;
}

}  // namespace rimetree
