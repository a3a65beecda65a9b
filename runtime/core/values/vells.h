// Values of a tensor of quantities on the cells. One dense block: [tensor element][time][freq][l][m], where an axis on
// which nothing varies has length 1. Immutable once it is shared. Values that were made on a device stay there, and
// conjugate transposes are where their originals are; whoever reads such values on the host gets a copy, which is made
// once, for all who share them.
#pragma once

#include <memory>
#include <span>

#include "memory/device_block.h"
#include "memory/pool.h"
#include "runtime/core/cells/axes.h"
#include "runtime/core/values/tensor_shape.h"
#include "runtime/math/complex.h"

namespace rimetree {

enum class NumberType : std::uint8_t { real, complex };  ///< double, or Complex<double>

class Vells {
 public:
  Vells() = default;
  /// Uninitialised values in memory of the pool.
  Vells(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells);

  /// Values that are there already, and do not change.
  Vells(std::shared_ptr<const double> numbers, NumberType type, const TensorShape& dims, const CellShape& cells)
      : data_(std::const_pointer_cast<double>(std::move(numbers))), dims_(dims), cells_(cells), type_(type) {}

  /// Values that work queued on a device gives.
  Vells(std::shared_ptr<const memory::DeviceSlice> device, NumberType type, const TensorShape& dims,
        const CellShape& cells)
      : device_(std::move(device)), dims_(dims), cells_(cells), type_(type) {}

  /// The conjugate transposes of the matrices of x, or of scalars the conjugates. They take no memory before somebody
  /// reads them as such.
  static Vells conjugate_transpose(memory::Pool& pool, const Vells& x);

  bool empty() const { return data_ == nullptr && device_ == nullptr && original_ == nullptr; }
  NumberType type() const { return type_; }
  bool is_complex() const { return type_ == NumberType::complex; }
  const TensorShape& dims() const { return dims_; }
  const CellShape& cells() const { return cells_; }
  std::size_t cells_per_element() const { return cells_.size(); }
  /// Number of values: elements times cells.
  std::size_t size() const { return dims_.size() * cells_.size(); }
  std::size_t bytes() const { return size() * (is_complex() ? sizeof(Complex<double>) : sizeof(double)); }

  // Typed access on the host; the type must be the right one. From any thread.
  const double* real() const { return static_cast<const double*>(host()); }
  const Complex<double>* complex() const { return static_cast<const Complex<double>*>(host()); }
  /// The numbers, whatever their type.
  const void* host() const { return storage().get(); }
  /// Writable while it is being made and not yet shared.
  double* real() { return static_cast<double*>(storage().get()); }
  Complex<double>* complex() { return static_cast<Complex<double>*>(storage().get()); }

  /// Value of an element on a cell (linear within the element), promoted to complex.
  Complex<double> at(std::size_t element, std::size_t cell = 0) const {
    const std::size_t i = element * cells_.size() + cell;
    return is_complex() ? complex()[i] : Complex<double>(real()[i]);
  }
  /// The memory on the host, for those who keep it alive without copying (NumPy views).
  const std::shared_ptr<void>& storage() const { return data_ != nullptr || empty() ? data_ : host_copy(); }

  /// What these are the conjugate transposes of, for those who can read it instead; nullptr: they stand for themselves.
  const Vells* original() const;

  /// Where the values are on a device; nullptr: they were made on the host.
  const std::shared_ptr<const memory::DeviceSlice>& device() const { return device_; }
  /// Whether reading them on the host copies nothing.
  bool is_on_host() const {
    if (original_ != nullptr) return original()->is_on_host();
    return data_ != nullptr || (device_ != nullptr && device_->has_host_copy());
  }

 private:
  struct Original;
  const std::shared_ptr<void>& host_copy() const;

  std::shared_ptr<void> data_;  // values made on the host
  std::shared_ptr<const memory::DeviceSlice> device_;
  std::shared_ptr<Original> original_;
  TensorShape dims_;
  CellShape cells_;
  NumberType type_ = NumberType::real;
};

/// Copies to the host what is on a device only, as few copies as possible.
void bring_to_host(std::span<const Vells* const> values);

/// Strides of the cell axes in values, 0 along axes of length 1, so that one index walks operands of every shape.
std::array<std::size_t, kAxes> broadcast_strides(const CellShape& shape);

}  // namespace rimetree
