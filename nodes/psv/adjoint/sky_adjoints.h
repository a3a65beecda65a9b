// The children of a PSV node that make its sky, in reverse: the sky as the adjoint kernels read it, and what they give
// back as adjoints of the children.
#pragma once

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/operands.h"

namespace rimetree::psv::adjoint {

/// Whether the adjoint kernels, of the host and of devices, take a node: its sky does not vary in time, directions and
/// shapes not along channels, and (u, v, w) depend on no unknowns.
bool has_kernel(const PullBack& pull);

/// Which children's adjoints are asked for.
SourceWish wish_of(const PullBack& pull);

/// Adds what a kernel found to them.
void add_to_children(const ChildLayout& layout, const Sky<double>& sky, const SourceAdjoints& found,
                     const PullBack& pull);

}  // namespace rimetree::psv::adjoint
