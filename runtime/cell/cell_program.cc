#include "runtime/cell/cell_program.h"

#include <algorithm>

#include "runtime/core/node/node.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/program/derive.h"

namespace rimetree {

namespace {

/// What a program gives: array 0 the values, or the tangents, or both (0 and 1); or adjoints, an array for each child.
enum class Purpose : std::uint8_t { values, tangents, values_and_tangents, adjoints };

std::vector<RecordedChild> children_of(const Evaluation& evaluation) {
  std::vector<RecordedChild> children;
  for (const Result* child : evaluation.children())
    children.push_back(child == nullptr ? RecordedChild{}
                                        : RecordedChild{true, child->value.is_complex(), child->value.dims(),
                                                        static_cast<std::int32_t>(children.size())});
  return children;
}

/// What is known of an input while a body is recorded.
struct InputKind {
  bool is_present = false, is_complex = false;
  program::Axes axes = 0;
  explicit InputKind(const Vells* values)
      : is_present(values != nullptr),
        is_complex(is_present && values->is_complex()),
        axes(is_present ? program::axes_of(values->cells()) : program::Axes{0}) {}
  char text() const { return is_present ? static_cast<char>(2 * axes + (is_complex ? 1 : 0)) : '\x7f'; }
};

const Vells* value_of(const Result* child) { return child == nullptr ? nullptr : &child->value; }

}  // namespace

/// What is asked of a program, and what it reads besides the children's values.
struct CellPrograms::Task {
  Purpose purpose;
  const Evaluation& evaluation;
  bool is_complex;
  CellShape cells;
  std::span<const Vells* const> tangents{};  ///< by child; nullptr: it does not depend on the parameter
  const Vells* seed = nullptr;               ///< the adjoint of the result
  std::span<Vells* const> adjoints{};        ///< by child; nullptr: not wanted
  std::span<const program::Array> outputs{};
  bool on_device = false;

  std::size_t n_child() const { return evaluation.children().size(); }
  /// Calls f(values) for each input of the program: nullptr where there is none.
  template <class F>
  void for_each_input(const F& f) const {
    for (const Result* child : evaluation.children()) f(value_of(child));
    for (const Vells* tangent : tangents) f(tangent);
    if (seed != nullptr) f(seed);
  }
  /// Everything on which a program depends beyond class and state.
  void describe(std::string& key) const {
    key.assign({static_cast<char>(4 * static_cast<int>(purpose) + 2 * on_device + is_complex),
                static_cast<char>(program::axes_of(cells)),
                static_cast<char>(program::axes_of(evaluation.cells().shape()))});
    for_each_input([&](const Vells* values) { key += InputKind(values).text(); });
    for (const Vells* adjoint : adjoints) key += adjoint == nullptr ? '-' : adjoint->is_complex() ? 'c' : 'r';
  }
};

struct CellPrograms::Entry {
  std::string key;
  std::optional<program::Program> program;
  std::shared_ptr<const program::ThreadProgram> on_device;
  std::size_t n_item = 1;
  std::string why_not;
  const Entry* next = nullptr;
};

namespace {

/// Recorded items, some or all of a body's, and what comes out.
class RecordedItems {
 public:
  RecordedItems(const RecordableNode& node, std::span<const RecordedChild> children, bool is_complex, std::size_t first,
                std::size_t count) {
    const program::Recording::Scope scope(recording);
    for (std::size_t item = first; item < first + count; ++item) {
      const auto made = node.record(children, is_complex, item);
      if (item == first) first_ = first * made.size();
      elements.insert(elements.end(), made.begin(), made.end());
    }
    for (std::size_t e = 0; e < elements.size(); ++e) give(0, e, elements[e]);
  }

