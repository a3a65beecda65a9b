// Values of a tensor of quantities on the cells. One dense block: [tensor element][time][freq][l][m], where an axis on
// which nothing varies has length 1. Immutable once it is shared.
#pragma once

#include <memory>
#include <span>

#include "memory/pool.h"
#include "runtime/axes.h"
#include "runtime/math/complex.h"
#include "runtime/tensor_shape.h"

namespace rimetree {

enum class NumberType : std::uint8_t { real, complex };  ///< double, or Complex<double>

class Vells {
 public:
  Vells() = default;
  /// Uninitialised values in memory of the pool.
  Vells(memory::Pool& pool, NumberType type, const TensorShape& dims, const CellShape& cells);

  bool empty() const { return data_ == nullptr; }
  NumberType type() const { return type_; }
  bool is_complex() const { return type_ == NumberType::complex; }
  const TensorShape& dims() const { return dims_; }
  const CellShape& cells() const { return cells_; }
  std::size_t cells_per_element() const { return cells_.size(); }
  /// Number of values: elements times cells.
  std::size_t size() const { return dims_.size() * cells_.size(); }
  std::size_t bytes() const { return size() * (is_complex() ? sizeof(Complex<double>) : sizeof(double)); }

  // Typed access; the type must be the right one.
  const double* real() const { return static_cast<const double*>(data_.get()); }
  const Complex<double>* complex() const { return static_cast<const Complex<double>*>(data_.get()); }
  /// Writable while it is being made and not yet shared.
  double* real() { return static_cast<double*>(data_.get()); }
  Complex<double>* complex() { return static_cast<Complex<double>*>(data_.get()); }

  /// Value of an element on a cell (linear within the element), promoted to complex.
  Complex<double> at(std::size_t element, std::size_t cell = 0) const {
    const std::size_t i = element * cells_.size() + cell;
    return is_complex() ? complex()[i] : Complex<double>(real()[i]);
  }
  /// The memory, for those who keep it alive without copying (NumPy views).
  const std::shared_ptr<void>& storage() const { return data_; }

 private:
  std::shared_ptr<void> data_;
  TensorShape dims_;
  CellShape cells_;
  NumberType type_ = NumberType::real;
};

/// Strides of the cell axes in values, 0 along axes of length 1, so that one index walks operands of every shape.
std::array<std::size_t, kAxes> broadcast_strides(const CellShape& shape);

}  // namespace rimetree
