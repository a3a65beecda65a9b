// The sky of a PSV node as it is packed: for sums, their derivatives and adjoints alike.
#pragma once

#include "nodes/psv/kernel.h"
#include "nodes/psv/operands.h"

namespace rimetree::psv {

/// Views are those of the operands.
inline SkyInput sky_input(const ChildLayout& layout, const SkyOperands<double>& operands, std::size_t n_channel,
                          bool brightness_varies) {
  SkyInput input{sky_views(layout, operands, n_channel)};
  input.brightness_varies = brightness_varies;
  input.with_jones = !layout.jones_elements.empty();
  return input;
}

}  // namespace rimetree::psv
