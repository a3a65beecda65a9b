// The PSV node's models compared with data where they are computed; see runtime/comparison.h.
#pragma once

#include <list>
#include <memory>
#include <mutex>

#include "nodes/psv/group_rows.h"
#include "nodes/psv/operands.h"
#include "runtime/comparison.h"
#include "runtime/objective.h"

namespace rimetree::psv {

/// What stays the same while unknowns change: the rows that count, and what their weights come to.
struct ComparedRows {
  std::vector<unsigned char> wanted;                 ///< [comparison][time]: whether there is any datum
  ResidualSums weights;                              ///< but for chi-square
  std::vector<GroupRows<const unsigned char>> rows;  ///< by term
};

/// Those of the comparisons that a node was last the first of, by version.
class ComparedRowsCache {
 public:
  template <class Make>
  std::shared_ptr<const ComparedRows> get(std::uint64_t version, Make&& make) {
    const std::lock_guard lock(mutex_);
    for (auto it = entries_.begin(); it != entries_.end(); ++it)
      if (it->first == version) {
        entries_.splice(entries_.begin(), entries_, it);
        return it->second;
      }
    entries_.emplace_front(version, make());
    if (entries_.size() > kMost) entries_.pop_back();
    return entries_.front().second;
  }

 private:
  static constexpr std::size_t kMost = 4;
  std::mutex mutex_;
  std::list<std::pair<std::uint64_t, std::shared_ptr<const ComparedRows>>> entries_;  // the last used one first
};

/// What Node::compare_batch promises. `layouts`: of the terms. False where it cannot be done on devices: a sky that
/// varies in time or depends on no kernel, or too little memory.
bool compare_batch(BatchContext& context, std::span<const ChildLayout* const> layouts, std::span<Comparison> batch,
                   double slope, ResidualSums& sums, ComparedRowsCache& cache);

}  // namespace rimetree::psv
