// What sums over sources are over, made here for all that is asked of the nodes of a batch: values, derivatives,
// adjoints, and models that are compared with data.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "nodes/psv/adjoint/jones_targets.h"
#include "nodes/psv/group_rows.h"
#include "nodes/psv/jones_operands.h"
#include "nodes/psv/packed_skies.h"
#include "nodes/psv/summed.h"

namespace rimetree::psv {

/// What is asked of a node: its value, its derivative with respect to an unknown, or in reverse the adjoints of its
/// children. In the brightness and in each Jones term the visibilities are linear, so that their derivative is the same
/// sum with that child's derivative in its place.
struct LinearSum {
  const Evaluation* inputs = nullptr;
  const PullBack* pull = nullptr;          ///< in reverse
  const Derivative* derivative = nullptr;  ///< in place of a child's value; nullptr: the value is meant
  std::size_t slot = 0;                    ///< that child's
  /// With the value, its derivative with respect to this unknown, as far as Jones terms depend on it; nullptr: none.
  const ParameterId* along = nullptr;
  /// In reverse, terms that are conjugate transposes of others may be read and gain where those do: by the matrix
  /// product.
  bool reads_originals = false;

  // Those outside of which what takes a child's place is zero.
  std::ptrdiff_t first_source = 0, n_source = 0;

  /// What the sum sees of a child.
  const Vells& child(std::size_t i) const {
    return derivative != nullptr && i == slot ? derivative->value : inputs->child(i).value;
  }
};
inline LinearSum in_reverse(const ChildLayout& layout, const PullBack& pull) {
  return {.inputs = &pull.inputs, .pull = &pull, .n_source = layout.n_source};
}

/// Sums with equal keys see the same sky and have as many times: they differ in their rows and Jones terms only.
using SkyKey =
    std::tuple<const Result*, const Vells*, const Result*, std::int32_t, bool, std::ptrdiff_t, std::ptrdiff_t>;
SkyKey sky_key(const ChildLayout& layout, const LinearSum& sum);

/// Items with equal keys together, in the order of the first of each.
template <class Items, class KeyOf>
auto groups_by(const Items& items, KeyOf&& key_of) {
  std::map<decltype(key_of(*items.begin())), std::size_t> index;
  std::vector<std::vector<typename Items::value_type>> groups;
  for (const auto& item : items) {
    const auto [group, is_new] = index.try_emplace(key_of(item), groups.size());
    if (is_new) groups.emplace_back();
    groups[group->second].push_back(item);
  }
  return groups;
}

/// Adds the antennas of a PSV node's baseline: stations of the Spigot that gives its UVW, or the two nodes of which
/// they are the difference. `ends` is emptied if a baseline has neither, and stays empty: `first` says that there were
/// none before.
void add_ends(const Forest& forest, const Node& psv, bool first, BaselineEnds& ends);

/// Sums of one sky: sky and channels are those of the first, baselines are added one by one.
class Bundle {
 public:
  Bundle(const BatchContext& context, const ChildLayout& layout, PackedSkies& skies, const LinearSum& first);
  Bundle(const Bundle&) = delete;

  const Sky<double>& sky() const { return packed_->sky; }
  const SkyInput& sky_input() const { return input_; }
  const Channels& channels() const { return channels_; }

  /// The Jones terms and antennas of the next baseline, and in reverse where the terms' adjoints go.
  void add(const LinearSum& sum);
  /// With the rows of the baselines that were added. Valid as long as this and the rows are.
  Summed over(const Rows& rows);
  /// The same; rows come in the order in which methods want them.
  template <class Number>
  Summed over(GroupRows<Number>& rows) {
    const JonesTerms jones = terms();
    // Antennas share their terms at one time.
    if (jones.targets.any() || (matrices_vary(sky(), jones) && jones.varies_in_time)) rows.order_by_time();
    return over(rows.finish(layout_));
  }

  // In reverse.

  adjoint::SourceWish wish() const;
  /// Adds what was found to the adjoints of the children.
  void add_to_children(const adjoint::SourceAdjoints& found) const;

 private:
  JonesTerms terms();

  const Forest* forest_;  // nullptr: nobody wants to know antennas
  const ChildLayout& layout_;
  LinearSum first_;
  SkyOperands<double> operands_;
  Operand<double> tangent_;
  SkyInput input_;
  std::shared_ptr<const PackedSky> packed_;
  Channels channels_;
  JonesOperands jones_operands_, tangents_;
  adjoint::JonesCollector targets_;
  JonesTerms jones_;
  BaselineEnds ends_;
  bool any_ = false;
};

}  // namespace rimetree::psv
