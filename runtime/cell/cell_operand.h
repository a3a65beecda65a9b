// Children's values, one cell at a time, as the numbers that a class's function of one cell works on: plain, with a
// derivative, or on a tape.
#pragma once

#include <limits>

#include "runtime/core/error.h"
#include "runtime/core/values/result.h"
#include "runtime/device/cell_numbers.h"
#include "runtime/math/traced.h"

namespace rimetree {

/// What a coordinate is for a class that does not declare its axis: nothing that could be taken for a result.
inline constexpr double kNotDeclared = std::numeric_limits<double>::quiet_NaN();

namespace cell_detail {

template <class T>
inline constexpr bool is_traced = false;
template <class T>
inline constexpr bool is_traced<Traced<T>> = true;

/// Throws of a body that reads what is not there. `dims`: of the child; nullptr: there is none.
[[noreturn]] inline void refuse_read(std::size_t child, std::size_t element, const TensorShape* dims) {
  const std::string name = "child " + std::to_string(child);
  if (dims == nullptr) throw Error("its body reads " + name + ", which is not there");
  throw Error("its body reads element " + std::to_string(element) + " of " + name + ", which has dimensions " +
              to_string(*dims));
}

/// A child's values at the current cell and, for dual numbers, its derivative along one parameter, or for traced ones
/// where its adjoint is to be added to.
struct Operand {
  const Vells* value = nullptr;
  const void* numbers = nullptr;      ///< those of the value
  const Vells* derivative = nullptr;  ///< nullptr: zero
  long double step = 0;               ///< for extended precision: the value is moved by so much of the derivative
  Vells* adjoint = nullptr;           ///< nullptr: not wanted
  Tape<double>* tape = nullptr;
  std::array<std::size_t, kAxes> stride{}, derivative_stride{};
  std::size_t plane = 0, derivative_plane = 0;    ///< values between elements
  std::size_t offset = 0, derivative_offset = 0;  ///< of the current cell

  Operand(const Result& child, const ParameterId* parameter)
      : value(&child.value),
        numbers(child.value.host()),
        derivative(parameter ? child.derivative(*parameter) : nullptr),
        stride(broadcast_strides(child.value.cells())),
        plane(child.value.cells_per_element()) {
    if (derivative == nullptr) return;
    derivative_stride = broadcast_strides(derivative->cells());
    derivative_plane = derivative->cells_per_element();
  }
  Operand(const Result& child, Vells* child_adjoint, Tape<double>& on) : Operand(child, nullptr) {
    adjoint = child_adjoint;
    tape = &on;
  }
  void move_to(const std::array<int, kAxes>& cell) {
    offset = derivative_offset = 0;
    for (int axis = 0; axis < kAxes; ++axis) {
      offset += static_cast<std::size_t>(cell[axis]) * stride[axis];
      derivative_offset += static_cast<std::size_t>(cell[axis]) * derivative_stride[axis];
    }
  }
  /// To the next cell along an axis.
  void step_along(int axis) { offset += stride[axis], derivative_offset += derivative_stride[axis]; }
  template <class N>
  N load(std::size_t element) const {
    using Real = typename NumberTraits<N>::Real;
    const auto number = [](bool is_complex, const void* all, std::size_t i) {
      if constexpr (NumberTraits<N>::is_complex)
        return is_complex ? static_cast<const Complex<double>*>(all)[i]
                          : Complex<double>(static_cast<const double*>(all)[i]);
      else
        return static_cast<const double*>(all)[i];
    };
    const auto v = number(value->is_complex(), numbers, offset + element * plane);
    if constexpr (is_traced<Real>) {
      if (adjoint == nullptr) return promoted<N>(v);
      const std::size_t at = offset + element * plane;
      const auto input = [this](double x, double* target) { return Real(x, tape->input(target), tape); };
      if constexpr (!NumberTraits<N>::is_complex)
        return input(v, adjoint->real() + at);
      else if (adjoint->is_complex())
        return {input(v.re, &adjoint->complex()[at].re), input(v.im, &adjoint->complex()[at].im)};
      else
        return input(v.re, adjoint->real() + at);
    } else if constexpr (std::is_same_v<Real, double>) {
      return v;
    } else {
      decltype(number(false, nullptr, 0)) d{};
      if (derivative != nullptr)
        d = number(derivative->is_complex(), derivative->host(), derivative_offset + element * derivative_plane);
      if constexpr (NumberTraits<N>::is_complex)
        return {along(v.re, d.re, Real()), along(v.im, d.im, Real())};
      else
        return along(v, d, Real());
    }
  }

 private:
  template <class N>
  static N promoted(double v) {
    return v;
  }
  template <class N>
  static N promoted(Complex<double> v) {
    return {v.re, v.im};
  }
  Dual<double> along(double v, double d, Dual<double>) const { return {v, d}; }
  long double along(double v, double d, long double) const { return v + step * d; }
};

template <class Out>
void store(Vells& target, std::size_t i, const Out& x) {
  using Real = typename NumberTraits<Out>::Real;
  if constexpr (is_dual<Real>)
    store(target, i, derivative_of(x));
  else if constexpr (NumberTraits<Out>::is_complex)
    target.complex()[i] = x;
  else
    target.real()[i] = x;
}

/// Takes an outcome's adjoint from number i of `adjoint` to the tape.
template <class Out>
void seed(Tape<double>& tape, const Vells& adjoint, std::size_t i, const Out& x) {
  if constexpr (NumberTraits<Out>::is_complex) {
    tape.seed(x.re.number, adjoint.complex()[i].re);
    tape.seed(x.im.number, adjoint.complex()[i].im);
  } else {
    tape.seed(x.number, adjoint.real()[i]);
  }
}

inline bool is_zero(const Vells& adjoint, std::size_t i) {
  return adjoint.is_complex() ? adjoint.complex()[i] == Complex<double>() : adjoint.real()[i] == 0;
}

}  // namespace cell_detail

}  // namespace rimetree
