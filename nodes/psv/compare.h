// The PSV node's models compared with data where they are computed; see runtime/core/values/comparison.h.
#pragma once

#include "nodes/psv/group_rows.h"
#include "nodes/psv/operands.h"
#include "nodes/psv/packed_skies.h"
#include "runtime/core/used_lately.h"
#include "runtime/core/values/comparison.h"
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

/// By version: of one time-slot group, or of several.
using ComparedRowsCache = UsedLately<std::uint64_t, ComparedRows>;
inline constexpr std::size_t kMostComparedBytes = std::size_t{256} << 20;

/// What BatchKernel::compare promises. `layouts`: of the terms. False where it cannot be done on devices: a sky that
/// varies in time or depends on no kernel, or too little memory.
bool compare_batch(BatchContext& context, std::span<const ChildLayout* const> layouts, std::span<Comparison> batch,
                   double slope, ResidualSums& sums, PackedSkies& skies, ComparedRowsCache& cache);

}  // namespace rimetree::psv
