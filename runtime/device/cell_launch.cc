#include "runtime/device/cell_launch.h"

#include <algorithm>

namespace rimetree {

CellsOnHost::CellsOnHost(const memory::Device& device, const CellJob& from, std::size_t bytes_per_value) : job(from) {
  const ArraysOnHost resolve(device);
  resolve(job.d_item, job.n_item);
  items.assign(job.d_item, job.d_item + job.n_item);
  std::int32_t n_child = 0;
  for (const CellItem& item : items)
    n_child = std::max(n_child, std::max(item.first_child, item.first_derivative) + item.n_child);
  resolve(job.d_child, n_child);
  children.assign(job.d_child, job.d_child + n_child);
  resolve(job.d_many, job.n_array);
  resolve(job.d_time_s, 2 * std::int64_t{job.n_time});
  resolve(job.d_frequency_hz, 2 * std::int64_t{job.n_frequency});

  const auto move = [&](auto& array, std::size_t bytes) {
    if (array.base < 0) return;
    arrays.push_back(static_cast<std::byte*>(device.resolve(job.array(array.base) + array.offset, bytes)));
    array.base = static_cast<std::int32_t>(arrays.size() - 1);
    array.offset = 0;
  };
  for (CellArray& child : children)
    move(child, child.plane * child.dims.size() * (child.is_complex != 0 ? 2 : 1) * sizeof(double));
  for (CellItem& item : items) move(item, item.n_value * bytes_per_value);
  job.d_item = items.data();
  job.d_child = children.data();
  job.d_many = arrays.data();
}

}  // namespace rimetree
