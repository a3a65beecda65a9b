// From a recording to a program: what is not needed goes, pairs of operations that one kernel does are joined, and each
// operation gets its tier, its place in the order and rows for its outcome.
#include <algorithm>
#include <bit>
#include <map>
#include <tuple>
#include <unordered_map>

#include "runtime/program/join.h"
#include "runtime/program/order.h"
#include "runtime/program/pairs.h"
#include "runtime/program/program.h"

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

class Compiler {
 public:
  Compiler(Program& program, const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs,
           Axes coordinates, Axes cells)
      : program_(program), outputs_(outputs), inputs_(inputs), coordinates_(coordinates), all_(cells) {
    operations_ = recording.operations();
    for (const Output& output : outputs)
      if (output.item_stride != 0) all_ |= kItems;
  }

  void compile() {
    find_axes();
    // What is added up over items may go to numbers that do not vary along them.
    for (const Output& output : outputs_)
      for (const std::int32_t name : {output.re, output.im})
        if (name >= 0) all_ |= axes_[resolved(static_cast<Name>(name))] & kItems;
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
    find_sines();
    row_.assign(operations_.size(), -1);
    global_.assign(operations_.size(), -1);
    for (const Axes tier : order) find_globals(tier);
    for (const Axes tier : order) emit_tier(tier);
    // Locals were counted from 0; their rows come after the constants.
    for (Program::Tier& tier : program_.tiers_)
      for (Program::Instruction& instruction : tier.instructions) {
        for (std::int32_t& row : instruction.in) row = final_row(row);
        for (std::int32_t& row : instruction.out) row = final_row(row);
      }
    program_.n_constant_ = n_constant_;
    program_.n_local_ = n_local_;
    const auto& last = program_.tiers_.back().instructions;
    const auto computes =
        std::count_if(last.begin(), last.end(), [](const auto& one) { return one.what == What::compute; });
    program_.streams_ = 2 * static_cast<std::size_t>(computes) <= last.size();
  }

 private:
  using Name = std::size_t;
  using What = Program::Instruction::What;
  static constexpr std::int32_t kFirstLocal = 1 << 28;

  Name operand(Name i, int k) const { return operand_of(operations_, i, k); }
  Name resolved(Name i) const { return resolved_name(operations_, i); }
  bool is_leaf(Name i) const { return operands_of(operations_[i].op) == 0; }

  void find_axes() {
    axes_.assign(operations_.size(), 0);
    for (Name i = 0; i < operations_.size(); ++i) {
      const Operation& operation = operations_[i];
      if (operation.op == Op::load) {
        axes_[i] = inputs_[static_cast<std::size_t>(operation.from().input)];
        if (operation.from().item_stride != 0) axes_[i] |= kItems;
      } else if (operation.op == Op::coordinate) {
        const bool time = operation.coordinate <= Coordinate::time_width_s;
        axes_[i] = static_cast<Axes>(coordinates_ & bit_of(time ? Axis::time : Axis::frequency));
      }
      for (int k = 0; k < operands_of(operation.op); ++k) axes_[i] |= axes_[operand(i, k)];
    }
  }

  void find_uses() {
    uses_.assign(operations_.size(), 0);
    for (const Output& output : outputs_)
      for (const std::int32_t name : {output.re, output.im})
        if (name >= 0) ++uses_[resolved(static_cast<Name>(name))];
    for (Name i = operations_.size(); i-- > 0;)
      if (uses_[i] > 0)
        for (int k = 0; k < operands_of(operations_[i].op); ++k) ++uses_[operand(i, k)];
  }

