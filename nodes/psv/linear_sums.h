// What the kernels add up: a node's value, or its derivative with respect to an unknown. In the brightness and in each
// Jones term the visibilities are linear, so that their derivative is the same sum with that child's derivative in its
// place; where several of them depend on one unknown (both sides of a baseline on a beam), the sum over these (the
// product rule).
#pragma once

#include <optional>
#include <vector>

#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"
#include "nodes/psv/summed.h"

namespace rimetree::psv {

struct LinearSum {
  Evaluation* evaluation = nullptr;
  const Derivative* derivative = nullptr;  ///< in place of a child's value; nullptr: the value is meant
  std::size_t slot = 0;                    ///< that child's

  // Those outside of which what takes a child's place is zero.
  std::ptrdiff_t first_source = 0, n_source = 0;

  /// What the sum sees of a child.
  const Vells& child(std::size_t i) const {
    return derivative != nullptr && i == slot ? derivative->value : evaluation->child(i).value;
  }
};

/// A node's value and all its derivatives as sums for the kernels. Nothing where they do not take it: the sky varies in
/// time, or something else than brightness and Jones terms depends on unknowns.
std::optional<std::vector<LinearSum>> linear_sums(Evaluation& evaluation);

/// Adds the antennas of a PSV node's baseline: stations of the Spigot that gives its UVW, or the two nodes of which
/// they are the difference. `ends` is emptied if a baseline has neither, and stays empty: `first` says that there were
/// none before.
void add_ends(const Forest& forest, const Node& psv, bool first, BaselineEnds& ends);

/// Groups of sums that differ in their rows and Jones terms only: of the same sources with the same brightness, over
/// those that count, all values or all derivatives.
std::vector<std::vector<LinearSum>> sums_of_one_sky(const ChildLayout& layout, const std::vector<LinearSum>& sums);

/// Evaluates a group and sets the results, values to the request's tolerance, derivatives to the smallest there is.
/// Gives the total flux (Jy). Where there are devices it takes these, and notes how.
double evaluate_group(BatchContext& context, const ChildLayout& layout, std::span<const LinearSum> group,
                      PackedSkies& skies);

}  // namespace rimetree::psv
