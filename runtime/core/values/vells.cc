#include "runtime/core/values/vells.h"

#include <algorithm>
#include <mutex>
#include <type_traits>
#include <vector>

namespace rimetree {

Vells::Vells(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells)
    : dims_(dims), cells_(cells), type_(type) {
  data_ = pool.allocate(bytes());
}

namespace {

template <class T>
void transpose(const Vells& from, T* to) {
  const std::size_t plane = from.cells_per_element();
  const T* values = static_cast<const T*>(from.host());
  const TensorShape dims = from.dims().transposed();
  for (std::size_t e = 0; e < dims.size(); ++e, to += plane) {
    const T* element = values + dims.transposed(e) * plane;
    if constexpr (std::is_same_v<T, double>)
      std::copy(element, element + plane, to);
    else
      std::transform(element, element + plane, to, [](T z) { return conj(z); });
  }
}

}  // namespace

struct Vells::Original {
  Vells values;
  std::shared_ptr<memory::Pool> pool;
  std::once_flag once;
  std::shared_ptr<void> conjugate_transpose;  // written once
};

Vells Vells::conjugate_transpose(memory::Pool& pool, const Vells& x) {
  Vells values;
  values.original_ = std::make_shared<Original>();
  values.original_->values = x;
  values.original_->pool = pool.shared_from_this();
  values.dims_ = x.dims().transposed();
  values.cells_ = x.cells();
  values.type_ = x.type();
  return values;
}

const Vells* Vells::original() const { return original_ == nullptr ? nullptr : &original_->values; }

const std::shared_ptr<void>& Vells::host_copy() const {
  if (device_ != nullptr) return device_->host();
  std::call_once(original_->once, [this] {
    Vells written(*original_->pool, type_, dims_, cells_);
    is_complex() ? transpose(original_->values, written.complex()) : transpose(original_->values, written.real());
    original_->conjugate_transpose = written.data_;
  });
  return original_->conjugate_transpose;
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
