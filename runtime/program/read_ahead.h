// Memory that a run will read or write soon, asked for while it computes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "runtime/program/walk.h"

namespace rimetree::program {

/// Asks for the memory of the next block of cells while the present one is computed: some lines after each instruction,
/// since a core has few requests under way at a time. Only arrays that are larger than caches gain by it.
class ReadAhead {
 public:
  /// So many bytes stay in caches close by: below them nothing is asked for.
  static constexpr std::size_t kWorthwhile = std::size_t{1} << 20;

  void begin() { walks_.clear(); }
  /// Another array that each block reads or writes, in runs of neighbours.
  void add(const Walk& walk) {
    const std::size_t step = walk.inner_stride();
    if (step != 1 && step != 2) return;
    // Both parts of a complex number are on one line.
    for (const Walk* other : walks_)
      if (other->base - walk.base <= 1 && walk.base - other->base <= 1) return;
    walks_.push_back(&walk);
  }
  /// Numbers of a cell, all arrays together.
  std::size_t numbers() const {
    std::size_t n = 0;
    for (const Walk* walk : walks_) n += walk->inner_stride();
    return n;
  }
  /// The next block: `count` cells from the first on, computed by so many instructions.
  void aim(std::size_t first, std::size_t count, std::size_t instructions) {
    runs_.clear();
    next_ = 0;
    std::size_t lines = 0;
    for (const Walk* walk : walks_)
      walk->for_each_run(first, count, [&](const double* where, std::size_t, std::size_t length) {
        const auto begin = reinterpret_cast<std::uintptr_t>(where) / kLine * kLine;
        const auto end = reinterpret_cast<std::uintptr_t>(where + length * walk->inner_stride());
        runs_.push_back({begin, end});
        lines += (end - begin + kLine - 1) / kLine;
      });
    share_ = lines / std::max<std::size_t>(1, instructions) + 1;
  }
  /// Between instructions: calls f(address) for the next lines.
  template <class F>
  void ask(const F& f) {
    for (std::size_t left = share_; left > 0 && next_ < runs_.size();) {
      Run& run = runs_[next_];
      for (; left > 0 && run.begin < run.end; --left, run.begin += kLine) f(reinterpret_cast<const void*>(run.begin));
      if (run.begin >= run.end) ++next_;
    }
  }
  void ask() {
    ask([](const void* line) { __builtin_prefetch(line); });
  }

 private:
  static constexpr std::size_t kLine = 64;
  struct Run {
    std::uintptr_t begin, end;
  };
  std::vector<const Walk*> walks_;
  std::vector<Run> runs_;
  std::size_t next_ = 0, share_ = 0;
};

}  // namespace rimetree::program
