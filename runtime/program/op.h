// The elementary operations that programs consist of, on real numbers of double precision. What is complex is two of
// them. Conditions are numbers, too: 1 where they hold, 0 where they do not.
#pragma once

#include <cstdint>

#include "runtime/math/host_device.h"

namespace rimetree::program {

enum class Op : std::uint8_t {
  // Without operands.
  constant,
  load,        ///< a number of a child on the cell
  coordinate,  ///< where the cell is
  // Of one operand.
  negate,
  absolute,
  sqrt,
  sin,
  cos,
  exp,
  log,
  round,  ///< to the nearest integer, halves to even
  tan,
  asin,
  acos,
  atan,
  sinh,
  cosh,
  tanh,
  log1p,
  sinc,     ///< sin(x)/x, and 1 at 0, as runtime/math/conventions.h has it
  look_up,  ///< a number of the entry of a table that the operand says
  detach,   ///< the operand, as a constant: nothing is derived through it
  // Of two.
  add,
  subtract,
  multiply,
  divide,
  product_error,  ///< a b less its rounded value, exactly (barring underflow, and overflow beyond 1e300)
  hypot,
  atan2,
  pow,
  less,
  less_equal,
  equal,
  weigh,         ///< a b, and 0 where a is 0, whatever b is: what does not matter does not spoil
  pair_product,  ///< of complex numbers, each a pair of neighbours in its row (pairs.h)
  with_value,    ///< the second, with the derivative of the first
  // Of three.
  select,        ///< the second where the first holds, else the third
  multiply_add,  ///< a b + c, rounded twice
  multiply_sub,  ///< a b - c, rounded twice
  negate_add,    ///< c - a b, rounded twice
  weigh_add,     ///< the same three with weigh for the product
  weigh_sub,
  negate_weigh_add,
  add_pair_product,  ///< c + a b of such pairs
  add_three,         ///< (a + b) + c
  // Of four, as if made of those above: complex products.
  products_sum,         ///< a b + c d, each product rounded
  products_difference,  ///< a b - c d, each product rounded
  weighed_sum,          ///< the same two with weigh for the products
  weighed_difference,
  pair_products_sum,  ///< a b + c d of such pairs
  add_four,           ///< ((a + b) + c) + d
  // Of five: those added to a sum.
  add_products_sum,         ///< e + (a b + c d)
  add_products_difference,  ///< e + (a b - c d)
  add_weighed_sum,
  add_weighed_difference,
  add_pair_products_sum,
  add_five,  ///< (((a + b) + c) + d) + e
  // Of one, with two outcomes.
  sin_cos,
};
inline constexpr int kOps = static_cast<int>(Op::sin_cos) + 1;

RT_HD constexpr int operands_of(Op op) {
  if (op <= Op::coordinate) return 0;
  if (op <= Op::detach || op == Op::sin_cos) return 1;
  if (op <= Op::with_value) return 2;
  if (op <= Op::add_three) return 3;
  return op <= Op::add_four ? 4 : 5;
}

inline constexpr int kMostOperands = 5;

/// What a coordinate is of: centres and widths of the cells.
enum class Coordinate : std::uint8_t { time_s, time_width_s, frequency_hz, frequency_width_hz };

}  // namespace rimetree::program
