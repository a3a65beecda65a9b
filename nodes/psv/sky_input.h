// The sky of a PSV node as it is packed: for sums, their derivatives and adjoints alike.
#pragma once

#include "nodes/psv/kernel.h"
#include "nodes/psv/operands.h"

namespace rimetree::psv {

/// Views are those of the operands.
inline SkyInput sky_input(const ChildLayout& layout, const SkyOperands<double>& operands, std::size_t n_channel,
                          bool brightness_varies) {
  const Problem<double> views = problem_of(layout, operands, {});
  SkyInput input;
  input.n_source = layout.n_source;
  input.n_channel = static_cast<std::ptrdiff_t>(n_channel);
  input.n_minus = layout.n_minus;
  input.l = views.l, input.m = views.m, input.n = views.n;
  std::copy(views.brightness, views.brightness + 4, input.brightness);
  input.brightness_varies = brightness_varies;
  input.major = views.major, input.minor = views.minor, input.position_angle = views.position_angle;
  input.profile = views.profile;
  input.with_jones = !layout.jones_elements.empty();
  return input;
}

}  // namespace rimetree::psv
