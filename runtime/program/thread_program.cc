#include "runtime/program/thread_program.h"

#include <algorithm>
#include <limits>

namespace rimetree::program {

/// From rows of numbers of one cell to a thread's registers.
class ThreadWriter {
 public:
  explicit ThreadWriter(const Program& program) : program_(program) {}

  /// False: there are more numbers than can be named.
  bool write(ThreadProgram& to) {
    constexpr std::size_t kMostNumbers = ThreadOperation::kNone - ThreadOperation::kNumber;
    if (program_.numbers_.size() >= kMostNumbers) return false;
    const auto rows = static_cast<std::size_t>(program_.n_constant_ + program_.n_local_);
    name_.assign(rows, ThreadOperation::kNone);
    for (const auto& [row, number] : program_.numbers_) {
      name_[static_cast<std::size_t>(row)] = static_cast<std::uint16_t>(ThreadOperation::kNumber + to.numbers.size());
      to.numbers.push_back(number);
    }
    if (rows - to.numbers.size() > ThreadProgram::kMostRegisters) return false;
    for (std::uint16_t& name : name_)
      if (name == ThreadOperation::kNone) name = static_cast<std::uint16_t>(to.n_register++);
    for (const Program::Tier& tier : program_.tiers_)
      for (const Program::Instruction& instruction : tier.instructions)
        if (!add(instruction, to.operations.emplace_back())) return false;
    for (const ThreadOperation& operation : to.operations)
      if (operation.op == static_cast<std::uint8_t>(Op::load) ||
          operation.op == static_cast<std::uint8_t>(Op::look_up)) {
        const std::size_t input = operation.in[0];
        to.reads.resize(std::max(to.reads.size(), input + 1), false);
        to.reads[input] = true;
      }
    return true;
  }

 private:
  using What = Program::Instruction::What;
  static constexpr std::int32_t kMost16 = std::numeric_limits<std::uint16_t>::max();

  std::uint16_t name(std::int32_t row) const {
    return row < 0 ? ThreadOperation::kNone : name_[static_cast<std::size_t>(row)];
  }
  bool add(const Program::Instruction& from, ThreadOperation& to) const {
    if (from.what == What::compute) {
      to.op = static_cast<std::uint8_t>(from.op);
      for (int k = 0; k < kMostOperands; ++k) to.in[k] = name(from.in[k]);
      for (int k = 0; k < 2; ++k) to.out[k] = name(from.out[k]);
      return true;
    }
    const Program::Place& place = program_.places_[static_cast<std::size_t>(from.walk)];
    if (place.index > kMost16) return false;
    if (from.what == What::store) {
      to.op = ThreadOperation::kStore;
      for (int k = 0; k < 2; ++k) to.in[k] = name(from.in[k]);
      ThreadOperation::set_wide(to.out, static_cast<std::uint32_t>(place.element));
      ThreadOperation::set_wide(to.in + 2, static_cast<std::uint32_t>(place.item_stride));
      return true;
    }
    for (int k = 0; k < 2; ++k) to.out[k] = name(from.out[k]);
    to.in[0] = static_cast<std::uint16_t>(place.index);
    // Of both parts the first outcome is the real one, of one part that which is wanted.
    const bool both = from.what == What::load_complex || (from.what == What::look_up && from.out[1] >= 0);
    to.part = both ? ThreadOperation::both : place.imaginary ? ThreadOperation::imaginary : ThreadOperation::real;
    if (from.what == What::look_up) {
      if (place.element > kMost16) return false;
      to.op = static_cast<std::uint8_t>(Op::look_up);
      to.in[1] = static_cast<std::uint16_t>(place.element);
      to.in[2] = name(from.in[0]);
      ThreadOperation::set_wide(to.in + 3, static_cast<std::uint32_t>(place.entry_stride));
      return true;
    }
    to.op = static_cast<std::uint8_t>(place.what == Program::Place::What::coordinate ? Op::coordinate : Op::load);
    if (place.what == Program::Place::What::coordinate) return true;
    ThreadOperation::set_wide(to.in + 1, static_cast<std::uint32_t>(place.element));
    ThreadOperation::set_wide(to.in + 3, static_cast<std::uint32_t>(place.item_stride));
    return true;
  }

  const Program& program_;
  std::vector<std::uint16_t> name_;  // of rows
};

std::shared_ptr<const ThreadProgram> thread_program(const Recording& recording, std::span<const Output> outputs,
                                                    std::size_t n_item) {
  const Program program(recording, outputs, Program::OfOneCell());
  auto made = std::make_shared<ThreadProgram>();
  made->n_item = n_item;
  if (!ThreadWriter(program).write(*made)) return nullptr;
  return made;
}

}  // namespace rimetree::program
