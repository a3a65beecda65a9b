// The members of a fused group as one recording.
#pragma once

#include <span>
#include <vector>

#include "runtime/cell/cell_program.h"
#include "runtime/core/forest/forest.h"
#include "runtime/evaluate/fusion.h"

namespace rimetree {

/// What a program has to know of an input.
inline std::int32_t kind_of(const Vells& values) {
  return 2 * program::axes_of(values.cells()) + (values.is_complex() ? 1 : 0);
}

/// Nodes that are recorded together: one of n_part equal parts of the elements of each.
struct RecordedGroup {
  /// Results that are read.
  struct Input {
    bool is_complex = false;
    std::int32_t item_stride = 0;  ///< elements from one item to the next, if items are not parts
  };
  /// What comes out: which it is, as links are, and how many elements of a part there are.
  struct Outcome {
    std::int32_t link = 0;
    std::size_t size = 1;
  };
  std::span<const int> members;         ///< children before their parents
  std::span<const std::int32_t> links;  ///< of their children, as FusedGroup has them
  std::size_t n_part = 1;
  std::vector<Input> inputs;
  std::vector<Outcome> outcomes;
};

/// Records the members of a group one after the other.
class GroupRecorder {
 public:
  GroupRecorder(const Forest& forest, RecordedGroup group) : forest_(forest), group_(std::move(group)) {}
  GroupRecorder(const Forest& forest, const FusedGroup& group, std::span<const Result* const> results)
      : GroupRecorder(forest, of_fused(forest, group, results)) {}

  /// The elements of part 0 of what comes out. Throws program::NotRecordable where parts are not done alike.
  std::vector<RecordedElement> record() {
    std::vector<RecordedElement> elements = record_part(0);
    if (group_.n_part == 1) return elements;
    GroupRecorder second(forest_, group_), last(forest_, group_);
    if (second.record_part(1) != elements || last.record_part(group_.n_part - 1) != elements ||
        !recording.generalise(second.recording, last.recording, group_.n_part))
      throw program::NotRecordable("entries of a stack are not treated alike");
    return elements;
  }
  /// The same as they are written.
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
  /// From the elements of one part to those of the next; 0 where there is one only.
  std::int32_t item_stride(std::size_t elements) const {
    return group_.n_part == 1 ? 0 : static_cast<std::int32_t>(elements);
  }

  program::Recording recording;

 private:
  static RecordedGroup of_fused(const Forest& forest, const FusedGroup& group, std::span<const Result* const> results) {
    RecordedGroup made{.members = group.members, .links = group.links, .n_part = group.n_item};
    for (const Result* result : results) made.inputs.push_back({.is_complex = result->value.is_complex()});
    made.outcomes = {{.link = ~static_cast<std::int32_t>(group.members.size() - 1),
                      .size = forest.node(group.members.back()).dims().size() / group.n_item}};
    return made;
  }

  std::vector<RecordedElement> record_part(std::size_t part) {
    const program::Recording::Scope scope(recording);
    std::size_t link = 0;
    made_.reserve(group_.members.size());
    for (const int member : group_.members) {
      std::vector<RecordedChild> children;
      for (std::size_t slot = 0; slot < forest_.children(member).size(); ++slot)
        children.push_back(child(forest_.children(member)[slot], group_.links[link + slot], part));
      link += children.size();
      made_.push_back(record_member(forest_.node(member), children, part));
    }
    std::vector<RecordedElement> elements;
    for (const auto& [what, size] : group_.outcomes)
      for (std::size_t e = 0; e < size; ++e) elements.push_back(outcome(what, e, part * size + e));
    return elements;
  }
  std::vector<RecordedElement> record_member(const Node& node, std::span<const RecordedChild> children,
                                             std::size_t part) const {
    bool any_complex = false;
    for (const RecordedChild& child : children) any_complex = any_complex || child.is_complex;
    const auto& body = dynamic_cast<const RecordableNode&>(node);
    const std::size_t n = body.n_item() / group_.n_part;
    std::vector<RecordedElement> elements;
    for (std::size_t item = part * n; item < (part + 1) * n; ++item)
      for (const RecordedElement& element : body.record(children, any_complex, item)) elements.push_back(element);
    return elements;
  }
  RecordedChild child(int node, std::int32_t link, std::size_t part) const {
    if (link == FusedGroup::kAbsent) return {};
    RecordedChild from{.is_present = true, .dims = forest_.node(node).dims()};
    if (link >= 0) {
      from.is_complex = input(link).is_complex;
      from.input = link;
      from.item_stride = input(link).item_stride;
      return from;
    }
    from.elements = made_[static_cast<std::size_t>(~link)];
    from.is_complex = from.elements.front().im >= 0;
    from.first_element = part * from.elements.size();
    return from;
  }
  /// Element e of a part, which is number `element` of all.
  RecordedElement outcome(std::int32_t link, std::size_t e, std::size_t element) {
    if (link < 0) return made_[static_cast<std::size_t>(~link)][e];
    const auto load = [&](bool imaginary) {
      return recording.load({link, static_cast<std::int32_t>(element), input(link).item_stride, imaginary});
    };
    RecordedElement from{.re = load(false)};
    if (input(link).is_complex) from.im = load(true);
    return from;
  }
  const RecordedGroup::Input& input(std::int32_t link) const { return group_.inputs[static_cast<std::size_t>(link)]; }

  const Forest& forest_;
  RecordedGroup group_;
  std::vector<std::vector<RecordedElement>> made_;  // by member
};

}  // namespace rimetree
