// Pairs of operations that one kernel does: products, and the sums that read them.
#pragma once

#include <cstddef>
#include <vector>

#include "runtime/program/program.h"

namespace rimetree::program {

/// A number, through what changes derivatives only.
inline std::size_t resolved_name(const std::vector<Operation>& operations, std::size_t name) {
  for (;;) {
    if (operations[name].op == Op::detach)
      name = static_cast<std::size_t>(operations[name].operand[0]);
    else if (operations[name].op == Op::with_value)
      name = static_cast<std::size_t>(operations[name].operand[1]);
    else
      return name;
  }
}
/// An operand of an operation.
std::size_t operand_of(const std::vector<Operation>& operations, std::size_t name, int k);

/// Products that are read once, where they are added up, go there: plain ones, or such as weigh. By name: the axes
/// along which operations vary, and how often they are read.
void join_pairs(std::vector<Operation>& operations, const std::vector<Axes>& axes, const std::vector<int>& uses);
/// The same for products of complex numbers in pairs.
void join_pair_products(std::vector<Operation>& operations, const std::vector<Axes>& axes,
                        const std::vector<int>& uses);
/// Sums of products that are read once, where they are added to a sum, go there.
void join_sums(std::vector<Operation>& operations, const std::vector<Axes>& axes, const std::vector<int>& uses);
/// Sums of sums, from left to right, by one kernel for up to five terms.
void join_terms(std::vector<Operation>& operations, const std::vector<Axes>& axes, const std::vector<int>& uses);

}  // namespace rimetree::program
