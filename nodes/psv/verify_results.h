// What Request::verify asks of PSV nodes.
#pragma once

#include "nodes/psv/operands.h"
#include "runtime/core/node/batch_kernel.h"

namespace rimetree::psv {

/// Computes some of the visibilities just made again, in extended precision. `total_flux`: what errors are measured in;
/// 0: that of each visibility. The choice depends on the request alone.
void verify_results(BatchContext& context, const ChildLayout& layout, std::span<Evaluation* const> done,
                    const SkyOperands<double>* shared, double total_flux);

}  // namespace rimetree::psv
