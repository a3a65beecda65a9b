#include "runtime/evaluate/fused_derivatives.h"

#include <algorithm>
#include <unordered_map>

#include "runtime/evaluate/group_recorder.h"
#include "runtime/program/derive.h"

namespace rimetree {

namespace {

/// Calls f(leaf, derivative) for each leaf that depends on a parameter.
template <class F>
void for_each_tangent(std::span<const Result* const> results, const ParameterId& parameter, const F& f) {
  for (std::size_t leaf = 0; leaf < results.size(); ++leaf)
    if (!results[leaf]->derivatives.empty())
      if (const Vells* tangent = results[leaf]->derivative(parameter)) f(leaf, *tangent);
}

/// Parameters on which any leaf depends, ascending.
std::vector<ParameterId> parameters_of(std::span<const Result* const> results) {
  std::vector<ParameterId> all;
  for (const Result* result : results)
    for (const Derivative& derivative : result->derivatives) all.push_back(derivative.parameter);
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

/// Inputs of a program: the tangents of leaves, by leaf.
struct Tangent {
  std::int32_t input;
  bool is_complex;
};
using Tangents = std::unordered_map<std::int32_t, Tangent>;

/// Records what changes of the elements along one parameter, and gives it as array number `array`. `n_operation`: how
/// many operations the elements took.
void give_tangents(program::Recording& recording, std::span<const RecordedElement> elements, std::size_t n_operation,
                   const Tangents& of_leaf, std::int32_t item_stride, std::int32_t array,
                   std::vector<program::Output>& outputs) {
  std::vector<std::int32_t> names;
  for (const RecordedElement& element : elements) names.insert(names.end(), {element.re, element.im});
  const auto found = program::tangents(
      recording, names,
      [&](const program::Load& load) {
        const auto tangent = of_leaf.find(load.input);
        if (tangent == of_leaf.end() || (load.imaginary && !tangent->second.is_complex)) return program::kZero;
        program::Load from = load;
        from.input = tangent->second.input;
        return recording.load(from);
      },
      n_operation);
  const auto named = [&](std::int32_t name) { return name == program::kZero ? recording.constant(0) : name; };
  for (std::size_t e = 0; e < elements.size(); ++e)
    outputs.push_back({.array = array,
                       .element = static_cast<std::int32_t>(e),
                       .item_stride = item_stride,
                       .re = named(found[2 * e]),
                       .im = elements[e].im < 0 ? -1 : named(found[2 * e + 1])});
}

}  // namespace

std::optional<FusedDerivatives::Made> FusedDerivatives::made_for(const FusedGroup& group,
                                                                 std::span<const Result* const> results,
                                                                 const Cells& cells, const CellShape& shape) {
  Made made{.parameters = parameters_of(results)};
  for (std::size_t first = 0; first < made.parameters.size(); first += kTogether) {
    const std::size_t count = std::min(kTogether, made.parameters.size() - first);
    const Entry& entry =
        find(group, results, std::span(made.parameters).subspan(first, count), first == 0, cells, shape);
    if (!entry.program) return {};
    made.is_complex = entry.is_complex;
    made.programs.push_back(&*entry.program);
  }
  return made;
}

const FusedDerivatives::Entry& FusedDerivatives::find(const FusedGroup& group, std::span<const Result* const> results,
                                                      std::span<const ParameterId> parameters, bool with_values,
                                                      const Cells& cells, const CellShape& shape) {
  // Everything on which a program depends.
  std::vector<std::int32_t> key{group.form, program::axes_of(shape), program::axes_of(cells.shape()), with_values};
  std::vector<program::Axes> axes;
  for (const Result* result : results) {
    key.push_back(kind_of(result->value));
    axes.push_back(program::axes_of(result->value.cells()));
  }
  std::vector<Tangents> tangents;  // by parameter
  for (const ParameterId& parameter : parameters) {
    Tangents& of_leaf = tangents.emplace_back();
    for_each_tangent(results, parameter, [&](std::size_t leaf, const Vells& tangent) {
      key.insert(key.end(), {static_cast<std::int32_t>(leaf), kind_of(tangent)});
      of_leaf[static_cast<std::int32_t>(leaf)] = {static_cast<std::int32_t>(axes.size()), tangent.is_complex()};
      axes.push_back(program::axes_of(tangent.cells()));
    });
    key.push_back(-1);
  }
  return entries_.find(std::move(key), [&](Entry& entry) {
    GroupRecorder recorder(forest_, group, results);
    const std::vector<RecordedElement> elements = recorder.record();
    program::Recording& recording = recorder.recording;
    const program::Recording::Scope scope(recording);
    entry.is_complex = elements.front().im >= 0;
    const std::int32_t item_stride = recorder.item_stride(elements.size());
    std::vector<program::Output> outputs;
    for (std::size_t e = 0; with_values && e < elements.size(); ++e)
      outputs.push_back({.element = static_cast<std::int32_t>(e),
                         .item_stride = item_stride,
                         .re = elements[e].re,
                         .im = elements[e].im});
    const std::size_t n_operation = recording.operations().size();
    std::int32_t array = with_values ? 1 : 0;
    for (const Tangents& of_leaf : tangents)
      give_tangents(recording, elements, n_operation, of_leaf, item_stride, array++, outputs);
    entry.program.emplace(recording, outputs, axes, program::axes_of(cells.shape()), program::axes_of(shape));
  });
}

bool FusedDerivatives::add_on_device(const FusedGroup& group, std::span<const Result* const> results,
                                     std::span<const ParameterId> parameters,
                                     std::vector<std::shared_ptr<const program::ThreadProgram>>& to) {
  std::vector<std::int32_t> values{group.form};
  for (const Result* result : results) values.push_back(kind_of(result->value));
  for (const ParameterId& parameter : parameters) {
    std::vector<std::int32_t> key = values;
    Tangents of_leaf;
    for_each_tangent(results, parameter, [&](std::size_t leaf, const Vells& tangent) {
      key.insert(key.end(), {static_cast<std::int32_t>(leaf), kind_of(tangent)});
      of_leaf[static_cast<std::int32_t>(leaf)] = {static_cast<std::int32_t>(results.size() + leaf),
                                                  tangent.is_complex()};
    });
    to.push_back(on_device_.find(std::move(key), [&](std::shared_ptr<const program::ThreadProgram>& made) {
      GroupRecorder recorder(forest_, group, results);
      const std::vector<RecordedElement> elements = recorder.record();
      const program::Recording::Scope scope(recorder.recording);
      std::vector<program::Output> outputs;
      give_tangents(recorder.recording, elements, recorder.recording.operations().size(), of_leaf,
                    recorder.item_stride(elements.size()), 0, outputs);
      made = program::thread_program(recorder.recording, outputs, group.n_item);
    }));
    if (to.back() == nullptr) return false;
  }
  return true;
}

void FusedDerivatives::run(const Made& made, std::size_t n_item, std::span<const Result* const> results,
                           const Cells& cells, Vells& value, std::span<Derivative> derivatives, ThreadPool* threads) {
  std::vector<program::Array> inputs;
  for (const Result* result : results) inputs.push_back(array_of(result->value));
  std::size_t first = 0;
  for (const program::Program* program : made.programs) {
    std::vector<program::Array> outputs;
    if (first == 0) outputs.push_back(array_of(value));
    inputs.resize(results.size());
    const std::size_t count = std::min(kTogether, made.parameters.size() - first);
    for (std::size_t k = 0; k < count; ++k) {
      for_each_tangent(results, made.parameters[first + k],
                       [&](std::size_t, const Vells& tangent) { inputs.push_back(array_of(tangent)); });
      outputs.push_back(array_of(derivatives[first + k].value));
    }
    Fusion::run(*program, n_item, inputs, outputs, cells, value.cells(), threads);
    first += count;
  }
}

}  // namespace rimetree
