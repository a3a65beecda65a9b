// What no kernel of PSV takes, on devices: skies that vary in time, directions or shapes that vary along channels or
// depend on unknowns, several Jones terms that depend on one unknown. One thread computes one visibility, or one
// derivative of it, by the scalar body that the host runs, from the children's values where they are; results stay on
// the device.
#pragma once

#include <string>
#include <vector>

#include "nodes/psv/operands.h"
#include "runtime/device/device_path.h"

namespace rimetree::psv::general {

/// In words, what keeps nodes from the kernels for skies that are constant; empty: nothing. `children`: the cells on
/// which each child varies, by slot; extent 1 where it does not, or is absent.
std::string obstacle_to_kernels(std::span<const CellShape> children);
/// The same of a node with its children's values; derivatives count too.
std::string obstacle_to_kernels(const Evaluation& evaluation);

/// Evaluates nodes of one class and state on the devices of the context, dealt out to all of them, and notes so and
/// why. Gives those that the host has to do: all where there are no devices, or those that find no room there.
std::vector<Evaluation*> evaluate_on_devices(BatchContext& context, const ChildLayout& layout,
                                             std::span<Evaluation* const> batch);

}  // namespace rimetree::psv::general
