// Skies that no kernel takes at all cells at once, one slice of the cells after the other: at one time where they vary
// in time, in one channel where directions or shapes vary along channels. In a slice a sky is one that kernels take.
#pragma once

#include <deque>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "nodes/psv/operands.h"

namespace rimetree::psv {

// Of what is evaluated, and of what is pulled back.
inline const Evaluation& inputs_of(const Evaluation& evaluation) { return evaluation; }
inline const Evaluation& inputs_of(const PullBack& pull) { return pull.inputs; }
inline bool asks_for_baselines(const Evaluation&) { return false; }
inline bool asks_for_baselines(const PullBack& pull) { return pull.child(kUvw) != nullptr; }

/// The axes along which a slice is one cell long.
struct Slicing {
  bool time = false, frequency = false;

  /// Along what kernels want slices of a node with children on such cells; nothing if they take it as it is.
  static Slicing of(std::span<const CellShape> children);
  explicit operator bool() const { return time || frequency; }
  friend bool operator==(const Slicing&, const Slicing&) = default;

  bool applies_to(const CellShape& cells) const;
  /// The cells of one slice of these.
  CellShape slice_of(CellShape cells) const;
  /// How many slices such cells make.
  std::int32_t count(const CellShape& cells) const;
  std::string name() const;  ///< "one time", "one channel", "one cell"
  /// Whether slices are less work than single cells: for so many nodes, sources, and cells of a node.
  bool pays(std::size_t n_node, int n_source, const CellShape& cells, bool in_reverse = false) const;
};
/// What a slice takes on one core for so many nodes, besides their sums; and what such cells of each of them take by
/// themselves.
double slice_nanoseconds(std::size_t n_node);
double cell_by_cell_nanoseconds(std::size_t n_node, int n_source, const CellShape& cells, bool in_reverse = false);
inline constexpr Slicing kSlicings[] = {{true, false}, {false, true}, {true, true}};

class Slices {
 public:
  Slices(const ChildLayout& layout, Slicing slicing) : layout_(layout), slicing_(slicing) {}

  /// Takes those that kernels do in such slices, if all together that is less work than to do them cell by cell: gives
  /// the others.
  std::vector<Evaluation*> take(std::span<Evaluation* const> batch);
  /// The same of a reverse pass.
  std::vector<PullBack*> take(std::span<PullBack* const> batch);
  const Evaluation* first() const { return given_.empty() ? nullptr : given_.front(); }
  /// How many slices there are of what was taken; none if nothing was.
  std::int32_t count() const { return count_; }

  // What was taken, as it is in one slice; children that are the same are so there, too.

  std::vector<Evaluation*> evaluations_in(std::int32_t slice);
  std::vector<PullBack*> pulls_in(std::int32_t slice);
  /// Brings what was made of them to where it belongs, and lets go of them.
  void finish();

 private:
  /// A node in one slice: what it gives there, and its children.
  struct NodeInSlice {
    Result result;
    std::vector<const Result*> children;
  };
  template <class Item>
  std::vector<Item*> taken_of(std::span<Item* const> batch, std::vector<Item*>& taken);
  void begin(const Request& request, std::int32_t slice);
  bool is_cut(const Vells& values) const { return slicing_.applies_to(values.cells()); }
  Evaluation& in_slice(const Evaluation& evaluation);
  const Result* in_slice(const Result* result, memory::Pool& pool);
  const Vells& in_slice(const Vells& values, memory::Pool& pool);
  template <class F>
  void for_each_run(const Vells& values, const F& f) const;
  template <class Move>
  void to_all(const Vells& in_slice, Vells& values, const Move& move) const;
  void finish(Evaluation& given, Result& in_slice) const;

  const ChildLayout& layout_;
  Slicing slicing_;
  CellShape cells_;  ///< of the request
  std::int32_t count_ = 0, slice_ = 0;
  std::size_t time_ = 0, channel_ = 0;  ///< of the slice, where it has one
  std::vector<Evaluation*> given_;
  std::vector<PullBack*> given_pulls_;
  Request request_;
  std::map<const void*, Vells> values_;  // by where all of them are
  std::map<const Result*, Result> results_;
  std::deque<NodeInSlice> nodes_;
  std::deque<Evaluation> evaluations_;
  std::deque<Vells> adjoints_;
  std::deque<PullBack> pulls_;
  std::map<Vells*, Vells> gained_;  // by the adjoint that it is for
};

}  // namespace rimetree::psv
