// Rows are cut first, then channels, then sources, which add to each other's visibilities. If an allocation fails all
// the same, chunks are halved until it does not; if not even one source, row and run of channels fit, the host does the
// work and a warning says so.
#include "nodes/psv/pipeline/chunks.h"

#include <algorithm>

namespace rimetree::psv::pipeline {

std::optional<DeviceChunks> device_chunks(const DeviceCosts& costs, std::size_t budget) {
  // Sources may have half of the memory, or all but what the smallest chunk of rows takes if then all of them fit.
  const auto rows_bytes = [&](std::size_t rows, std::size_t channels) {
    const std::size_t visibility = costs.visibility + costs.visibility_up + costs.visibility_scratch;
    return rows * (kSlots * (costs.row + costs.row_scratch + visibility * channels) + costs.row_beside +
                   costs.visibility_beside * channels);
  };
  DeviceChunks chunks{std::max<std::size_t>(costs.n_source, 1), 0, std::max<std::size_t>(costs.n_channel, 1)};
  const std::size_t least_rows = std::min(costs.n_row, costs.rows_per_block);
  const auto source = [&] { return std::max<std::size_t>(costs.source + costs.source_channel * chunks.channels, 1); };
  const auto fits = [&] {
    return costs.fixed + chunks.sources * source() + rows_bytes(least_rows, chunks.channels) <= budget;
  };
  if (!fits()) {
    // Fewer channels first: that costs nothing but seeds. Then fewer sources, which are sent again for every chunk.
    const std::size_t left = budget > costs.fixed ? budget - costs.fixed : 0;
    while (!fits() && chunks.channels > costs.longest_run)
      chunks.channels = std::max(costs.longest_run, chunks.channels / 2);
    const std::size_t most_sources = std::max<std::size_t>(left / 2 / source(), 1);
    chunks.sources = fits() ? chunks.sources : std::min(chunks.sources, most_sources);
    while (!fits() && chunks.sources > 1) chunks.sources = (chunks.sources + 1) / 2;
  }
  const std::size_t taken = costs.fixed + chunks.sources * source();
  const std::size_t most_rows = taken < budget ? (budget - taken) / rows_bytes(1, chunks.channels) : 0;
  if (most_rows == 0) return std::nullopt;
  const std::size_t useful = std::max((costs.n_row + kChunksToOverlap - 1) / kChunksToOverlap, costs.busy_rows);
  const std::size_t staged =
      std::max(kMostStaged / std::max<std::size_t>((costs.visibility + costs.visibility_up) * chunks.channels, 1),
               costs.rows_per_block);
  chunks.rows = std::min({most_rows, useful, staged, costs.n_row});
  // Whole blocks, where there is a choice.
  if (chunks.rows > costs.rows_per_block) chunks.rows -= chunks.rows % costs.rows_per_block;
  return chunks;
}

}  // namespace rimetree::psv::pipeline
