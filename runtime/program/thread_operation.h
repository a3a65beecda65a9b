// A program as a thread of a device runs it: for one cell, one operation after the other, on numbers in registers of
// its own. Where operands vary makes no difference here: a thread does all of it. What comes out are, but for functions
// such as sine and power, which a GPU has its own of, the bits that Program gives on the host. For host and device.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "runtime/math/conventions.h"
#include "runtime/math/host_device.h"
#include "runtime/program/kernels.h"

namespace rimetree::program {

/// One operation, small enough for many of them to go along with a launch.
struct ThreadOperation {
  static constexpr std::uint8_t kStore = kOps;      ///< besides those of Op
  static constexpr std::uint16_t kNumber = 0x8000;  ///< operands from here on are constants, others registers
  static constexpr std::uint16_t kNone = 0xffff;
  enum Part : std::uint8_t { real, imaginary, both };

  std::uint8_t op = 0;  ///< an Op, or kStore
  Part part = real;     ///< of loads
  /// Registers of the outcomes. Of stores: the element that is written, of entry 0 of a stack, as a number of 32 bits.
  std::uint16_t out[2] = {kNone, kNone};
  /// Operands. Of coordinates: which. Of loads: which input, the element of entry 0, and elements to the next entry; of
  /// stores: the parts, and elements to the next entry. Of look-ups: which input, the element of the table's entry 0,
  /// the operand, and elements to the table's next entry.
  std::uint16_t in[kMostOperands] = {kNone, kNone, kNone, kNone, kNone};

  RT_HD std::uint32_t element() const {
    return op == static_cast<std::uint8_t>(Op::look_up) ? in[1] : wide(op == kStore ? out : in + 1);
  }
  RT_HD std::uint32_t stride() const { return wide(op == kStore ? in + 2 : in + 3); }
  static void set_wide(std::uint16_t* halves, std::uint32_t number) {
    halves[0] = static_cast<std::uint16_t>(number);
    halves[1] = static_cast<std::uint16_t>(number >> 16);
  }

