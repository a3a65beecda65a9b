// Functions of one cell as programs (runtime/program): a class's body is run once on numbers that record, and what they
// leave is run on all cells. Entries of stacks that a body treats alike are mapped over, not written out.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/cell/cell_operand.h"
#include "runtime/core/error.h"
#include "runtime/core/values/evaluation.h"
#include "runtime/device/cell_numbers.h"
#include "runtime/device/device_path.h"
#include "runtime/program/program.h"
#include "runtime/program/recorded.h"

namespace rimetree {

class PullBack;
class ThreadPool;

/// An element of a result while it is recorded: names of its real part and, unless it is real, its imaginary part.
struct RecordedElement {
  std::int32_t re = -1, im = -1;
  friend bool operator==(const RecordedElement&, const RecordedElement&) = default;
};

/// A child as a body sees it while it is recorded: an input of the program, or numbers that are recorded already.
struct RecordedChild {
  bool is_present = false, is_complex = false;
  TensorShape dims;
  std::int32_t input = 0;
  std::span<const RecordedElement> elements{};  ///< empty: it is an input
  std::size_t first_element = 0;                ///< which of the child's the first of these is
  std::int32_t item_stride = 0;                 ///< of an input: elements from one item to the next
};

/// What a class's function of one cell sees while it is recorded; N is Recorded or Complex<Recorded>.
template <class N>
class RecordedInput {
 public:
  using Number = N;
  using Real = Recorded;

  RecordedInput(std::span<const RecordedChild> children, bool varies_in_time, bool varies_in_frequency)
      : time_s(coordinate(program::Coordinate::time_s, varies_in_time)),
        time_width_s(coordinate(program::Coordinate::time_width_s, varies_in_time)),
        frequency_hz(coordinate(program::Coordinate::frequency_hz, varies_in_frequency)),
        frequency_width_hz(coordinate(program::Coordinate::frequency_width_hz, varies_in_frequency)),
        children_(children) {}

  N operator()(std::size_t child, std::size_t element = 0) const {
    if (!has(child)) cell_detail::refuse_read(child, element, nullptr);
    const RecordedChild& from = children_[child];
    if (element >= from.dims.size()) cell_detail::refuse_read(child, element, &from.dims);
    const auto part = [&](bool imaginary) {
      if (!from.elements.empty()) {
        if (element - from.first_element >= from.elements.size())
          throw program::NotRecordable("it reads other entries of a stack than its own");
        const RecordedElement& known = from.elements[element - from.first_element];
        return Recorded::named(imaginary ? known.im : known.re);
      }
      return Recorded::named(program::Recording::current().load(
          {from.input, static_cast<std::int32_t>(element), from.item_stride, imaginary}));
    };
    if constexpr (cell_detail::NumberTraits<N>::is_complex)
      return children_[child].is_complex ? N(part(false), part(true)) : N(part(false));
    else
      return part(false);
  }
  /// An element of the entry of a table that a number says; see CellInput.
  N look_up(std::size_t child, Recorded entry, std::size_t elements, std::size_t element) const {
    if (!has(child)) cell_detail::refuse_read(child, element, nullptr);
    const RecordedChild& from = children_[child];
    if (!from.elements.empty() || from.item_stride != 0)
      throw program::NotRecordable("it looks up what no table in memory has");
    const auto part = [&](bool imaginary) {
      return Recorded::named(program::Recording::current().look_up(
          entry.name(),
          {from.input, static_cast<std::int32_t>(element), static_cast<std::int32_t>(elements), imaginary}));
    };
    if constexpr (cell_detail::NumberTraits<N>::is_complex)
      return from.is_complex ? N(part(false), part(true)) : N(part(false));
    else
      return part(false);
  }
  std::size_t n_children() const { return children_.size(); }
  bool has(std::size_t child) const { return child < children_.size() && children_[child].is_present; }
  const TensorShape& dims(std::size_t child) const { return children_[child].dims; }

  Recorded time_s, time_width_s, frequency_hz, frequency_width_hz;

 private:
  static Recorded coordinate(program::Coordinate which, bool is_declared) {
    if (!is_declared) return Recorded(kNotDeclared);
    return Recorded::named(program::Recording::current().coordinate(which));
  }
  std::span<const RecordedChild> children_;
};

/// A node whose body can be run on numbers that record.
class RecordableNode {
 public:
  /// Stacks of more items than this are mapped over rather than written out: of a few, more can be done at once.
  static constexpr std::size_t kFewItems = 8;

  virtual ~RecordableNode() = default;
  /// Whether nodes of its batch are recorded alike; no: it is evaluated in other ways, or by itself.
  virtual bool is_recordable() const = 0;
  /// Whether evaluating the node does nothing but what its body and its rule for flags do: it may become a part of a
  /// program with others.
  virtual bool does_nothing_else() const = 0;
  /// How many items, of equally many elements, the body treats alike; 1: it is recorded as a whole.
  virtual std::size_t n_item() const = 0;
  /// Whether it looks up entries of a child (RecordedInput::look_up()), which then has to be in memory.
  virtual bool looks_up(std::size_t) const { return false; }
  /// Records one item, on real or complex numbers, and gives its elements. May throw program::NotRecordable.
  virtual std::vector<RecordedElement> record(std::span<const RecordedChild> children, bool is_complex,
                                              std::size_t item) const = 0;
};

/// Values where a program reads or writes them.
program::Array array_of(const Vells& values);
/// Tells a program where cells are.
void set_coordinates(program::Data& data, const Cells& cells);

/// The programs of nodes of one class and state: one for each set of children's types and axes, and for each thing that
/// is asked for. Each function gives false where the body cannot be recorded, and has then done nothing. `is_complex`:
/// the numbers that the body works on. From any thread.
class CellPrograms {
 public:
  /// Cells that are worth a thread of their own.
  static constexpr std::size_t kLeastPart = 8192;

  CellPrograms();
  ~CellPrograms();
  CellPrograms(const CellPrograms&) = delete;
  /// Fills the values of a node from its children's.
  bool fill(const RecordableNode& node, const Evaluation& evaluation, bool is_complex, Vells& values);
  /// The same with derivatives, one for each of the parameters.
  bool fill(const RecordableNode& node, const Evaluation& evaluation, bool is_complex, Vells& values,
            std::span<const ParameterId> parameters, std::span<Vells> derivatives);
  /// Gives a plan for a device its programs.
  bool plan(const RecordableNode& node, const Evaluation& evaluation, DevicePlan& plan);
  /// Adds to the adjoints of a node's children.
  bool pull_back(const RecordableNode& node, const PullBack& pull, bool is_complex);
  /// Why a body could not be recorded; empty if there was none that could not.
  std::string why_not() const;
  /// Threads among which the cells of one node are divided; nullptr: whoever calls does them all.
  void divide_among(ThreadPool* threads) { threads_ = threads; }

 private:
  struct Entry;
  struct Task;
  const Entry& find(const RecordableNode& node, const Task& task);
  std::unique_ptr<Entry> make(const RecordableNode& node, const Task& task) const;
  bool run(const RecordableNode& node, const Task& task);

  mutable std::mutex mutex_;  // of those who add entries; whoever looks for one does not wait
  std::vector<std::unique_ptr<const Entry> > entries_;
  std::atomic<const Entry*> last_ = nullptr;
  ThreadPool* threads_ = nullptr;
};

}  // namespace rimetree
