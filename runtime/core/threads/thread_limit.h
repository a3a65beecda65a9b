// How many threads a process should use where nobody said: one place for the limits that users, schedulers and
// containers set.
#pragma once

#include <optional>
#include <string>

namespace rimetree {

/// The value of RIMETREE_NUM_THREADS, else the first number of OMP_NUM_THREADS (a list, as OpenMP has it), else
/// available_cores(). Throws Error if RIMETREE_NUM_THREADS is no positive number; OMP_NUM_THREADS belongs to others,
/// and is ignored where it is not understood.
int default_threads();

/// Cores that this process may run on (its affinity mask), but no more than the processor time that its control groups
/// grant it, rounded up. At least 1.
int available_cores();

/// Processors' worth of time that the control groups of this process grant it (cpu.max of version 2, cpu.cfs_quota_us
/// of version 1), the least along its path; nothing where there is no limit. `root` stands before /proc and /sys.
std::optional<double> control_group_cores(const std::string& root = "");

}  // namespace rimetree