  /// What a tier has to leave for others.
  void find_globals(Axes tier) {
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

  std::int32_t place(Program::Place where) {
    program_.places_.push_back(where);
    return static_cast<std::int32_t>(program_.places_.size()) - 1;
  }

  std::int32_t new_row(Axes tier) {
    auto& free = tier == 0 ? free_constants_ : free_locals_;
    if (!free.empty()) {
      const std::int32_t row = free.back();
      free.pop_back();
      return row;
    }
    return tier == 0 ? n_constant_++ : kFirstLocal + n_local_++;
  }
  std::int32_t final_row(std::int32_t row) const { return row < kFirstLocal ? row : row - kFirstLocal + n_constant_; }

  /// Has a number in a row on the tier being emitted.
  std::int32_t need(Name i, Program::Tier& tier) {
    if (row_[i] >= 0) return row_[i];
    const Operation& operation = operations_[i];
    Program::Instruction made;
    if (operation.op == Op::constant) {
      row_[i] = n_constant_++;
      program_.numbers_.emplace_back(row_[i], operation.number);
      return row_[i];
    }
    row_[i] = made.out[0] = new_row(tier.axes);
    if (operation.op == Op::load) {
      const Load from = operation.from();
      made.what = What::load;
      made.walk = place({.what = Program::Place::What::input,
                         .index = from.input,
                         .element = from.element,
                         .item_stride = from.item_stride,
                         .imaginary = from.imaginary,
                         .tier = tier.axes});
      // Both parts of a complex number are read together, if both are read on this tier.
      const auto twin = twin_.find({from.input, from.element, from.item_stride, !from.imaginary});
      if (twin != twin_.end() && row_[twin->second] < 0 && axes_[twin->second] == axes_[i] && last_[twin->second] > 0 &&
          axes_[i] != 0) {
        row_[twin->second] = made.out[1] = new_row(tier.axes);
        if (from.imaginary) std::swap(made.out[0], made.out[1]);
        made.what = What::load_complex;
      }
    } else if (operation.op == Op::coordinate) {
      made.what = What::load;
      made.walk = place({.what = Program::Place::What::coordinate,
                         .index = static_cast<std::int32_t>(operation.coordinate),
                         .tier = tier.axes});
    } else {
      made.what = What::import;
      made.global = global_[i];
      made.walk = place({.what = Program::Place::What::global, .index = global_[i], .tier = tier.axes});
    }
    tier.instructions.push_back(made);
    return row_[i];
  }

  /// The operations of a tier in order, and for each number where it is read last: by operation number k at 2 k + 1,
  /// by the stores after it at 2 k + 2.
  std::vector<Name> schedule(Axes tier) {
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

  /// Gives a number's row to others once nobody on this tier reads it any more.
  void release(Name i, Axes tier, std::size_t now) {
    if (row_[i] < 0 || last_[i] > now) return;
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

  void emit_tier(Axes axes) {
    Program::Tier tier{axes, {}};
    if (axes == 0) find_read_above();
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

  void emit(Name i, std::size_t now, Program::Tier& tier) {
    const Operation& operation = operations_[i];
    const int n = operands_of(operation.op);
    if (!done_[i]) {
      Program::Instruction made;
      for (int k = 0; k < n; ++k) made.in[k] = need(operand(i, k), tier);
      const Name other = partner(i);
      made.kernel = kernel_of(other == i ? operation.op : Op::sin_cos);
      // An outcome may take the place of an operand: kernels read before they write. Not so where there are two.
      if (other == i)
        for (int k = 0; k < n; ++k) release(operand(i, k), tier.axes, now);
      row_[i] = made.out[0] = new_row(tier.axes);
      if (other != i) {
        row_[other] = made.out[1] = new_row(tier.axes);
        if (operation.op == Op::cos) std::swap(made.out[0], made.out[1]);
      }
      tier.instructions.push_back(made);
      for (const Name result : {i, other}) {
        if (done_[result]) continue;
        done_[result] = true;
        if (global_[result] < 0) continue;
        Program::Instruction leave;
        leave.what = What::export_;
        leave.in[0] = row_[result];
        leave.global = global_[result];
        tier.instructions.push_back(leave);
      }
    }
    for (int k = 0; k < n; ++k) release(operand(i, k), tier.axes, now);
  }

  /// The cosine of what this is the sine of, or the reverse, if it is made as well; itself: none.
  Name partner(Name i) const {
    const auto pair = sine_and_cosine_.find(operand(i, 0));
    if (pair == sine_and_cosine_.end() || (pair->second[0] != i && pair->second[1] != i)) return i;
    const Name other = pair->second[0] == i ? pair->second[1] : pair->second[0];
    return other == kNone || done_[other] ? i : other;
  }
  void find_sines() {
    for (Name i = 0; i < operations_.size(); ++i) {
      const Op op = operations_[i].op;
      if (uses_[i] == 0 || (op != Op::sin && op != Op::cos)) continue;
      const auto at = sine_and_cosine_.try_emplace(operand(i, 0), std::array<Name, 2>{kNone, kNone}).first;
      at->second[op == Op::sin ? 0 : 1] = i;
    }
  }

  /// Those of the outputs whose numbers are complete after so many operations.
  void emit_stores(Program::Tier& tier, std::size_t after) {
    if (tier.axes != all_) return;
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

  /// Numbers without axes that tiers above read.
  void find_read_above() {
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

  using LoadKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, bool>;
  static LoadKey key_of(const Load& load) { return {load.input, load.element, load.item_stride, load.imaginary}; }

  Program& program_;
  std::span<const Output> outputs_;
  std::span<const Axes> inputs_;
  Axes coordinates_, all_;
  std::vector<Operation> operations_;
  std::vector<Axes> axes_;
  std::vector<int> uses_;
  std::map<Axes, int> tiers_;
  std::vector<std::int32_t> row_, global_;
  std::vector<std::size_t> last_;
  std::vector<bool> read_above_, done_;
  std::vector<std::vector<std::size_t>> ready_;
  std::map<LoadKey, Name> twin_;
  static constexpr Name kNone = ~Name{0};
  std::unordered_map<Name, std::array<Name, 2>> sine_and_cosine_;  // by operand
  std::vector<std::int32_t> free_constants_, free_locals_;
  std::int32_t n_constant_ = 0, n_local_ = 0;
};

Program::Program(const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs,
                 Axes coordinates, Axes cells, Pairs pairs)
    : inner_(innermost(cells)) {
  Compiler(*this, recording, outputs, inputs, coordinates, cells).compile();
  if (pairs == Pairs::never) return;
  if (auto made = program_of_pairs(recording, outputs, inputs, coordinates, cells))
    pairs_ = std::make_shared<const Program>(std::move(*made));
}

}  // namespace rimetree::program
