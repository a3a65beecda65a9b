// A program as devices run it: what a thread does for one cell (thread_operation.h).
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "runtime/program/program.h"
#include "runtime/program/thread_operation.h"

namespace rimetree::program {

struct ThreadProgram {
  /// Numbers that a thread can have at a time. Programs with more of them are for the host.
  static constexpr int kMostRegisters = 256;

  std::vector<ThreadOperation> operations;
  std::vector<double> numbers;  ///< constants
  std::vector<bool> reads;      ///< by input, up to the last one that is read
  int n_register = 0;
  std::size_t n_item = 1;  ///< entries of a stack that are treated alike

  bool does_read(std::size_t input) const { return input < reads.size() && reads[input]; }
};

/// Arguments as of Program, with one output array. nullptr where a thread cannot run it.
std::shared_ptr<const ThreadProgram> thread_program(const Recording& recording, std::span<const Output> outputs,
                                                    std::size_t n_item);

}  // namespace rimetree::program