  /// Adds tangents, to array `array`, or takes them instead of the values. `inputs`: those of the children's tangents,
  /// from number `first_input` on.
  void derive_forward(std::int32_t array, std::span<const InputKind> inputs, std::int32_t first_input) {
    const program::Recording::Scope scope(recording);
    if (array == 0) outputs.clear();
    std::vector<std::int32_t> names;
    for (const RecordedElement& element : elements) names.insert(names.end(), {element.re, element.im});
    const auto tangents = program::tangents(recording, names, [&](const program::Load& load) {
      const InputKind& kind = inputs[static_cast<std::size_t>(load.input)];
      if (!kind.is_present || (load.imaginary && !kind.is_complex)) return program::kZero;
      program::Load from = load;
      from.input += first_input;
      return recording.load(from);
    });
    const auto named = [&](std::int32_t tangent) {
      return tangent == program::kZero ? recording.constant(0) : tangent;
    };
    for (std::size_t e = 0; e < elements.size(); ++e)
      give(array, e, {named(tangents[2 * e]), elements[e].im < 0 ? -1 : named(tangents[2 * e + 1])});
  }

  /// Gives adjoints of what is read of the children instead of the values; input number `seed` is those of the result.
  void derive_reverse(std::span<Vells* const> wanted, std::int32_t seed) {
    const program::Recording::Scope scope(recording);
    outputs.clear();
    std::vector<program::Adjoint> outcomes;
    for (std::size_t e = 0; e < elements.size(); ++e) {
      const auto at = static_cast<std::int32_t>(first_ + e);
      if (elements[e].im >= 0) outcomes.push_back({elements[e].im, recording.load({seed, at, 0, true})});
      outcomes.push_back({elements[e].re, recording.load({seed, at, 0, false})});
    }
    const auto found = program::adjoints(recording, outcomes, [&](const program::Load& load) {
      return load.input != seed && wanted[static_cast<std::size_t>(load.input)] != nullptr;
    });
    for (const auto& [load, adjoint] : found) give_adjoint(load, adjoint, wanted);
  }

  /// Whether two other items do the same with elements at equal distances: this is item 0, they are 1 and n - 1.
  bool generalise(const RecordedItems& second, const RecordedItems& last, std::size_t n_item) {
    const auto same = [](const Given& a, const Given& b) {
      return a.output.array == b.output.array && a.output.re == b.output.re && a.output.im == b.output.im &&
             a.load == b.load;
    };
    for (const RecordedItems* other : {&second, &last})
      if (!std::equal(outputs.begin(), outputs.end(), other->outputs.begin(), other->outputs.end(), same)) return false;
    if (!recording.generalise(second.recording, last.recording, n_item)) return false;
    for (Given& given : outputs)
      given.output.item_stride =
          given.load >= 0 ? recording[given.load].from().item_stride : static_cast<std::int32_t>(elements.size());
    return true;
  }

  std::vector<program::Output> all_outputs() const {
    std::vector<program::Output> all;
    for (const Given& given : outputs) all.push_back(given.output);
    return all;
  }

  program::Recording recording;
  std::vector<RecordedElement> elements;

 private:
  struct Given {
    program::Output output;
    std::int32_t load = -1;  ///< of adjoints: what they are of
  };
  void give(std::int32_t array, std::size_t e, const RecordedElement& element) {
    outputs.push_back({{.array = array, .element = static_cast<std::int32_t>(e), .re = element.re, .im = element.im}});
  }
  /// Both parts of a complex adjoint are given together.
  void give_adjoint(std::int32_t name, std::int32_t adjoint, std::span<Vells* const> wanted) {
    const program::Load load = recording[name].from();
    if (!wanted[static_cast<std::size_t>(load.input)]->is_complex()) {
      outputs.push_back({{.array = load.input, .element = load.element, .re = adjoint}, name});
      return;
    }
    for (Given& given : outputs) {
      if (given.output.array != load.input || given.output.element != load.element) continue;
      (load.imaginary ? given.output.im : given.output.re) = adjoint;
      return;
    }
    const std::int32_t zero = recording.constant(0);
    outputs.push_back({{.array = load.input,
                        .element = load.element,
                        .re = load.imaginary ? zero : adjoint,
                        .im = load.imaginary ? adjoint : zero},
                       name});
  }

