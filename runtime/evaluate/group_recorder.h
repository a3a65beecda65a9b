// The members of a fused group as one recording.
#pragma once

#include <span>
#include <vector>

#include "runtime/cell/cell_program.h"
#include "runtime/core/forest.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

/// What a program has to know of an input.
inline std::int32_t kind_of(const Vells& values) {
  return 2 * program::axes_of(values.cells()) + (values.is_complex() ? 1 : 0);
}

/// Records one of n_item equal parts of a node's elements.
inline std::vector<RecordedElement> record_part(const Node& node, std::span<const RecordedChild> children,
                                                std::size_t item, std::size_t n_item) {
  bool any_complex = false;
  for (const RecordedChild& child : children) any_complex = any_complex || child.is_complex;
  const auto& body = dynamic_cast<const RecordableNode&>(node);
  const std::size_t n = body.n_item() / n_item;
  std::vector<RecordedElement> elements;
  for (std::size_t part = item * n; part < (item + 1) * n; ++part)
    for (const RecordedElement& element : body.record(children, any_complex, part)) elements.push_back(element);
  return elements;
}

/// Records the members of a group one after the other.
class GroupRecorder {
 public:
  GroupRecorder(const Forest& forest, const FusedGroup& group, std::span<const Result* const> results)
      : forest_(forest), group_(group), results_(results) {}

  /// The elements of an item of the last member, as they are written.
  std::vector<program::Output> record_outputs() {
    std::vector<program::Output> outputs;
    const std::vector<RecordedElement> elements = record();
    for (const RecordedElement& element : elements)
      outputs.push_back({.element = static_cast<std::int32_t>(outputs.size()),
                         .item_stride = item_stride(elements.size()),
                         .re = element.re,
                         .im = element.im});
    return outputs;
  }
  /// The elements of an item of the last member. Throws program::NotRecordable where items are not done alike.
  std::vector<RecordedElement> record() {
    std::vector<RecordedElement> elements = record_item(0);
    if (group_.n_item == 1) return elements;
    GroupRecorder second(forest_, group_, results_), last(forest_, group_, results_);
    if (second.record_item(1) != elements || last.record_item(group_.n_item - 1) != elements ||
        !recording.generalise(second.recording, last.recording, group_.n_item))
      throw program::NotRecordable("entries of a stack are not treated alike");
    return elements;
  }

  /// From the elements of one item to those of the next; 0 where there is one only.
  std::int32_t item_stride(std::size_t elements) const {
    return group_.n_item == 1 ? 0 : static_cast<std::int32_t>(elements);
  }

  program::Recording recording;

 private:
  std::vector<RecordedElement> record_item(std::size_t item) {
    const program::Recording::Scope scope(recording);
    std::size_t link = 0;
    made_.reserve(group_.members.size());
    for (const int member : group_.members) {
      std::vector<RecordedChild> children;
      for (std::size_t slot = 0; slot < forest_.children(member).size(); ++slot)
        children.push_back(child(member, slot, group_.links[link + slot], item));
      link += children.size();
      made_.push_back(record_part(forest_.node(member), children, item, group_.n_item));
    }
    return made_.back();
  }
  RecordedChild child(int member, std::size_t slot, std::int32_t link, std::size_t item) const {
    if (link == FusedGroup::kAbsent) return {};
    RecordedChild from{.is_present = true, .dims = forest_.node(forest_.children(member)[slot]).dims()};
    if (link >= 0) {
      from.is_complex = results_[static_cast<std::size_t>(link)]->value.is_complex();
      from.input = link;
      return from;
    }
    from.elements = made_[static_cast<std::size_t>(~link)];
    from.is_complex = from.elements.front().im >= 0;
    from.first_element = item * from.elements.size();
    return from;
  }

  const Forest& forest_;
  const FusedGroup& group_;
  std::span<const Result* const> results_;
  std::vector<std::vector<RecordedElement>> made_;  // by member
};

}  // namespace rimetree
