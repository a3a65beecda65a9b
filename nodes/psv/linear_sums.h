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

/// Unknowns on which Jones terms of most sources depend for each of some nodes whose values are asked for: by the
/// matrix product on the host, derivatives with respect to these take one pass, with the values or by themselves.
std::vector<ParameterId> shared_unknowns(const BatchContext& context, const ChildLayout& layout,
                                         std::span<const ForwardSum> values);

struct GroupDone {
  double total_flux = 0;     ///< Jy
  bool with_slopes = false;  ///< see below
};
/// Evaluates a group and sets the results, values to the request's tolerance, derivatives to the smallest there is.
/// Where there are devices it takes these, and notes how. Values may be asked for with what Jones terms add to their
/// derivatives `along` an unknown.
GroupDone evaluate_group(BatchContext& context, const ChildLayout& layout, std::span<const ForwardSum> group,
                         PackedSkies& skies, const ParameterId* along = nullptr);
/// The latter by itself, for nodes whose values are asked for as well. Gives whether it was made.
bool evaluate_slopes(BatchContext& context, const ChildLayout& layout, std::span<const ForwardSum> values,
                     const ParameterId& unknown, PackedSkies& skies);

}  // namespace rimetree::psv
