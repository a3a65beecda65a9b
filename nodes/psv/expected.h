// What would be done with a batch of PSV nodes, before there are data.
#pragma once

#include "nodes/psv/operands.h"
#include "runtime/core/node/capabilities.h"

namespace rimetree::psv {

/// The method that is expected and why, with an estimate of its time on one core.
Description expected(const ChildLayout& layout, const ExpectedBatch& batch);

}  // namespace rimetree::psv
