// Reading results cell by cell, whatever axes they vary on.
#pragma once

#include <algorithm>

#include "runtime/core/values/result.h"

namespace rimetree::solve {

/// A plane of values that are broadcast over elements and cells.
class Operand {
 public:
  Operand() = default;
  explicit Operand(const Vells& values)
      : values_(&values),
        stride_(broadcast_strides(values.cells())),
        per_element_(values.cells_per_element()),
        scalar_(values.dims().is_scalar()) {}
  Complex<double> at(std::size_t element, std::size_t t, std::size_t f) const {
    return values_->at(scalar_ ? 0 : element, t * stride_[0] + f * stride_[1]);
  }
  /// Copies the values of `rows` times from t on, of n cells from f on each, real and imaginary parts apart.
  void copy_rows(std::size_t element, std::size_t t, std::size_t rows, std::size_t f, std::size_t n, double* re,
                 double* im) const {
    const std::size_t first = first_of(element, t, f), step = stride_[1];
    const bool is_complex = values_->is_complex();
    const Complex<double>* numbers = is_complex ? values_->complex() + first : nullptr;
    const double* reals = is_complex ? nullptr : values_->real() + first;
    for (std::size_t row = 0; row < rows; ++row, re += n, im += n) {
      if (is_complex) {
        const Complex<double>* from = numbers + row * stride_[0];
        if (step == 1)  // the compiler has vectors for this
          for (std::size_t i = 0; i < n; ++i) re[i] = from[i].re, im[i] = from[i].im;
        else
          for (std::size_t i = 0; i < n; ++i) re[i] = from[i * step].re, im[i] = from[i * step].im;
      } else {
        const double* from = reals + row * stride_[0];
        for (std::size_t i = 0; i < n; ++i) re[i] = from[i * step], im[i] = 0;
      }
    }
  }
  /// Real parts only.
  void copy_real_rows(std::size_t element, std::size_t t, std::size_t rows, std::size_t f, std::size_t n,
                      double* to) const {
    const std::size_t first = first_of(element, t, f), step = stride_[1];
    const bool is_complex = values_->is_complex();
    for (std::size_t row = 0; row < rows; ++row, to += n) {
      const std::size_t from = first + row * stride_[0];
      if (is_complex)
        for (std::size_t i = 0; i < n; ++i) to[i] = values_->complex()[from + i * step].re;
      else if (step == 1)
        std::copy_n(values_->real() + from, n, to);
      else
        for (std::size_t i = 0; i < n; ++i) to[i] = values_->real()[from + i * step];
    }
  }

 private:
  std::size_t first_of(std::size_t element, std::size_t t, std::size_t f) const {
    return (scalar_ ? 0 : element) * per_element_ + t * stride_[0] + f * stride_[1];
  }

  const Vells* values_ = nullptr;
  std::array<std::size_t, kAxes> stride_{};
  std::size_t per_element_ = 0;  ///< cells
  bool scalar_ = false;
};

/// Flags that are broadcast over elements and cells.
class FlagOperand {
 public:
  FlagOperand() = default;
  explicit FlagOperand(const Flags& flags) : flags_(flags.empty() ? nullptr : &flags) {
    if (flags_ != nullptr) stride_ = broadcast_strides(flags.cells());
  }
  bool at(std::size_t element, std::size_t t, std::size_t f) const {
    return flags_ != nullptr && flags_->plane(element)[t * stride_[0] + f * stride_[1]] != 0;
  }
  bool empty() const { return flags_ == nullptr; }
  /// Whether any element is flagged on the cell.
  bool any(std::size_t t, std::size_t f) const {
    if (flags_ == nullptr) return false;
    for (std::size_t plane = 0; plane < flags_->planes(); ++plane)
      if (at(plane, t, f)) return true;
    return false;
  }

 private:
  const Flags* flags_ = nullptr;
  std::array<std::size_t, kAxes> stride_{};
};

}  // namespace rimetree::solve
