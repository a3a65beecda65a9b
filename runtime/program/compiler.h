// From a recording to a program: what is not needed goes, pairs of operations that one kernel does are joined, and each
// operation gets its tier, its place in the order and rows for its outcome.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "runtime/program/join.h"
#include "runtime/program/program.h"

namespace rimetree::program {

class Compiler {
 public:
  Compiler(Program& program, const Recording& recording, std::span<const Output> outputs, std::span<const Axes> inputs,
           Axes coordinates, Axes cells, Program::Items items)
      : program_(program),
        outputs_(outputs.begin(), outputs.end()),
        inputs_(inputs),
        coordinates_(coordinates),
        all_(cells),
        sums_(items == Program::Items::summed) {
    operations_ = recording.operations();
    for (const Output& output : outputs)
      if (output.item_stride != 0 || sums_) all_ |= kItems;
    if (sums_) add_to_running_sums();
  }

  Compiler(Program& program, const Recording& recording, std::span<const Output> outputs, Program::OfOneCell)
      : program_(program),
        outputs_(outputs.begin(), outputs.end()),
        coordinates_(0),
        all_(0),
        sums_(false),
        of_one_cell_(true) {
    operations_ = recording.operations();
  }

  void compile();

 private:
  using Name = std::size_t;
  using What = Program::Instruction::What;
  static constexpr std::int32_t kFirstLocal = 1 << 28;

  /// In place of an input: the running sum of part `element` of the outputs.
  static constexpr std::int32_t kRunningSum = -2;

  Name operand(Name i, int k) const { return operand_of(operations_, i, k); }
  Name resolved(Name i) const { return resolved_name(operations_, i); }
  bool is_leaf(Name i) const { return operands_of(operations_[i].op) == 0; }
  bool is_running_sum(Name i) const {
    return operations_[i].op == Op::load && operations_[i].operand[0] == kRunningSum;
  }

  /// Each part of an output becomes the sum of what it was and of the number that is given.
  void add_to_running_sums();
  void name_rows(std::vector<Program::Instruction>& instructions) const;
  void find_axes();
  void find_uses();

  /// What a tier has to leave for others.
  void find_globals(Axes tier);

  std::int32_t place(Program::Place where);
  std::int32_t new_row(Axes tier);
  std::int32_t final_row(std::int32_t row) const { return row < kFirstLocal ? row : row - kFirstLocal + n_constant_; }

  /// Has a number in a row on the tier being emitted.
  std::int32_t need(Name i, Program::Tier& tier);

  /// A number of each item, the same on all cells: a row of one number, which is another one for each item.
  std::int32_t spread(Name i);

  /// Rows of running sums stay theirs; they come from the outputs and go back there.
  void pin_running_sums();
  /// The running sum that an operation adds to; kNone: to none.
  Name running_sum_of(Name i) const;

  /// The operations of a tier in order, and for each number where it is read last: by operation number k at 2 k + 1,
  /// by the stores after it at 2 k + 2.
  std::vector<Name> schedule(Axes tier);

  /// Gives a number's row to others once nobody on this tier reads it any more.
  void release(Name i, Axes tier, std::size_t now);

  void emit_tier(Axes axes);
  void emit(Name i, std::size_t now, Program::Tier& tier);

  /// What is made together with a number: the cosine of what this is the sine of, the imaginary part of what is looked
  /// up, or the reverse of these, if nobody has made it; itself: none.
  Name partner(Name i) const { return partner_[i] == kNone || done_[partner_[i]] ? i : partner_[i]; }
  void find_partners();

  /// Stores of the outputs whose numbers are complete after so many operations.
  void emit_stores(Program::Tier& tier, std::size_t after);

  /// Numbers without axes that tiers above read.
  void find_read_above();

  /// Whether the program reads and writes more than it computes.
  bool streams() const;

  using LoadKey = std::tuple<std::int32_t, std::int32_t, std::int32_t, bool>;
  static LoadKey key_of(const Load& load) { return {load.input, load.element, load.item_stride, load.imaginary}; }

  Program& program_;
  std::vector<Output> outputs_;
  std::span<const Axes> inputs_;
  Axes coordinates_, all_;
  bool sums_;
  bool of_one_cell_ = false;  // axes make no difference
  std::vector<Operation> operations_;
  std::vector<Axes> axes_;
  std::vector<int> uses_;
  std::map<Axes, int> tiers_;
  std::vector<std::int32_t> row_, global_;
  std::vector<std::size_t> last_;
  std::vector<bool> read_above_, done_, pinned_;
  std::vector<std::vector<std::size_t>> ready_;
  std::map<LoadKey, Name> twin_;
  static constexpr Name kNone = ~Name{0};
  std::vector<Name> partner_;
  std::vector<std::int32_t> free_constants_, free_locals_;
  std::int32_t n_constant_ = 0, n_local_ = 0;
};

}  // namespace rimetree::program
