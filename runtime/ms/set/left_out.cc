#include "runtime/ms/set/left_out.h"

#include <algorithm>
#include <utility>

namespace rimetree::ms {

void LeftOut::leave_out(LeftOutRows rows) {
  const auto held = std::make_shared<const LeftOutRows>(std::move(rows));
  const std::lock_guard lock(mutex_);
  for (std::size_t i = 0; i < held->row.size(); ++i) places_[held->row[i]] = {held, i};
}

void LeftOut::forget(const std::vector<std::int64_t>& rows) {
  const std::lock_guard lock(mutex_);
  for (const std::int64_t row : rows) places_.erase(row);
}

void LeftOut::flag(Tile* tile) const {
  const std::lock_guard lock(mutex_);
  if (places_.empty() || tile->flag.empty()) return;
  const std::size_t of_row = tile->n_channel() * tile->n_correlation();
  for (std::size_t i = 0; i < tile->row.size(); ++i) {
    const auto found = places_.find(tile->row[i]);
    if (found == places_.end()) continue;
    const LeftOutRows& rows = *found->second.rows;
    const std::uint8_t* bits = &rows.bits[found->second.at * rows.bytes_of_row()];
    const std::size_t first = std::max(rows.first_channel, tile->first_channel);
    const std::size_t stop = std::min(rows.first_channel + rows.n_channel, tile->first_channel + tile->n_channel());
    const std::size_t n = std::min(rows.n_correlation, tile->n_correlation());
    for (std::size_t channel = first; channel < stop; ++channel)
      for (std::size_t c = 0; c < n; ++c) {
        const std::size_t bit = (channel - rows.first_channel) * rows.n_correlation + c;
        if (((bits[bit / 8] >> (7 - bit % 8)) & 1) != 0)
          tile->flag[i * of_row + (channel - tile->first_channel) * tile->n_correlation() + c] = 1;
      }
  }
}

}  // namespace rimetree::ms
