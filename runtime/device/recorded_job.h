// A recorded program (runtime/program) on all items of a cell job: one kernel for the bodies of all classes, and for
// chains of nodes that are evaluated together. For host and device.
#pragma once

#include "runtime/device/cell_launch.h"
#include "runtime/program/thread_program.h"

namespace rimetree {

struct RecordedJob {
  /// So many operations and constants go along with the launch; more are in device memory.
  static constexpr int kFewOperations = 128, kFewNumbers = 64;

  CellJob cells;
  const program::ThreadProgram* program = nullptr;  ///< the whole of it, on the host, while the job is queued
  const program::ThreadOperation* d_operations = nullptr;
  const double* d_numbers = nullptr;
  std::int32_t n_operation = 0, n_number = 0, n_register = 0;
  std::int32_t is_complex = 0;  ///< the results
  program::ThreadOperation few_operations[kFewOperations] = {};
  double few_numbers[kFewNumbers] = {};

  RT_HD std::size_t bytes_per_value() const { return (is_complex != 0 ? 2 : 1) * sizeof(double); }
  RT_HD const program::ThreadOperation* operations() const {
    return d_operations != nullptr ? d_operations : few_operations;
  }
  RT_HD const double* numbers() const { return d_numbers != nullptr ? d_numbers : few_numbers; }
};

/// What a program reads and writes for one cell of an item, and one entry of its stack.
class RecordedMemory {
 public:
  using Operation = program::ThreadOperation;

  RT_HD RecordedMemory(const RecordedJob& job, const CellItem& item, std::size_t i)
      : job_(job.cells), item_(item), is_complex_(job.is_complex != 0) {
    for (const std::int32_t extent : item.cells) plane_ *= static_cast<std::size_t>(extent);
    entry_ = i / plane_;
    at_ = i % plane_;
    split_cell(at_, item.cells, cell_);
  }

  RT_HD double coordinate(int which) const {
    const bool is_time = which <= static_cast<int>(program::Coordinate::time_width_s);
    const std::int32_t n = is_time ? job_.n_time : job_.n_frequency;
    const bool is_width = which == static_cast<int>(program::Coordinate::time_width_s) ||
                          which == static_cast<int>(program::Coordinate::frequency_width_hz);
    return (is_time ? job_.d_time_s
                    : job_.d_frequency_hz)[cell_[is_time ? 0 : 1] + (is_width ? static_cast<std::size_t>(n) : 0)];
  }
  RT_HD void load(const Operation& operation, double* first, double* second) const {
    read(operation, entry_, first, second);
  }
  RT_HD void look_up(const Operation& operation, std::size_t entry, double* first, double* second) const {
    read(operation, entry, first, second);
  }
  RT_HD void store(const Operation& operation, double re, double im) const {
    const std::size_t at = (operation.element() + entry_ * operation.stride()) * plane_ + at_;
    std::byte* const result = job_.array(item_.base) + item_.offset;
    if (is_complex_)
      reinterpret_cast<Complex<double>*>(result)[at] = {re, im};
    else
      reinterpret_cast<double*>(result)[at] = re;
  }

 private:
  /// Of an entry of a stack or a table.
  RT_HD void read(const Operation& operation, std::size_t entry, double* first, double* second) const {
    const int input = operation.in[0];
    const CellArray& array = job_.d_child[input < item_.n_child ? item_.first_child + input
                                                                : item_.first_derivative + input - item_.n_child];
    std::size_t at = (operation.element() + entry * operation.stride()) * array.plane;
    for (int axis = 0; axis < kJobAxes; ++axis) at += cell_[axis] * array.stride[axis];
    const auto* numbers = reinterpret_cast<const double*>(job_.array(array.base) + array.offset);
    if (array.is_complex == 0) {
      *first = numbers[at];
    } else if (operation.part == Operation::both) {
      const Complex<double> both = reinterpret_cast<const Complex<double>*>(numbers)[at];
      if (first != nullptr) *first = both.re;
      if (second != nullptr) *second = both.im;
    } else {
      *first = numbers[2 * at + (operation.part == Operation::imaginary ? 1 : 0)];
    }
  }

  const CellJob& job_;
  const CellItem& item_;
  std::size_t plane_ = 1, entry_, at_, cell_[kJobAxes];
  bool is_complex_;
};

/// What thread i of an item does.
template <int kRegisters>
RT_HD void run_recorded(const RecordedJob& job, const CellItem& item, std::size_t i) {
  program::run_thread<kRegisters>(job.operations(), job.n_operation, job.numbers(), RecordedMemory(job, item, i));
}

/// Calls f.template operator()<kRegisters>() with room for the program's numbers.
template <class F>
void with_registers(const RecordedJob& job, const F& f) {
  if (job.n_register <= 16)
    f.template operator()<16>();
  else if (job.n_register <= 64)
    f.template operator()<64>();
  else
    f.template operator()<256>();
}

template <>
struct JobOnHost<RecordedJob> {
  JobOnHost(const memory::Device& device, const RecordedJob& from);
  CellsOnHost cells;
  RecordedJob job;
};

/// Queues the job.
void launch_recorded(memory::Queue& queue, const RecordedJob& job);

}  // namespace rimetree
