#include "runtime/evaluate/term_programs.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/thread_pool.h"
#include "runtime/evaluate/group_recorder.h"

namespace rimetree {

namespace {

/// Records the members of one item.
class ItemRecorder {
 public:
  ItemRecorder(const Forest& forest, const TermSum& sum, std::span<const Vells* const> inputs,
               std::span<const std::int32_t> item_stride)
      : forest_(forest), sum_(sum), inputs_(inputs), item_stride_(item_stride) {}

  void record(std::size_t item) {
    const program::Recording::Scope scope(recording);
    std::size_t link = 0;
    for (const int member : sum_.members) {
      const std::size_t n = forest_.children(member).size();
      std::vector<RecordedChild> children;
      for (std::size_t slot = 0; slot < n; ++slot)
        children.push_back(child(forest_.children(member)[slot], sum_.links[link + slot], item));
      made_.push_back(
          record_part(forest_.node(member), children, sum_.of_stack ? item : 0, sum_.of_stack ? sum_.n_item : 1));
      link += n;
    }
    for (std::size_t r = 0; r < sum_.roots.size(); ++r) give(static_cast<std::int32_t>(r), item);
  }

  program::Recording recording;
  std::vector<program::Output> outputs;

 private:
  RecordedChild child(int node, std::int32_t link, std::size_t item) const {
    if (link == FusedGroup::kAbsent) return {};
    RecordedChild from{.is_present = true, .dims = forest_.node(node).dims()};
    if (link >= 0) {
      const auto input = static_cast<std::size_t>(link);
      from.is_complex = inputs_[input]->is_complex();
      from.input = link;
      from.item_stride = item_stride_[input];
      return from;
    }
    from.elements = made_[static_cast<std::size_t>(~link)];
    from.is_complex = from.elements.front().im >= 0;
    if (sum_.of_stack) from.first_element = item * from.elements.size();
    return from;
  }
  /// What root number r adds up.
  void give(std::int32_t r, std::size_t item) {
    const std::int32_t term = sum_.terms[static_cast<std::size_t>(r)];
    const std::size_t n = forest_.node(sum_.roots[static_cast<std::size_t>(r)]).dims().size();
    for (std::size_t e = 0; e < n; ++e) {
      RecordedElement from;
      if (term < 0) {
        from = made_[static_cast<std::size_t>(~term)][e];
      } else {
        const auto input = static_cast<std::size_t>(term);
        const auto element = static_cast<std::int32_t>((sum_.of_stack ? item * n : 0) + e);
        from.re = recording.load({term, element, item_stride_[input], false});
        if (inputs_[input]->is_complex()) from.im = recording.load({term, element, item_stride_[input], true});
      }
      outputs.push_back({.array = r, .element = static_cast<std::int32_t>(e), .re = from.re, .im = from.im});
    }
  }

  const Forest& forest_;
  const TermSum& sum_;
  std::span<const Vells* const> inputs_;
  std::span<const std::int32_t> item_stride_;
  std::vector<std::vector<RecordedElement>> made_;  // by member
};

/// Whether all items do what the first one does, with loads at equal distances; gives these to the first one.
bool generalise(ItemRecorder& first, const Forest& forest, const TermSum& sum, std::span<const Vells* const> inputs,
                std::span<const std::int32_t> item_stride) {
  const auto recorded = [&](std::size_t item) {
    auto made = std::make_unique<ItemRecorder>(forest, sum, inputs, item_stride);
    made->record(item);
    return made;
  };
  const auto second = recorded(1), last = recorded(sum.n_item - 1);
  const auto same = [](const program::Output& a, const program::Output& b) { return a.re == b.re && a.im == b.im; };
  for (const auto* other : {second.get(), last.get()})
    if (!std::equal(first.outputs.begin(), first.outputs.end(), other->outputs.begin(), other->outputs.end(), same))
      return false;
  return first.recording.generalise(second->recording, last->recording, sum.n_item);
}

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
  const auto [at, fresh] = made_.try_emplace(std::move(key));
  run.made = &at->second;
  if (fresh) {
    try {
      make(*run.sum, values, coordinates, run.shape, at->second);
    } catch (const std::exception&) {
      // One by one, they say what is wrong.
    }
  }
  return run.made->program ? Trouble::none : Trouble::always;
}

void TermPrograms::make(const TermSum& sum, std::span<const Vells* const> inputs, program::Axes coordinates,
                        const CellShape& shape, Made& made) const {
  std::vector<program::Axes> axes;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    made.item_stride.push_back(sum.inputs[i].size() == 1 ? 0 : static_cast<std::int32_t>(inputs[i]->dims().size()));
    axes.push_back(program::axes_of(inputs[i]->cells()));
  }
  ItemRecorder recorder(forest_, sum, inputs, made.item_stride);
  recorder.record(0);
  if (sum.of_stack && !generalise(recorder, forest_, sum, inputs, made.item_stride)) return;
  for (const program::Output& output : recorder.outputs)
    if (output.element == 0) made.is_complex.push_back(output.im >= 0);
  made.program.emplace(program::Program::Items::summed, recorder.recording, recorder.outputs, axes, coordinates,
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