  std::vector<Given> outputs;
  std::size_t first_ = 0;  // element
};

}  // namespace

program::Array array_of(const Vells& values) {
  return {values.storage().get(), values.is_complex(), values.cells_per_element(), broadcast_strides(values.cells())};
}

void set_coordinates(program::Data& data, const Cells& cells) {
  const AxisGrid &time = cells.axis(Axis::time), &frequency = cells.axis(Axis::frequency);
  data.coordinates[0] = time.centre.data();
  data.coordinates[1] = time.width.data();
  data.coordinates[2] = frequency.centre.data();
  data.coordinates[3] = frequency.width.data();
}

CellPrograms::CellPrograms() = default;
CellPrograms::~CellPrograms() = default;

std::string CellPrograms::why_not() const {
  for (const Entry* entry = last_.load(std::memory_order_acquire); entry != nullptr; entry = entry->next)
    if (!entry->why_not.empty()) return entry->why_not;
  return "";
}

std::unique_ptr<CellPrograms::Entry> CellPrograms::make(const RecordableNode& node, const Task& task) const {
  auto made = std::make_unique<Entry>();
  const std::vector<RecordedChild> children = children_of(task.evaluation);
  const auto n_child = static_cast<std::int32_t>(children.size());
  std::vector<InputKind> inputs;
  std::vector<program::Axes> axes;
  task.for_each_input([&](const Vells* values) { axes.push_back(inputs.emplace_back(values).axes); });
  const auto recorded = [&](std::size_t first, std::size_t count) {
    auto items = std::make_unique<RecordedItems>(node, children, task.is_complex, first, count);
    if (task.purpose == Purpose::adjoints)
      items->derive_reverse(task.adjoints, n_child);
    else if (task.purpose != Purpose::values)
      items->derive_forward(task.purpose == Purpose::tangents ? 0 : 1, std::span(inputs).subspan(children.size()),
                            n_child);
    return items;
  };
  try {
    const std::size_t n_item = node.n_item();
    std::unique_ptr<RecordedItems> body;
    if (n_item > RecordableNode::kFewItems) {
      body = recorded(0, 1);
      if (body->generalise(*recorded(1, 1), *recorded(n_item - 1, 1), n_item)) made->n_item = n_item;
    }
    if (body == nullptr || made->n_item == 1) body = recorded(0, n_item);
    const std::vector<program::Output> outputs = body->all_outputs();
    if (task.on_device) {
      made->on_device = program::thread_program(body->recording, outputs, made->n_item);
      return made;
    }
    made->program.emplace(body->recording, outputs, axes, program::axes_of(task.evaluation.cells().shape()),
                          program::axes_of(task.cells));
  } catch (const program::NotRecordable& error) {
    made->why_not = error.what();
  }
  return made;
}

const CellPrograms::Entry& CellPrograms::find(const RecordableNode& node, const Task& task) {
  static thread_local std::string key;
  task.describe(key);
  const auto known = [](const Entry* from) {
    while (from != nullptr && from->key != key) from = from->next;
    return from;
  };
  if (const Entry* entry = known(last_.load(std::memory_order_acquire))) return *entry;
  const std::lock_guard lock(mutex_);
  if (const Entry* entry = known(last_.load(std::memory_order_relaxed))) return *entry;
  const std::string own = key;
  std::unique_ptr<Entry> made = make(node, task);
  made->key = own;
  made->next = last_.load(std::memory_order_relaxed);
  entries_.push_back(std::move(made));
  last_.store(entries_.back().get(), std::memory_order_release);
  return *entries_.back();
}

bool CellPrograms::run(const RecordableNode& node, const Task& task) {
  const Entry& entry = find(node, task);
  if (!entry.program) return false;
  static thread_local std::vector<program::Array> inputs;
  inputs.clear();
  task.for_each_input(
      [&](const Vells* values) { inputs.push_back(values == nullptr ? program::Array{} : array_of(*values)); });
  program::Data data{.inputs = inputs,
                     .outputs = task.outputs,
                     .n_item = entry.n_item,
                     .cells = task.cells,
                     .adds = task.purpose == Purpose::adjoints};
  set_coordinates(data, task.evaluation.cells());
  const auto parts = std::min<std::size_t>(threads_ == nullptr || data.adds ? 1 : std::size_t(threads_->size()),
                                           entry.n_item * task.cells.size() / kLeastPart);
  if (parts < 2) {
    entry.program->run(data);
    return true;
  }
  data.n_part = parts;
  threads_->parallel_for(parts, 1, [&](std::size_t begin, std::size_t end, int) {
    program::Data own = data;
    for (own.part = begin; own.part < end; ++own.part) entry.program->run(own);
  });
  return true;
}

bool CellPrograms::fill(const RecordableNode& node, const Evaluation& evaluation, bool is_complex, Vells& values) {
  const program::Array output = array_of(values);
  return run(node, {.purpose = Purpose::values,
                    .evaluation = evaluation,
                    .is_complex = is_complex,
                    .cells = values.cells(),
                    .outputs = {&output, 1}});
}

bool CellPrograms::fill(const RecordableNode& node, const Evaluation& evaluation, bool is_complex, Vells& values,
                        std::span<const ParameterId> parameters, std::span<Vells> derivatives) {
  if (parameters.empty()) return fill(node, evaluation, is_complex, values);
  const program::Array value = array_of(values);
  std::vector<const Vells*> tangents;
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    tangents.clear();
    for (const Result* child : evaluation.children())
      tangents.push_back(child == nullptr ? nullptr : child->derivative(parameters[i]));
    // The values come along with the first derivative.
    const program::Array outputs[] = {value, array_of(derivatives[i])};
    const bool done = run(node, {.purpose = i == 0 ? Purpose::values_and_tangents : Purpose::tangents,
                                 .evaluation = evaluation,
                                 .is_complex = is_complex,
                                 .cells = values.cells(),
                                 .tangents = tangents,
                                 .outputs = std::span(outputs).subspan(i == 0 ? 0 : 1)});
    if (!done) return false;
  }
  return true;
}

