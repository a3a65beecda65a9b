// The PSV node in reverse: which of its nodes the adjoint kernel (adjoint.h) takes, and the way for all others.
#pragma once

#include <vector>

#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"

namespace rimetree::psv {

/// Pulls back what the kernels take, slice by slice or with the brightness as a term where they want that: baselines
/// whose (u, v, w) depend on no unknowns. Gives the others. Throws Cancelled.
std::vector<PullBack*> pull_back_groups(BatchContext& context, const ChildLayout& layout,
                                        std::span<PullBack* const> batch, PackedSkies& skies);

/// Any node, by the scalar body (body.h) on traced numbers: one source, time and channel at a time.
void pull_back_general(const ChildLayout& layout, PullBack& pull);

/// See Node::evaluate_moved.
void evaluate_moved(const ChildLayout& layout, const Evaluation& evaluation, long double step, MovedValues& values);

}  // namespace rimetree::psv
