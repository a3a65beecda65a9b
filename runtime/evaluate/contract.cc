#include "runtime/evaluate/contract.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/core/values/flag_rules.h"

namespace rimetree {

namespace {

void check_outcome(const Evaluation& evaluation) {
  const Result& result = evaluation.result;
  if (result.value.empty()) throw std::logic_error("the node class produced no value");
  if (!(result.value.dims() == evaluation.node.dims()))
    throw ShapeError("result has dimensions " + to_string(result.value.dims()) + ", expected " +
                     to_string(evaluation.node.dims()));
  const CellShape& cells = evaluation.cells().shape();
  const auto fits = [&cells](const CellShape& shape) {
    for (int axis = 0; axis < kAxes; ++axis)
      if (shape.extent[axis] != 1 && shape.extent[axis] != cells.extent[axis]) return false;
    return true;
  };
  const auto check_cells = [&](const char* what, const CellShape& shape) {
    if (!fits(shape))
      throw ShapeError(what + (" on " + to_string(shape)) + " do not fit the cells of the request, " +
                       to_string(cells));
  };
  check_cells("values", result.value.cells());
  if (!result.flags.empty()) {
    check_cells("flags", result.flags.cells());
    if (result.flags.planes() != 1 && result.flags.planes() != result.value.dims().size())
      throw ShapeError(std::to_string(result.flags.planes()) + " planes of flags for dimensions " +
                       to_string(result.value.dims()) + "; expected one, or one for each element");
  }
  for (const Derivative& derivative : result.derivatives) {
    check_cells("derivatives", derivative.value.cells());
    if (!(derivative.value.dims() == result.value.dims()) ||
        (derivative.value.is_complex() && !result.value.is_complex()))
      throw ShapeError("a derivative has dimensions " + to_string(derivative.value.dims()) +
                       (derivative.value.is_complex() ? " and is complex" : "") + ", the value has " +
                       to_string(result.value.dims()) + (result.value.is_complex() ? " and is complex" : ""));
  }
}

/// Whether no child is complex that must be real; if one is, the result says so.
bool are_real(const Node& node, std::span<const Result* const> children, Result& result) {
  const NodeClass& of = node.node_class();
  for (std::size_t slot = 0; slot < children.size() && !of.children.empty(); ++slot) {
    const ChildSpec& spec = of.children[std::min(slot, of.children.size() - 1)];  // the last one may be repeated
    if (!spec.is_real || children[slot] == nullptr || !children[slot]->value.is_complex()) continue;
    result.status = Result::Status::failed;
    result.failures.push_back(
        {node.name(), of.name, node.origin(), "child \"" + spec.label + "\" must be real, but is complex"});
    return false;
  }
  return true;
}

}  // namespace

bool Contract::prepare(const Node& node, std::span<const Result*>& children, Result& result) {
  const auto is_there = [](const Result* child) { return child == nullptr || child->ok(); };
  if (std::all_of(children.begin(), children.end(), is_there)) return are_real(node, children, result);
  for (const Result* child : children) {
    if (child == nullptr || child->status != Result::Status::failed) continue;
    result.status = Result::Status::failed;
    for (const Failure& failure : child->failures) {
      const bool known = std::any_of(result.failures.begin(), result.failures.end(), [&](const Failure& other) {
        return other.node == failure.node && other.message == failure.message;
      });
      if (!known) result.failures.push_back(failure);
    }
  }
  if (!result.failures.empty()) return false;

  const auto is_missing = [](const Result* child) {
    return child != nullptr && child->status == Result::Status::missing;
  };
  if (!node.traits().skips_missing) return false;  // the result is missing by default
  const std::vector<ChildSpec>& specs = node.node_class().children;
  const std::size_t fixed = specs.size() - (!specs.empty() && specs.back().repeated ? 1 : 0);
  bool any_value = false;
  std::size_t kept = 0;
  for (std::size_t slot = 0; slot < children.size(); ++slot) {
    const Result* child = children[slot];
    if (is_missing(child)) {
      // A slot with a label of its own is still there, but empty; a repeated child leaves no gap.
      if (slot < fixed) children[kept++] = nullptr;
      continue;
    }
    any_value = any_value || child != nullptr;
    children[kept++] = child;
  }
  children = children.first(kept);
  return any_value && are_real(node, children, result);
}

void Contract::evaluate_batch(BatchContext& context, BatchKernel& kernel, std::span<Evaluation* const> batch) {
  const auto fail_all = [&](const std::string& message) {
    for (Evaluation* evaluation : batch) evaluation->fail(message);
  };
  try {
    kernel.evaluate(context, batch);
  } catch (const Cancelled&) {
    throw;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (...) {
    fail_all(message_of_caught());
  }
}

void Contract::finish(Evaluation& evaluation) {
  Result& result = evaluation.result;
  if (result.status == Result::Status::failed) return;
  if (evaluation.is_missing) {
    result = Result{};
    return;
  }
  try {
    check_outcome(evaluation);
    if (!evaluation.flags_are_set) result.flags = union_of_child_flags(evaluation);
    result.zeros = evaluation.node.zero_elements(evaluation);
    std::sort(result.derivatives.begin(), result.derivatives.end(),
              [](const Derivative& a, const Derivative& b) { return a.parameter < b.parameter; });
    const auto same = [](const Derivative& a, const Derivative& b) { return a.parameter == b.parameter; };
    if (std::adjacent_find(result.derivatives.begin(), result.derivatives.end(), same) != result.derivatives.end())
      throw std::logic_error("the node class gave two derivatives with respect to one parameter");
    result.status = Result::Status::ok;
  } catch (const memory::OutOfMemory&) {
    throw;
  } catch (...) {
    evaluation.fail(message_of_caught());
  }
}

}  // namespace rimetree
