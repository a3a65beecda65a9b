// A node's value and its derivatives as sums for the kernels. Where several children depend on one unknown (both sides
// of a baseline on a beam), the derivative is the sum over these (the product rule).
#pragma once

#include <optional>
#include <vector>

#include "nodes/psv/bundle.h"

namespace rimetree::psv {

/// A sum of a node, and what takes its outcome.
struct ForwardSum : LinearSum {
  Evaluation* evaluation = nullptr;
};

/// A node's value and all its derivatives as sums for the kernels. Nothing where they do not take it: the sky varies in
/// time, or something else than brightness and Jones terms depends on unknowns.
std::optional<std::vector<ForwardSum>> linear_sums(Evaluation& evaluation);

/// Groups of sums that differ in their rows and Jones terms only: of the same sources with the same brightness, over
/// those that count, all values or all derivatives.
std::vector<std::vector<ForwardSum>> sums_of_one_sky(const ChildLayout& layout, std::vector<ForwardSum> sums);

/// Evaluates a group and sets the results, values to the request's tolerance, derivatives to the smallest there is.
/// Gives the total flux (Jy). Where there are devices it takes these, and notes how.
double evaluate_group(BatchContext& context, const ChildLayout& layout, std::span<const ForwardSum> group,
                      PackedSkies& skies);

}  // namespace rimetree::psv
