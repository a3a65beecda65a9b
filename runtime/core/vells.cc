#include "runtime/core/vells.h"

#include <vector>

namespace rimetree {

Vells::Vells(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells)
    : dims_(dims), cells_(cells), type_(type) {
  data_ = pool.allocate(bytes());
}

void bring_to_host(std::span<const Vells* const> values) {
  std::vector<const memory::DeviceSlice*> slices;
  for (const Vells* one : values)
    if (one->device() != nullptr && !one->is_on_host()) slices.push_back(one->device().get());
  memory::DeviceSlice::fetch(slices);
}

std::array<std::size_t, kAxes> broadcast_strides(const CellShape& shape) {
  std::array<std::size_t, kAxes> stride{};
  std::size_t step = 1;
  for (int axis = kAxes - 1; axis >= 0; --axis) {
    const auto extent = static_cast<std::size_t>(shape.extent[axis]);
    stride[axis] = extent == 1 ? 0 : step;
    step *= extent;
  }
  return stride;
}

}  // namespace rimetree
