// The elementary operations on rows of numbers. One file of kernels serves all instruction sets; a number depends on
// its operands only, neither on its place nor on the length of the row.
#pragma once

#include <cstddef>

#include "runtime/program/op.h"

namespace rimetree::program {

/// Rows are handled so many numbers at a time: their memory is a multiple of this and beyond their end there are
/// numbers that do no harm.
inline constexpr std::size_t kStep = 8;

/// The length of the memory for n numbers.
constexpr std::size_t padded(std::size_t n) { return (n + kStep - 1) / kStep * kStep; }

/// A row of numbers, or one that is repeated: kStep times the same.
struct Row {
  double* numbers = nullptr;
  std::size_t varies = 0;  ///< all bits set, or none if it is one number
};

/// out = op(in...) for n numbers, n a multiple of kStep. `out` may be one of the operands.
struct Call {
  double* out[2];
  Row in[kMostOperands];
};
using Kernel = void (*)(const Call& call, std::size_t n);

/// The kernel of an operation, for this machine; nullptr for what no kernel does (loads and constants).
Kernel kernel_of(Op op);

/// Sums to each of which products of the same two rows x, y with numbers are added: sum + (a x + b y), each product
/// rounded, as `add_products_sum` does it for one.
struct SharedProducts {
  static constexpr int kMost = 8;
  const double *x = nullptr, *y = nullptr;
  int n_sum = 0;
  double* sum[kMost] = {};
  double a[kMost] = {}, b[kMost] = {};
};
void add_shared_products(const SharedProducts& products, std::size_t n);

/// out = c in pairs: takes the real and imaginary parts of n complex numbers (re, im, re, im, ...) apart.
void split_complex(const double* pairs, double* re, double* im, std::size_t n);
/// The reverse.
void join_complex(const double* re, const double* im, double* pairs, std::size_t n);

/// n times the same number.
void fill_numbers(double number, double* to, std::size_t n);
/// to += numbers.
void add_numbers(const double* numbers, double* to, std::size_t n);
/// The same for pairs.
void add_complex(const double* re, const double* im, double* pairs, std::size_t n);
/// The sum of n numbers, in an order that is the same for all instruction sets.
double sum_numbers(const double* numbers, std::size_t n);

/// One operation on single numbers, by the same kernels.
double apply(Op op, double a, double b = 0, double c = 0);

}  // namespace rimetree::program
