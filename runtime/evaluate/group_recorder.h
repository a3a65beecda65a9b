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

/// Records the members of a group one after the other.
class GroupRecorder {
 public:
  GroupRecorder(const Forest& forest, const FusedGroup& group, std::span<const Result* const> results)
      : forest_(forest), group_(group), results_(results) {}

  /// The elements of the last member, as they are written.
  std::vector<program::Output> record_outputs() {
    std::vector<program::Output> outputs;
    for (const RecordedElement& element : record())
      outputs.push_back({.element = static_cast<std::int32_t>(outputs.size()), .re = element.re, .im = element.im});
    return outputs;
  }
  /// The elements of the last member.
  std::vector<RecordedElement> record() {
    const program::Recording::Scope scope(recording);
    std::size_t link = 0;
    made_.reserve(group_.members.size());
    for (const int member : group_.members) {
      const std::size_t n = forest_.children(member).size();
      made_.push_back(record(member, std::span(group_.links).subspan(link, n)));
      link += n;
    }
    return made_.back();
  }

  program::Recording recording;

 private:
  std::vector<RecordedElement> record(int member, std::span<const std::int32_t> links) {
    std::vector<RecordedChild> children;
    bool any_complex = false;
    for (std::size_t slot = 0; slot < links.size(); ++slot) {
      children.push_back(child(member, slot, links[slot]));
      any_complex = any_complex || children.back().is_complex;
    }
    const auto& node = dynamic_cast<const RecordableNode&>(forest_.node(member));
    std::vector<RecordedElement> elements;
    for (std::size_t item = 0; item < node.n_item(); ++item)
      for (const RecordedElement& element : node.record(children, any_complex, item)) elements.push_back(element);
    return elements;
  }
  RecordedChild child(int member, std::size_t slot, std::int32_t link) const {
    if (link == FusedGroup::kAbsent) return {};
    const TensorShape& dims = forest_.node(forest_.children(member)[slot]).dims();
    if (link >= 0) return {true, results_[static_cast<std::size_t>(link)]->value.is_complex(), dims, link};
    const std::vector<RecordedElement>& elements = made_[static_cast<std::size_t>(~link)];
    return {true, elements.front().im >= 0, dims, 0, elements};
  }

  const Forest& forest_;
  const FusedGroup& group_;
  std::span<const Result* const> results_;
  std::vector<std::vector<RecordedElement>> made_;  // by member
};

}  // namespace rimetree
