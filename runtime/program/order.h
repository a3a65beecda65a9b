// In which order a program does the operations of one tier.
#pragma once

#include <vector>

#include "runtime/program/program.h"

namespace rimetree::program {

/// One after the other as they were recorded, but each that has all of its operands by then follows at once, so that
/// few numbers wait (the terms of a sum, say). By name: the axes along which operations vary, and how often they are
/// read.
std::vector<std::size_t> order_of_tier(const std::vector<Operation>& operations, const std::vector<Axes>& axes,
                                       const std::vector<int>& uses, Axes tier);

}  // namespace rimetree::program
