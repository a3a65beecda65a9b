#include "runtime/evaluate/term_programs.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/threads/thread_pool.h"
#include "runtime/evaluate/group_recorder.h"

namespace rimetree {

namespace {

/// Along which axes coordinates vary. Widths are equal more often than not, and what depends on these only (smearing)
/// then varies along fewer axes.
program::Axes coordinates_of(const Cells& cells) {
  program::Axes axes = program::axes_of(cells.shape());
  const auto are_equal = [&](Axis axis) {
    const std::vector<double>& width = cells.axis(axis).width;
    return std::all_of(width.begin(), width.end(), [&](double one) { return one == width.front(); });
  };
  if (are_equal(Axis::time)) axes |= program::kEqualTimeWidths;
  if (are_equal(Axis::frequency)) axes |= program::kEqualFrequencyWidths;
  return axes;
}

/// Numbers of one input, of all items after each other.
std::vector<double> packed(std::span<const Result* const> items) {
  const Vells& first = items.front()->value;
  const std::size_t n = first.dims().size() * first.cells_per_element() * (first.is_complex() ? 2 : 1);
  std::vector<double> numbers(n * items.size());
  for (std::size_t s = 0; s < items.size(); ++s)
    std::memcpy(numbers.data() + s * n, items[s]->value.host(), n * sizeof(double));
  return numbers;
}

}  // namespace

TermPrograms::Trouble TermPrograms::prepare(Run& run, const Cells& cells) {
  for (const auto& items : run.inputs)
    for (const Result* result : items) {
      if (result == nullptr || !result->ok() || !result->value.is_on_host() || !result->flags.empty() ||
          !result->derivatives.empty())
        return Trouble::now;
    }
  std::vector<const Vells*> values;
  std::vector<std::int32_t> key{run.sum->form};
  for (const auto& items : run.inputs) {
    values.push_back(&items.front()->value);
    key.push_back(kind_of(*values.back()));
    const auto alike = [&](const Result* result) {
      return kind_of(result->value) == key.back() && result->value.dims() == values.back()->dims();
    };
    if (!std::all_of(items.begin(), items.end(), alike)) return Trouble::always;
    run.shape = broadcast(run.shape, values.back()->cells());
  }
  for (int axis = 0; axis < kAxes; ++axis)
    if ((run.sum->varies_along & set_of(Axis(axis))) != 0)
      run.shape.extent[axis] = static_cast<std::int32_t>(cells.require(Axis(axis)).centre.size());
  key.push_back(program::axes_of(run.shape));
  const program::Axes coordinates = coordinates_of(cells);
  key.push_back(coordinates);
  run.made = &made_.find(std::move(key), [&](Made& made) { make(*run.sum, values, coordinates, run.shape, made); });
  return run.made->program ? Trouble::none : Trouble::always;
}

void TermPrograms::make(const TermSum& sum, std::span<const Vells* const> inputs, program::Axes coordinates,
                        const CellShape& shape, Made& made) const {
  RecordedGroup group{.members = sum.members, .links = sum.links, .n_part = sum.of_stack ? sum.n_item : 1};
  std::vector<program::Axes> axes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const auto item_stride = sum.inputs[i].size() == 1 ? 0 : static_cast<std::int32_t>(inputs[i]->dims().size());
    group.inputs.push_back({inputs[i]->is_complex(), item_stride});
    axes.push_back(program::axes_of(inputs[i]->cells()));
  }
  for (std::size_t r = 0; r < sum.roots.size(); ++r)
    group.outcomes.push_back({sum.terms[r], forest_.node(sum.roots[r]).dims().size()});
  GroupRecorder recorder(forest_, group);
  const std::vector<RecordedElement> elements = recorder.record();
  std::vector<program::Output> outputs;
  for (std::size_t r = 0; r < sum.roots.size(); ++r) {
    made.is_complex.push_back(elements[outputs.size()].im >= 0);
    for (std::size_t e = 0; e < group.outcomes[r].size; ++e) {
      const RecordedElement& from = elements[outputs.size()];
      outputs.push_back({.array = static_cast<std::int32_t>(r),
                         .element = static_cast<std::int32_t>(e),
                         .re = from.re,
                         .im = from.im});
    }
  }
  made.program.emplace(program::Program::Items::summed, recorder.recording, outputs, axes, coordinates,
                       program::axes_of(shape));
}

void TermPrograms::execute(const Run& run, const Cells& cells, std::span<Vells* const> targets, ThreadPool* threads) {
  std::vector<program::Array> inputs, outputs;
  std::vector<std::vector<double>> memory;
  std::vector<std::vector<void*>> places;
  for (const auto& items : run.inputs) {
    program::Array input = array_of(items.front()->value);
    if (items.size() > 1 && items.front()->value.cells() == run.shape && run.shape.size() > 1) {
      std::vector<void*>& own = places.emplace_back();
      for (const Result* result : items) own.push_back(array_of(result->value).numbers);
      input.of_item = own.data();
    } else if (items.size() > 1) {
      input.numbers = memory.emplace_back(packed(items)).data();
    }
    inputs.push_back(input);
  }
  // Sums of children begin with the first one, those of stacks with zero: -0 changes no number.
  const double beginning = run.sum->of_stack ? 0.0 : -0.0;
  for (Vells* target : targets) {
    const std::size_t n = target->dims().size() * target->cells_per_element() * (target->is_complex() ? 2 : 1);
    outputs.push_back(array_of(*target));
    std::fill_n(static_cast<double*>(outputs.back().numbers), n, beginning);
  }
  program::Data data{.inputs = inputs, .outputs = outputs, .n_item = run.sum->n_item, .cells = run.shape};
  set_coordinates(data, cells);
  if (threads == nullptr) return run.made->program->run(data);
  data.n_part = static_cast<std::size_t>(threads->size());
  threads->parallel_for(data.n_part, 1, [&](std::size_t begin, std::size_t end, int) {
    program::Data own = data;
    for (own.part = begin; own.part < end; ++own.part) run.made->program->run(own);
  });
}

}  // namespace rimetree
