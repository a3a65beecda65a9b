// The PSV node's models compared with data where they are computed; see runtime/core/comparison.h.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>

#include "nodes/psv/group_rows.h"
#include "nodes/psv/operands.h"
#include "runtime/core/comparison.h"
#include "runtime/evaluate/objective.h"

namespace rimetree::psv {

/// What stays the same while unknowns change: the rows that count, and what their weights come to.
struct ComparedRows {
  std::vector<unsigned char> wanted;                 ///< [comparison][time]: whether there is any datum
  ResidualSums weights;                              ///< but for chi-square
  std::vector<GroupRows<const unsigned char>> rows;  ///< by term

  std::size_t bytes() const {
    constexpr std::size_t kRow = 7 * sizeof(double) + 2 * sizeof(std::int32_t) + sizeof(void*);
    return wanted.size() * (1 + rows.size() * kRow);
  }
};

/// Those of lately, by version: of one time-slot group, or of several.
class ComparedRowsCache {
 public:
  template <class Make>
  std::shared_ptr<const ComparedRows> get(std::uint64_t version, Make&& make) {
    const std::lock_guard lock(mutex_);
    const auto known =
        std::find_if(entries_.begin(), entries_.end(), [&](const auto& e) { return e.first == version; });
    if (known != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, known);
      return known->second;
    }
    entries_.emplace_front(version, make());
    std::size_t bytes = 0;
    for (const auto& [of, rows] : entries_) bytes += rows->bytes();
    for (; bytes > kMostBytes && entries_.size() > 1; entries_.pop_back()) bytes -= entries_.back().second->bytes();
    return entries_.front().second;
  }

 private:
  static constexpr std::size_t kMostBytes = std::size_t{256} << 20;
  std::mutex mutex_;
  std::list<std::pair<std::uint64_t, std::shared_ptr<const ComparedRows>>> entries_;  // the last used one first
};

/// What BatchKernel::compare promises. `layouts`: of the terms. False where it cannot be done on devices: a sky that
/// varies in time or depends on no kernel, or too little memory.
bool compare_batch(BatchContext& context, std::span<const ChildLayout* const> layouts, std::span<Comparison> batch,
                   double slope, ResidualSums& sums, ComparedRowsCache& cache);

}  // namespace rimetree::psv