bool CellPrograms::plan(const RecordableNode& node, const Evaluation& evaluation, DevicePlan& plan) {
  Task task{.purpose = Purpose::values,
            .evaluation = evaluation,
            .is_complex = plan.is_complex,
            .cells = plan.cells,
            .on_device = true};
  plan.programs = {find(node, task).on_device};
  task.purpose = Purpose::tangents;
  std::vector<const Vells*> tangents;
  for (const ParameterId& parameter : plan.parameters) {
    tangents.clear();
    for (const Result* child : evaluation.children())
      tangents.push_back(child == nullptr ? nullptr : child->derivative(parameter));
    task.tangents = tangents;
    plan.programs.push_back(find(node, task).on_device);
  }
  return std::find(plan.programs.begin(), plan.programs.end(), nullptr) == plan.programs.end();
}

bool CellPrograms::pull_back(const RecordableNode& node, const PullBack& pull, bool is_complex) {
  std::vector<Vells*> adjoints;
  std::vector<program::Array> outputs;
  for (std::size_t slot = 0; slot < pull.inputs.children().size(); ++slot) {
    adjoints.push_back(pull.child(slot));
    outputs.push_back(adjoints.back() == nullptr ? program::Array{} : array_of(*adjoints.back()));
  }
  return run(node, {.purpose = Purpose::adjoints,
                    .evaluation = pull.inputs,
                    .is_complex = is_complex,
                    .cells = pull.adjoint.cells(),
                    .seed = &pull.adjoint,
                    .adjoints = adjoints,
                    .outputs = outputs});
}

}  // namespace rimetree
