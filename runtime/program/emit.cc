// What a tier's operations become: instructions, and rows for what they give.
#include "runtime/program/compiler.h"

namespace rimetree::program {

std::int32_t Compiler::place(Program::Place where) {
  program_.places_.push_back(where);
  return static_cast<std::int32_t>(program_.places_.size()) - 1;
}

std::int32_t Compiler::new_row(Axes tier) {
  auto& free = tier == 0 ? free_constants_ : free_locals_;
  if (!free.empty()) {
    const std::int32_t row = free.back();
    free.pop_back();
    return row;
  }
  return tier == 0 ? n_constant_++ : kFirstLocal + n_local_++;
}

std::int32_t Compiler::need(Name i, Program::Tier& tier) {
  if (row_[i] >= 0) return row_[i];
  const Operation& operation = operations_[i];
  Program::Instruction made;
  if (operation.op == Op::constant) {
    row_[i] = n_constant_++;
    program_.numbers_.emplace_back(row_[i], operation.number);
    return row_[i];
  }
  const bool in_sum = sums_ && tier.axes == all_;
  if (in_sum && axes_[i] == kItems) return spread(i);
  // What all items share is read once for all of them, into rows of its own.
  const bool is_shared = in_sum && (axes_[i] & kItems) == 0;
  const Axes axes = is_shared ? static_cast<Axes>(tier.axes & ~kItems) : tier.axes;
  std::vector<Program::Instruction>& instructions = is_shared ? program_.once_ : tier.instructions;
  const auto row_for = [&](Name name) {
    pinned_[name] = is_shared;
    return is_shared ? kFirstLocal + n_local_++ : new_row(tier.axes);
  };
  row_[i] = made.out[0] = row_for(i);
  if (operation.op == Op::load) {
    const Load from = operation.from();
    made.what = What::load;
    made.walk = place({.what = Program::Place::What::input,
                       .index = from.input,
                       .element = from.element,
                       .item_stride = from.item_stride,
                       .imaginary = from.imaginary,
                       .tier = axes});
    // Both parts of a complex number are read together, if both are read on this tier.
    const auto twin = twin_.find({from.input, from.element, from.item_stride, !from.imaginary});
    if (twin != twin_.end() && row_[twin->second] < 0 && axes_[twin->second] == axes_[i] && last_[twin->second] > 0 &&
        (axes_[i] != 0 || of_one_cell_)) {
      row_[twin->second] = made.out[1] = row_for(twin->second);
      if (from.imaginary) std::swap(made.out[0], made.out[1]);
      made.what = What::load_complex;
    }
  } else if (operation.op == Op::coordinate) {
    made.what = What::load;
    made.walk = place({.what = Program::Place::What::coordinate,
                       .index = static_cast<std::int32_t>(operation.coordinate),
                       .tier = axes});
  } else {
    made.what = What::fetch;
    made.global = global_[i];
    made.walk = place({.what = Program::Place::What::global, .index = global_[i], .tier = axes});
  }
  instructions.push_back(made);
  return row_[i];
}

std::int32_t Compiler::spread(Name i) {
  pinned_[i] = true;
  row_[i] = n_constant_++;
  Program::Place from{.what = Program::Place::What::global, .index = global_[i], .tier = kItems};
  if (operations_[i].op == Op::load) {
    const Load load = operations_[i].from();
    from = {.what = Program::Place::What::input,
            .index = load.input,
            .element = load.element,
            .item_stride = load.item_stride,
            .imaginary = load.imaginary,
            .tier = kItems};
  }
  program_.spreads_.push_back({row_[i], place(from)});
  return row_[i];
}

void Compiler::pin_running_sums() {
  for (Name i = 0; i < operations_.size(); ++i)
    if (is_running_sum(i)) {
      pinned_[i] = true;
      row_[i] = kFirstLocal + n_local_++;
    }
  for (const Output& output : outputs_) {
    Program::Instruction begin, end;
    begin.what = output.im >= 0 ? What::load_complex : What::load;
    end.what = What::store;
    begin.walk = end.walk = place({.what = Program::Place::What::output,
                                   .index = output.array,
                                   .element = output.element,
                                   .tier = static_cast<Axes>(all_ & ~kItems)});
    int part = 0;
    for (const std::int32_t name : {output.re, output.im}) {
      if (name >= 0) begin.out[part] = end.in[part] = row_[running_sum_of(static_cast<Name>(name))];
      ++part;
    }
    program_.begin_sums_.push_back(begin);
    program_.end_sums_.push_back(end);
  }
}

void Compiler::release(Name i, Axes tier, std::size_t now) {
  if (row_[i] < 0 || last_[i] > now || pinned_[i]) return;
  if (tier == 0) {
    // Numbers that other tiers read stay.
    if (operations_[i].op == Op::constant || read_above_[i]) return;
    free_constants_.push_back(row_[i]);
  } else {
    if (row_[i] < kFirstLocal) return;
    free_locals_.push_back(row_[i]);
  }
  row_[i] = -1;
}

void Compiler::emit_tier(Axes axes) {
  Program::Tier tier{axes, {}};
  if (axes == 0) find_read_above();
  if (sums_ && axes == all_) pin_running_sums();
  const std::vector<Name> order = schedule(axes);
  done_.assign(operations_.size(), false);
  // Loads that vary along nothing and are read by other tiers are done here.
  if (axes == 0)
    for (Name i = 0; i < operations_.size(); ++i)
      if (uses_[i] > 0 && axes_[i] == 0 && operations_[i].op != Op::constant && is_leaf(i) && read_above_[i])
        need(i, tier);
  emit_stores(tier, 0);
  for (std::size_t at = 0; at < order.size(); ++at) {
    emit(order[at], 2 * at + 1, tier);
    emit_stores(tier, at + 1);
    release(order[at], axes, 2 * at + 2);
  }
  for (Name i = 0; i < operations_.size(); ++i)
    if (row_[i] >= kFirstLocal) row_[i] = -1;
  free_locals_.clear();
  for (std::int32_t row = n_local_; row-- > 0;) free_locals_.push_back(kFirstLocal + row);
  program_.tiers_.push_back(std::move(tier));
}

void Compiler::emit(Name i, std::size_t now, Program::Tier& tier) {
  const Operation& operation = operations_[i];
  const int n = operands_of(operation.op);
  if (!done_[i]) {
    Program::Instruction made;
    for (int k = 0; k < n; ++k) made.in[k] = need(operand(i, k), tier);
    const Name other = partner(i);
    const bool is_looked_up = operation.op == Op::look_up;
    made.op = other == i || is_looked_up ? operation.op : Op::sin_cos;
    made.kernel = kernel_of(made.op);
    if (is_looked_up) {
      const LookUp from = operation.looked_up();
      made.what = What::look_up;
      made.walk = place({.what = Program::Place::What::input,
                         .index = from.input,
                         .element = from.element,
                         .entry_stride = from.stride,
                         .imaginary = from.imaginary,
                         .tier = tier.axes});
    }
    // An outcome may take the place of an operand: kernels read before they write. Not so where there are two.
    if (other == i)
      for (int k = 0; k < n; ++k) release(operand(i, k), tier.axes, now);
    const Name sum = running_sum_of(i);
    pinned_[i] = sum != kNone;
    row_[i] = made.out[0] = pinned_[i] ? row_[sum] : new_row(tier.axes);
    if (other != i) {
      row_[other] = made.out[1] = new_row(tier.axes);
      if (operation.op == Op::cos || (is_looked_up && operation.looked_up().imaginary))
        std::swap(made.out[0], made.out[1]);
    }
    tier.instructions.push_back(made);
    for (const Name result : {i, other}) {
      if (done_[result]) continue;
      done_[result] = true;
      if (global_[result] < 0) continue;
      Program::Instruction leave;
      leave.what = What::leave;
      leave.in[0] = row_[result];
      leave.global = global_[result];
      tier.instructions.push_back(leave);
    }
  }
  for (int k = 0; k < n; ++k) release(operand(i, k), tier.axes, now);
}

void Compiler::emit_stores(Program::Tier& tier, std::size_t after) {
  if (tier.axes != all_ || sums_) return;
  for (const std::size_t number : ready_[after]) {
    const Output& output = outputs_[number];
    Program::Instruction made;
    made.what = What::store;
    made.in[0] = need(resolved(static_cast<Name>(output.re)), tier);
    if (output.im >= 0) made.in[1] = need(resolved(static_cast<Name>(output.im)), tier);
    made.walk = place({.what = Program::Place::What::output,
                       .index = output.array,
                       .element = output.element,
                       .item_stride = output.item_stride,
                       .tier = tier.axes});
    if (output.im < 0 && !tier.instructions.empty()) {
      // What the last operation gives may go there at once.
      Program::Instruction& last = tier.instructions.back();
      if (last.what == What::compute && last.out[0] == made.in[0] && last.out[1] < 0) last.walk = made.walk;
    }
    tier.instructions.push_back(made);
  }
  for (const std::size_t number : ready_[after])
    for (const std::int32_t name : {outputs_[number].re, outputs_[number].im})
      if (name >= 0) release(resolved(static_cast<Name>(name)), tier.axes, 2 * after);
}

}  // namespace rimetree::program
