#include "runtime/program/join.h"

#include <algorithm>

namespace rimetree::program {

using Name = std::size_t;

std::size_t operand_of(const std::vector<Operation>& operations, std::size_t name, int k) {
  return resolved_name(operations, static_cast<Name>(operations[name].operand[k]));
}

void join_pairs(std::vector<Operation>& operations, const std::vector<Axes>& axes, const std::vector<int>& uses) {
  for (Name i = 0; i < operations.size(); ++i) {
    Operation& sum = operations[i];
    if (uses[i] == 0 || (sum.op != Op::add && sum.op != Op::subtract)) continue;
    const Name a = operand_of(operations, i, 0), b = operand_of(operations, i, 1);
    const auto joins = [&](Name x) {
      return (operations[x].op == Op::multiply || operations[x].op == Op::weigh) && uses[x] == 1 && axes[x] == axes[i];
    };
    const auto factor = [&](Name x, int k) { return static_cast<std::int32_t>(operand_of(operations, x, k)); };
    const auto other = [](Name x) { return static_cast<std::int32_t>(x); };
    const auto with = [&](Name x, Op plain, Op weighs) { return operations[x].op == Op::weigh ? weighs : plain; };
    const bool adds = sum.op == Op::add, a_joins = joins(a), b_joins = joins(b);
    if (a != b && a_joins && b_joins && operations[a].op == operations[b].op)
      sum = {.op = adds ? with(a, Op::products_sum, Op::weighed_sum)
                        : with(a, Op::products_difference, Op::weighed_difference),
             .operand = {factor(a, 0), factor(a, 1), factor(b, 0), factor(b, 1)}};
    else if (a_joins)
      sum = {.op = adds ? with(a, Op::multiply_add, Op::weigh_add) : with(a, Op::multiply_sub, Op::weigh_sub),
             .operand = {factor(a, 0), factor(a, 1), other(b), -1}};
    else if (b_joins)
      sum = {.op = adds ? with(b, Op::multiply_add, Op::weigh_add) : with(b, Op::negate_add, Op::negate_weigh_add),
             .operand = {factor(b, 0), factor(b, 1), other(a), -1}};
  }
}

void join_pair_products(std::vector<Operation>& operations, const std::vector<Axes>& axes,
                        const std::vector<int>& uses) {
  for (Name i = 0; i < operations.size(); ++i) {
    if (uses[i] == 0 || operations[i].op != Op::add) continue;
    const Name a = operand_of(operations, i, 0), b = operand_of(operations, i, 1);
    const auto joins = [&](Name x) {
      return operations[x].op == Op::pair_product && uses[x] == 1 && axes[x] == axes[i];
    };
    const auto factor = [&](Name x, int k) { return static_cast<std::int32_t>(operand_of(operations, x, k)); };
    if (a != b && joins(a) && joins(b))
      operations[i] = {.op = Op::pair_products_sum,
                       .operand = {factor(a, 0), factor(a, 1), factor(b, 0), factor(b, 1)}};
    else if (const Name x = joins(b) ? b : a; joins(x))
      operations[i] = {.op = Op::add_pair_product,
                       .operand = {factor(x, 0), factor(x, 1), static_cast<std::int32_t>(x == b ? a : b)}};
  }
}

void join_sums(std::vector<Operation>& operations, const std::vector<Axes>& axes, const std::vector<int>& uses) {
  const auto added = [](Op products) {
    switch (products) {
      case Op::products_sum:
        return Op::add_products_sum;
      case Op::products_difference:
        return Op::add_products_difference;
      case Op::weighed_sum:
        return Op::add_weighed_sum;
      case Op::weighed_difference:
        return Op::add_weighed_difference;
      case Op::pair_products_sum:
        return Op::add_pair_products_sum;
      default:
        return Op::add;
    }
  };
  for (Name i = 0; i < operations.size(); ++i) {
    Operation& sum = operations[i];
    if (uses[i] == 0 || sum.op != Op::add) continue;
    for (const int k : {1, 0}) {
      const Name x = operand_of(operations, i, k), other = operand_of(operations, i, 1 - k);
      const Operation& products = operations[x];
      if (added(products.op) == Op::add || uses[x] != 1 || axes[x] != axes[i]) continue;
      sum.op = added(products.op);
      std::copy_n(products.operand, 4, sum.operand);
      sum.operand[4] = static_cast<std::int32_t>(other);
      break;
    }
  }
}

void join_terms(std::vector<Operation>& operations, const std::vector<Axes>& axes, const std::vector<int>& uses) {
  const auto is_addition = [&](Name x) { return uses[x] != 0 && operations[x].op == Op::add; };
  // Whether the left operand of an addition is one itself, and read there only.
  const auto goes_on = [&](Name x) {
    const Name left = operand_of(operations, x, 0);
    return is_addition(left) && uses[left] == 1 && axes[left] == axes[x];
  };
  std::vector<std::size_t> length(operations.size(), 0);  // additions of a sum up to here
  for (Name i = 0; i < operations.size(); ++i)
    if (is_addition(i)) length[i] = 1 + (goes_on(i) ? length[operand_of(operations, i, 0)] : 0);
  std::vector<bool> is_part(operations.size(), false);
  for (Name i = operations.size(); i-- > 0;) {
    if (length[i] < 2 || is_part[i]) continue;
    // Four additions at a time, or three where one or two would be left: what they add to is read and written again.
    const std::size_t rest = length[i] % 4;
    const std::size_t together = length[i] > 4 && (rest == 1 || rest == 2) ? 3 : std::min<std::size_t>(4, length[i]);
    constexpr Op kSums[] = {Op::add_three, Op::add_four, Op::add_five};
    Operation sum{.op = kSums[together - 2]};
    Name last = i;
    for (std::size_t k = together; k > 0; --k) {
      is_part[last] = true;
      sum.operand[k] = static_cast<std::int32_t>(operand_of(operations, last, 1));
      last = operand_of(operations, last, 0);
    }
    sum.operand[0] = static_cast<std::int32_t>(last);
    operations[i] = sum;
  }
}

}  // namespace rimetree::program
