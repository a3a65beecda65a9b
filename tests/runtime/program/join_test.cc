// Sums of many terms, which a few kernels share.
#include "runtime/program/join.h"

#include <gtest/gtest.h>

namespace rimetree::program {
namespace {

/// x0 + x1 + ... from left to right.
std::vector<Operation> sum_of(int n_term) {
  std::vector<Operation> operations(static_cast<std::size_t>(n_term), {.op = Op::load});
  std::int32_t sum = 0;
  for (std::int32_t term = 1; term < n_term; ++term) {
    operations.push_back({.op = Op::add, .operand = {sum, term}});
    sum = static_cast<std::int32_t>(operations.size()) - 1;
  }
  return operations;
}

/// Terms of the sum in the order in which they are added, and how many by each kernel, the last one first.
void read(const std::vector<Operation>& operations, std::int32_t name, std::vector<std::int32_t>& terms,
          std::vector<int>& by_kernel) {
  const Operation& sum = operations[static_cast<std::size_t>(name)];
  if (sum.op == Op::load) return terms.push_back(name);
  by_kernel.push_back(operands_of(sum.op) - 1);
  read(operations, sum.operand[0], terms, by_kernel);
  for (int k = 1; k < operands_of(sum.op); ++k) terms.push_back(sum.operand[k]);
}

TEST(JoinTerms, LongSumsPassThroughAsFewKernelsAsCanBe) {
  for (int n_term = 2; n_term < 40; ++n_term) {
    std::vector<Operation> operations = sum_of(n_term);
    const std::vector<Axes> axes(operations.size(), Axes(1));
    const std::vector<int> uses(operations.size(), 1);
    join_terms(operations, axes, uses);
    std::vector<std::int32_t> terms;
    std::vector<int> by_kernel;
    read(operations, static_cast<std::int32_t>(operations.size()) - 1, terms, by_kernel);
    for (std::int32_t i = 0; i < n_term; ++i) EXPECT_EQ(terms.at(static_cast<std::size_t>(i)), i);
    EXPECT_EQ(by_kernel.size(), static_cast<std::size_t>((n_term - 1 + 3) / 4)) << n_term;
    // None for one or two terms alone, which would read and write the sum again for little.
    for (const int added : by_kernel) EXPECT_GE(added, n_term > 6 ? 3 : 1) << n_term;
  }
}

TEST(JoinTerms, WhatIsReadTwiceOrVariesLessIsMadeOnce) {
  for (const bool twice : {true, false}) {
    std::vector<Operation> operations = sum_of(4);
    std::vector<Axes> axes(operations.size(), Axes{3});
    std::vector<int> uses(operations.size(), 1);
    const std::size_t first = 4;  // x0 + x1
    if (twice)
      uses[first] = 2;
    else
      axes[first] = Axes(1);
    join_terms(operations, axes, uses);
    EXPECT_EQ(operations[first].op, Op::add);
    EXPECT_EQ(operations.back().op, Op::add_three);
    EXPECT_EQ(operations.back().operand[0], static_cast<std::int32_t>(first));
  }
}

}  // namespace
}  // namespace rimetree::program
