// A recorded program as the text of a kernel in CUDA's C++, for compilers that are there when a program runs. It does
// what run_recorded() does (recorded_job.h), with the same roundings.
#pragma once

#include <string>

#include "runtime/program/thread_program.h"

namespace rimetree {

/// The kernel's name in the text. Its only argument is a CellJob, by its bytes.
inline constexpr const char* kRecordedKernel = "recorded_program";

/// `is_complex`: the results.
std::string recorded_source(const program::ThreadProgram& program, bool is_complex);

}  // namespace rimetree
