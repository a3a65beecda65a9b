#include "runtime/cell/cell_program.h"

#include <algorithm>

#include "runtime/core/node.h"

namespace rimetree {

namespace {

/// Fewer items than this are written out: more can be done at once.
constexpr std::size_t kFewItems = 8;

std::vector<RecordedChild> children_of(const Evaluation& evaluation) {
  std::vector<RecordedChild> children;
  for (const Result* child : evaluation.children())
    children.push_back(child == nullptr ? RecordedChild{}
                                        : RecordedChild{true, child->value.is_complex(), child->value.dims(),
                                                        static_cast<std::int32_t>(children.size())});
  return children;
}

/// Everything on which a program depends beyond class and state.
std::string key_of(const Evaluation& evaluation, bool is_complex, const CellShape& cells) {
  std::string key{static_cast<char>(is_complex), static_cast<char>(program::axes_of(cells)),
                  static_cast<char>(program::axes_of(evaluation.cells().shape()))};
  for (const Result* child : evaluation.children())
    key += child == nullptr
               ? '\x7f'
               : static_cast<char>(2 * program::axes_of(child->value.cells()) + (child->value.is_complex() ? 1 : 0));
  return key;
}

/// A recorded body, or the body of one of several items.
struct RecordedItems {
  program::Recording recording;
  std::vector<RecordedElement> elements;
};

void record(RecordedItems& to, const RecordableNode& node, std::span<const RecordedChild> children, bool is_complex,
            std::size_t item) {
  const program::Recording::Scope scope(to.recording);
  const auto elements = node.record(children, is_complex, item);
  to.elements.insert(to.elements.end(), elements.begin(), elements.end());
}

/// Whether items 0, 1 and the last one do the same with elements at equal distances; then item 0 knows these.
bool generalise(RecordedItems& first, const RecordedItems& second, const RecordedItems& last, std::size_t n_item) {
  const auto same = [](const RecordedElement& a, const RecordedElement& b) { return a.re == b.re && a.im == b.im; };
  for (const RecordedItems* other : {&second, &last})
    if (!std::equal(first.elements.begin(), first.elements.end(), other->elements.begin(), other->elements.end(), same))
      return false;
  return first.recording.generalise(second.recording, last.recording, n_item);
}

std::vector<program::Output> outputs_of(const std::vector<RecordedElement>& elements, bool are_items) {
  std::vector<program::Output> outputs;
  for (std::size_t e = 0; e < elements.size(); ++e)
    outputs.push_back({.element = static_cast<std::int32_t>(e),
                       .item_stride = are_items ? static_cast<std::int32_t>(elements.size()) : 0,
                       .re = elements[e].re,
                       .im = elements[e].im});
  return outputs;
}

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

std::shared_ptr<CellPrograms> RecordableNode::make_programs() { return std::make_shared<CellPrograms>(); }

void ProgramKernel::evaluate(BatchContext& context, std::span<Evaluation* const> batch) {
  for (const Evaluation* evaluation : batch) {
    const auto& node = dynamic_cast<const RecordableNode&>(evaluation->node);
    if (node.programs != programs_) node.programs = programs_;
  }
  BatchKernel::evaluate(context, batch);
  const std::string why = programs_->why_not(), name = batch.front()->node.node_class().name;
  if (!why.empty()) context.notes.add("cell-by-cell-" + name, name + ": cell by cell, since " + why);
}

std::string CellPrograms::why_not() const {
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_)
    if (!entry->why_not.empty()) return entry->why_not;
  return "";
}

std::shared_ptr<const CellPrograms::Entry> CellPrograms::find(const RecordableNode& node, const Evaluation& evaluation,
                                                              bool is_complex, const CellShape& cells) {
  std::string key = key_of(evaluation, is_complex, cells);
  const std::lock_guard lock(mutex_);
  for (const auto& entry : entries_)
    if (entry->key == key) return entry;
  auto made = std::make_shared<Entry>();
  made->key = std::move(key);
  const std::vector<RecordedChild> children = children_of(evaluation);
  std::vector<program::Axes> axes;
  for (const Result* child : evaluation.children())
    axes.push_back(child == nullptr ? program::Axes{0} : program::axes_of(child->value.cells()));
  try {
    const std::size_t n_item = node.n_item();
    RecordedItems body;
    bool alike = false;
    if (n_item > kFewItems) {
      RecordedItems second, last;
      record(body, node, children, is_complex, 0);
      record(second, node, children, is_complex, 1);
      record(last, node, children, is_complex, n_item - 1);
      alike = generalise(body, second, last, n_item);
    }
    if (alike) {
      made->n_item = n_item;
    } else {
      body = {};
      for (std::size_t item = 0; item < n_item; ++item) record(body, node, children, is_complex, item);
    }
    made->program.emplace(body.recording, outputs_of(body.elements, made->n_item > 1), axes,
                          program::axes_of(evaluation.cells().shape()), program::axes_of(cells));
  } catch (const program::NotRecordable& error) {
    made->why_not = error.what();
  }
  entries_.push_back(made);
  return made;
}

bool CellPrograms::fill(const RecordableNode& node, const Evaluation& evaluation, bool is_complex, Vells& target) {
  const auto entry = find(node, evaluation, is_complex, target.cells());
  if (!entry->program) return false;
  std::vector<program::Array> inputs;
  for (const Result* child : evaluation.children())
    inputs.push_back(child == nullptr ? program::Array{} : array_of(child->value));
  const program::Array output = array_of(target);
  program::Data data{.inputs = inputs, .outputs = {&output, 1}, .n_item = entry->n_item, .cells = target.cells()};
  set_coordinates(data, evaluation.cells());
  entry->program->run(data);
  return true;
}

}  // namespace rimetree
