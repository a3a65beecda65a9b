// Reductions on a GPU. Whoever includes this before files of their classes and compiles them by nvcc brings launchers
// for their bodies instead of the classes themselves; the build does so for nodes/*.cu.
#pragma once

#include "runtime/cell/cell_reduction.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/device/cuda_cells.h"

namespace rimetree {

/// Brings launchers of all kernels of a class.
template <class Class>
bool bring_launchers() {
  Class::for_each_kernel([]<class N, bool kDerivatives>(typename Class::template Choice<N, kDerivatives>) {
    bring_launcher(&launch_cells<ReductionProgram<typename Class::Reduced, N, kDerivatives>>);
  });
  return true;
}

}  // namespace rimetree

#undef RIMETREE_REGISTER_NODE
#define RIMETREE_REGISTER_NODE(Class) \
  [[maybe_unused]] static const bool rimetree_registered_##Class = ::rimetree::bring_launchers<Class>()