 private:
  RT_HD static std::uint32_t wide(const std::uint16_t* halves) { return halves[0] | std::uint32_t{halves[1]} << 16; }
};
static_assert(sizeof(ThreadOperation) == 16);

namespace thread_detail {

// Each rounded by itself: what a compiler for GPUs joins would differ from the host.
RT_HD inline double product(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  return a * b;
#endif
}
RT_HD inline double weighed(double a, double b) { return a == 0 ? 0 : product(a, b); }

#ifdef __CUDA_ARCH__
#define RT_THREAD_FUNCTION(name, on_gpu) \
  case Op::name:                         \
    return on_gpu
#else  // the kernel of the host, which has one of its own
#define RT_THREAD_FUNCTION(name, on_gpu) \
  case Op::name:                         \
    return apply(Op::name, a, b)
#endif
/// Of one operand or two.
RT_HD inline double of_few(Op op, double a, [[maybe_unused]] double b) {
  switch (op) {
    case Op::negate:
      return -a;
    case Op::absolute:
      return ::fabs(a);
    case Op::sqrt:
      return ::sqrt(a);
    case Op::round:
      return ::rint(a);
    case Op::add:
      return a + b;
    case Op::subtract:
      return a - b;
    case Op::multiply:
      return product(a, b);
    case Op::divide:
      return a / b;
    case Op::less:
      return a < b ? 1 : 0;
    case Op::less_equal:
      return a <= b ? 1 : 0;
    case Op::equal:
      return a == b ? 1 : 0;
    case Op::weigh:
      return weighed(a, b);
    case Op::with_value:
      return b;
      RT_THREAD_FUNCTION(sin, ::sin(a));
      RT_THREAD_FUNCTION(cos, ::cos(a));
      RT_THREAD_FUNCTION(exp, ::exp(a));
      RT_THREAD_FUNCTION(log, ::log(a));
      RT_THREAD_FUNCTION(tan, ::tan(a));
      RT_THREAD_FUNCTION(asin, ::asin(a));
      RT_THREAD_FUNCTION(acos, ::acos(a));
      RT_THREAD_FUNCTION(atan, ::atan(a));
      RT_THREAD_FUNCTION(sinh, ::sinh(a));
      RT_THREAD_FUNCTION(cosh, ::cosh(a));
      RT_THREAD_FUNCTION(tanh, ::tanh(a));
      RT_THREAD_FUNCTION(log1p, ::log1p(a));
      RT_THREAD_FUNCTION(sinc, rimetree::sinc(a));
      RT_THREAD_FUNCTION(product_error, ::fma(a, b, -product(a, b)));
      RT_THREAD_FUNCTION(hypot, ::hypot(a, b));
      RT_THREAD_FUNCTION(atan2, ::atan2(a, b));
      RT_THREAD_FUNCTION(pow, ::pow(a, b));
    default:  // detach
      return a;
  }
}
#undef RT_THREAD_FUNCTION

/// Of three.
RT_HD inline double of_three(Op op, double a, double b, double c) {
  switch (op) {
    case Op::select:
      return a == 0 ? c : b;
    case Op::multiply_add:
      return product(a, b) + c;
    case Op::multiply_sub:
      return product(a, b) - c;
    case Op::negate_add:
      return c - product(a, b);
    case Op::weigh_add:
      return weighed(a, b) + c;
    case Op::weigh_sub:
      return weighed(a, b) - c;
    case Op::negate_weigh_add:
      return c - weighed(a, b);
    default:  // add_three
      return a + b + c;
  }
}

/// Of four or five.
RT_HD inline double of_many(Op op, double a, double b, double c, double d, double e) {
  switch (op) {
    case Op::products_sum:
      return product(a, b) + product(c, d);
    case Op::products_difference:
      return product(a, b) - product(c, d);
    case Op::weighed_sum:
      return weighed(a, b) + weighed(c, d);
    case Op::weighed_difference:
      return weighed(a, b) - weighed(c, d);
    case Op::add_four:
      return a + b + c + d;
    case Op::add_products_sum:
      return e + (product(a, b) + product(c, d));
    case Op::add_products_difference:
      return e + (product(a, b) - product(c, d));
    case Op::add_weighed_sum:
      return e + (weighed(a, b) + weighed(c, d));
    case Op::add_weighed_difference:
      return e + (weighed(a, b) - weighed(c, d));
    default:  // add_five
      return a + b + c + d + e;
  }
}

RT_HD inline void sine_and_cosine(double angle, double* sine, double* cosine) {
#ifdef __CUDA_ARCH__
  ::sincos(angle, sine, cosine);
#else
  *sine = apply(Op::sin, angle);
  *cosine = apply(Op::cos, angle);
#endif
}

}  // namespace thread_detail

/// Runs `count` operations with their constants. `memory` has
///   double coordinate(i)                                    where the cell is
///   void load(operation, double* re, double* im)            into those that are not nullptr
///   void look_up(operation, entry, double* re, double* im)  the same of an entry of a table
///   void store(operation, double re, double im)             the latter of complex results
template <int kRegisters, class Memory>
RT_HD void run_thread(const ThreadOperation* operations, int count, const double* numbers, const Memory& memory) {
  using namespace thread_detail;
  constexpr auto kNone = ThreadOperation::kNone;
  double registers[kRegisters];
  for (int i = 0; i < count; ++i) {
    const ThreadOperation& operation = operations[i];
    const auto in = [&](int k) {
      const std::uint16_t at = operation.in[k];
      return at < ThreadOperation::kNumber ? registers[at] : numbers[at - ThreadOperation::kNumber];
    };
    const auto place = [&](int k) { return operation.out[k] == kNone ? nullptr : registers + operation.out[k]; };
    if (operation.op == ThreadOperation::kStore) {
      memory.store(operation, in(0), operation.in[1] == kNone ? 0 : in(1));
      continue;
    }
    const auto op = static_cast<Op>(operation.op);
    if (op == Op::load) {
      memory.load(operation, place(0), place(1));
      continue;
    }
    if (op == Op::look_up) {
      memory.look_up(operation, static_cast<std::size_t>(in(2)), place(0), place(1));
      continue;
    }
    if (op == Op::sin_cos) {
      sine_and_cosine(in(0), place(0), place(1));
      continue;
    }
    double& out = registers[operation.out[0]];
    const int n = operands_of(op);
    if (n == 0)
      out = memory.coordinate(operation.in[0]);
    else if (n <= 2)
      out = of_few(op, in(0), n == 1 ? 0 : in(1));
    else if (n == 3)
      out = of_three(op, in(0), in(1), in(2));
    else
      out = of_many(op, in(0), in(1), in(2), in(3), n == 4 ? 0 : in(4));
  }
}

}  // namespace rimetree::program
