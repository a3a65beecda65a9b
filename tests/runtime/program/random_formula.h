// Random formulae: written down by a recording, and evaluated number by number as they stand.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include "runtime/program/kernels.h"
#include "runtime/program/recording.h"

namespace rimetree::program::test {

/// What is no number is so in both.
inline bool same_bits(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) || std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b);
}

/// One step: an operation on earlier steps, or one of the first numbers, which are given.
struct Step {
  Op op;
  std::size_t operand[3];
};

struct Formula {
  std::size_t n_given;
  std::vector<double> constants;  ///< numbers after the given ones
  std::vector<Step> steps;

  Formula(std::size_t given, std::size_t count, std::mt19937_64& random, bool smooth = false) : n_given(given) {
    constants = {0.0, -0.0, 1.0, -1.0, 0.75};
    const std::vector<Op> all{Op::negate,   Op::absolute, Op::sin,           Op::cos,    Op::exp,      Op::sqrt,
                              Op::round,    Op::add,      Op::add,           Op::add,    Op::subtract, Op::subtract,
                              Op::multiply, Op::multiply, Op::multiply,      Op::divide, Op::hypot,    Op::less,
                              Op::equal,    Op::select,   Op::product_error, Op::weigh,  Op::atan2,    Op::sinc};
    const std::vector<Op> differentiable{Op::negate,   Op::sin,    Op::cos,   Op::add,   Op::add,  Op::subtract,
                                         Op::multiply, Op::divide, Op::hypot, Op::atan2, Op::atan, Op::tanh};
    const std::vector<Op>& ops = smooth ? differentiable : all;
    for (std::size_t i = 0; i < count; ++i) {
      Step step{ops[random() % ops.size()], {}};
      for (std::size_t& operand : step.operand) operand = random() % (n_given + constants.size() + i);
      steps.push_back(step);
    }
  }
  std::size_t size() const { return n_given + constants.size() + steps.size(); }

  std::vector<double> evaluate(const std::vector<double>& given) const {
    std::vector<double> value = given;
    value.insert(value.end(), constants.begin(), constants.end());
    for (const Step& step : steps)
      value.push_back(apply(step.op, value[step.operand[0]], value[step.operand[1]], value[step.operand[2]]));
    return value;
  }
  /// Names of all numbers, in a recording that has those of the given ones.
  std::vector<std::int32_t> record(Recording& recording, std::vector<std::int32_t> names) const {
    for (const double number : constants) names.push_back(recording.constant(number));
    for (const Step& step : steps) {
      const int n = operands_of(step.op);
      names.push_back(recording.make(step.op, names[step.operand[0]], n > 1 ? names[step.operand[1]] : -1,
                                     n > 2 ? names[step.operand[2]] : -1));
    }
    return names;
  }
};

}  // namespace rimetree::program::test
