// Complex numbers as they are in memory, in pairs: sums, differences, products, what is scaled by real numbers. Such a
// program takes twice as many real numbers, reads them where they lie, and does with every one what it does with its
// neighbour, but for products.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/program/program.h"

namespace rimetree::program {

/// Operations that only programs of pairs have.
constexpr bool is_of_pairs(Op op) {
  return op == Op::pair_product || op == Op::add_pair_product || op == Op::pair_products_sum ||
         op == Op::add_pair_products_sum;
}

/// Of a program with these outputs, one that takes pairs as cells along the innermost axis, which is then twice as
/// long; nothing where the real and the imaginary part of some output are not made in these ways. Arguments as of
/// Program.
std::optional<Program> program_of_pairs(const Recording& recording, std::span<const Output> outputs,
                                        std::span<const Axes> inputs, Axes coordinates, Axes cells);

/// Whether a program of pairs can take these arrays: complex numbers side by side along the innermost axis, or inputs
/// that do not vary along it.
bool are_pairs(const Data& data, int inner);
/// The same memory as real numbers, twice as many along the innermost axis.
std::vector<Array> as_pairs(std::span<const Array> arrays, int inner);

}  // namespace rimetree::program
