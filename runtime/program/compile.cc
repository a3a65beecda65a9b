// What a recording needs to know of itself before operations become instructions: axes, uses, order.
#include <algorithm>
#include <bit>

#include "runtime/program/compiler.h"
#include "runtime/program/order.h"
#include "runtime/program/pairs.h"

namespace rimetree::program {

Axes axes_of(const CellShape& cells) {
  Axes axes = 0;
  for (int axis = 0; axis < kAxes; ++axis)
    if (cells.extent[axis] != 1) axes = static_cast<Axes>(axes | bit_of(static_cast<Axis>(axis)));
  return axes;
}

int innermost(Axes axes) {
  for (int axis = kAxes; axis-- > 0;)
    if (axes & bit_of(static_cast<Axis>(axis))) return axis;
  return -1;
}

std::size_t Program::n_instruction() const {
  std::size_t n = 0;
  for (const Tier& tier : tiers_) n += tier.instructions.size();
  return n;
}

void Compiler::compile() {
  find_axes();
  // What is added up over items may go to numbers that do not vary along them.
  for (const Output& output : outputs_)
    for (const std::int32_t name : {output.re, output.im})
      if (name >= 0) all_ |= axes_[resolved(static_cast<Name>(name))] & kItems;
  find_uses();
  join_pair_products(operations_, axes_, uses_);
  find_uses();
  join_pairs(operations_, axes_, uses_);
  find_uses();
  join_sums(operations_, axes_, uses_);
  find_uses();
  join_terms(operations_, axes_, uses_);
  find_uses();
  for (std::size_t i = 0; i < operations_.size(); ++i)
    if (uses_[i] > 0 && !is_leaf(i)) tiers_.emplace(axes_[i], 0);
  tiers_.emplace(all_, 0);
  tiers_.emplace(0, 0);
  std::vector<Axes> order;
  for (const auto& tier : tiers_) order.push_back(tier.first);
  std::sort(order.begin(), order.end(),
            [](Axes a, Axes b) { return std::pair(std::popcount(a), a) < std::pair(std::popcount(b), b); });
  for (Name i = 0; i < operations_.size(); ++i)
    if (uses_[i] > 0 && operations_[i].op == Op::load) twin_[key_of(operations_[i].from())] = i;
  find_partners();
  row_.assign(operations_.size(), -1);
  global_.assign(operations_.size(), -1);
  pinned_.assign(operations_.size(), false);
  for (const Axes tier : order) find_globals(tier);
  for (const Axes tier : order) emit_tier(tier);
  // Locals were counted from 0; their rows come after the constants.
  for (Program::Tier& tier : program_.tiers_) name_rows(tier.instructions);
  for (auto* instructions : {&program_.once_, &program_.begin_sums_, &program_.end_sums_}) name_rows(*instructions);
  program_.sums_ = sums_;
  program_.n_constant_ = n_constant_;
  program_.n_local_ = n_local_;
  program_.streams_ = !sums_ && streams();
}

bool Compiler::streams() const {
  // Of the tiers of all cells, the last one may only hand to each item what another one has computed.
  for (auto tier = program_.tiers_.rbegin(); tier != program_.tiers_.rend(); ++tier) {
    if (((tier->axes ^ all_) & ~kItems) != 0) continue;
    const auto computes = std::count_if(tier->instructions.begin(), tier->instructions.end(), [](const auto& one) {
      return one.what == What::compute || one.what == What::look_up;
    });
    if (computes > 0) return 2 * static_cast<std::size_t>(computes) <= tier->instructions.size();
  }
  return true;
}

void Compiler::add_to_running_sums() {
  std::int32_t part = 0;
  for (Output& output : outputs_)
    for (std::int32_t* name : {&output.re, &output.im}) {
      if (*name < 0) continue;
      const auto sum = static_cast<std::int32_t>(operations_.size());
      operations_.push_back({.op = Op::load, .operand = {kRunningSum, part++, 0, 0}});
      operations_.push_back({.op = Op::add, .operand = {sum, *name}});
      *name = sum + 1;
    }
}

void Compiler::name_rows(std::vector<Program::Instruction>& instructions) const {
  for (Program::Instruction& instruction : instructions) {
    for (std::int32_t& row : instruction.in) row = final_row(row);
    for (std::int32_t& row : instruction.out) row = final_row(row);
  }
}

void Compiler::find_axes() {
  axes_.assign(operations_.size(), 0);
  if (of_one_cell_) return;
  for (Name i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    if (is_running_sum(i)) {
      axes_[i] = all_;
    } else if (operation.op == Op::load) {
      axes_[i] = inputs_[static_cast<std::size_t>(operation.from().input)];
      if (operation.from().item_stride != 0) axes_[i] |= kItems;
    } else if (operation.op == Op::look_up) {
      axes_[i] = inputs_[static_cast<std::size_t>(operation.looked_up().input)];
    } else if (operation.op == Op::coordinate) {
      const bool time = operation.coordinate <= Coordinate::time_width_s;
      axes_[i] = static_cast<Axes>(coordinates_ & bit_of(time ? Axis::time : Axis::frequency));
      if (operation.coordinate == Coordinate::time_width_s && (coordinates_ & kEqualTimeWidths)) axes_[i] = 0;
      if (operation.coordinate == Coordinate::frequency_width_hz && (coordinates_ & kEqualFrequencyWidths))
        axes_[i] = 0;
    }
    for (int k = 0; k < operands_of(operation.op); ++k) axes_[i] |= axes_[operand(i, k)];
  }
}

void Compiler::find_uses() {
  uses_.assign(operations_.size(), 0);
  for (const Output& output : outputs_)
    for (const std::int32_t name : {output.re, output.im})
      if (name >= 0) ++uses_[resolved(static_cast<Name>(name))];
  for (Name i = operations_.size(); i-- > 0;)
    if (uses_[i] > 0)
      for (int k = 0; k < operands_of(operations_[i].op); ++k) ++uses_[operand(i, k)];
}

void Compiler::find_globals(Axes tier) {
  if (tier == 0) return;
  const auto leave = [&](Name i) {
    if (axes_[i] != tier || is_leaf(i) || global_[i] >= 0) return;
    global_[i] = static_cast<std::int32_t>(program_.global_axes_.size());
    program_.global_axes_.push_back(tier);
  };
  for (Name i = 0; i < operations_.size(); ++i)
    if (uses_[i] > 0)
      for (int k = 0; k < operands_of(operations_[i].op); ++k)
        if (axes_[i] != tier) leave(operand(i, k));
  if (tier == all_) return;
  for (const Output& output : outputs_)
    for (const std::int32_t name : {output.re, output.im})
      if (name >= 0) leave(resolved(static_cast<Name>(name)));
}

std::vector<std::size_t> Compiler::schedule(Axes tier) {
  const std::vector<Name> order = order_of_tier(operations_, axes_, uses_, tier);
  last_.assign(operations_.size(), 0);
  for (std::size_t at = 0; at < order.size(); ++at)
    for (int k = 0; k < operands_of(operations_[order[at]].op); ++k) last_[operand(order[at], k)] = 2 * at + 1;
  if (tier != all_) return order;
  std::vector<std::size_t> made(operations_.size(), 0);
  for (std::size_t at = 0; at < order.size(); ++at) made[order[at]] = at + 1;
  ready_.assign(order.size() + 1, {});
  for (std::size_t number = 0; number < outputs_.size(); ++number) {
    std::size_t ready = 0;
    for (const std::int32_t name : {outputs_[number].re, outputs_[number].im})
      if (name >= 0) ready = std::max(ready, made[resolved(static_cast<Name>(name))]);
    ready_[ready].push_back(number);
    for (const std::int32_t name : {outputs_[number].re, outputs_[number].im})
      if (name >= 0)
        last_[resolved(static_cast<Name>(name))] = std::max(last_[resolved(static_cast<Name>(name))], 2 * ready);
  }
  return order;
}

void Compiler::find_partners() {
  partner_.assign(operations_.size(), kNone);
  std::map<std::array<std::int32_t, 4>, std::array<Name, 2>> pairs;  // by what they are made of
  for (Name i = 0; i < operations_.size(); ++i) {
    const Operation& operation = operations_[i];
    const bool is_looked_up = operation.op == Op::look_up;
    if (uses_[i] == 0 || (!is_looked_up && operation.op != Op::sin && operation.op != Op::cos)) continue;
    const LookUp from = is_looked_up ? operation.looked_up() : LookUp{.input = -1};
    const bool is_second = is_looked_up ? from.imaginary : operation.op == Op::cos;
    const auto key = std::array{static_cast<std::int32_t>(operand(i, 0)), from.input, from.element, from.stride};
    std::array<Name, 2>& pair = pairs.try_emplace(key, std::array{kNone, kNone}).first->second;
    pair[is_second ? 1 : 0] = i;
    for (const int k : {0, 1})
      if (pair[0] != kNone && pair[1] != kNone) partner_[pair[k]] = pair[1 - k];
  }
}

void Compiler::find_read_above() {
  read_above_.assign(operations_.size(), false);
  for (Name i = 0; i < operations_.size(); ++i)
    if (uses_[i] > 0 && axes_[i] != 0)
      for (int k = 0; k < operands_of(operations_[i].op); ++k)
        if (axes_[operand(i, k)] == 0) read_above_[operand(i, k)] = true;
  for (const Output& output : outputs_)
    for (const std::int32_t name : {output.re, output.im})
      if (name >= 0 && axes_[resolved(static_cast<Name>(name))] == 0)
        read_above_[resolved(static_cast<Name>(name))] = true;
}

std::size_t Compiler::running_sum_of(Name i) const {
  if (!sums_) return kNone;
  for (int k = 0; k < operands_of(operations_[i].op); ++k)
    if (is_running_sum(operand(i, k))) return operand(i, k);
  return kNone;
}

Program::Program(const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs,
                 Axes coordinates, Axes cells, Pairs pairs)
    : inner_(innermost(cells)) {
  Compiler(*this, recording, outputs, inputs, coordinates, cells, Items::apart).compile();
  if (pairs == Pairs::never) return;
  if (auto made = program_of_pairs(recording, outputs, inputs, coordinates, cells))
    pairs_ = std::make_shared<const Program>(std::move(*made));
}

Program::Program(Items items, const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs,
                 Axes coordinates, Axes cells)
    : inner_(innermost(cells)) {
  Compiler(*this, recording, outputs, inputs, coordinates, cells, items).compile();
}

Program::Program(const Recording& recording, std::span<const Output> outputs, OfOneCell one) {
  Compiler(*this, recording, outputs, one).compile();
}

}  // namespace rimetree::program
