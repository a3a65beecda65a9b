// The PSV node's children as the kernels read them.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "nodes/psv/problem.h"
#include "runtime/error.h"
#include "runtime/result.h"

namespace rimetree::psv {

/// Number of matrix elements per source of a child of dimensions [S], [S,2,2] or, for one source, [] or [2,2].
inline int elements_per_source(const TensorShape& dims, int n_source, const std::string& label) {
  const auto size = static_cast<int>(dims.size());
  if (size == n_source && (dims.rank == 0 || dims[0] == n_source)) return 1;
  const bool ends_in_matrix = dims.rank >= 2 && dims[dims.rank - 1] == 2 && dims[dims.rank - 2] == 2;
  if (ends_in_matrix && size == 4 * n_source) return 4;
  const std::string s = std::to_string(n_source);
  throw ShapeError("child \"" + label + "\" has dimensions " + to_string(dims) + "; expected [" + s + "] or [" + s +
                   ",2,2], for the " + s + " sources of lmn");
}

/// A child's values as an array of T (double or Dual<double>), real or complex, with its strides. What has that type
/// already is not copied: the child must outlive this.
template <class T>
class Operand {
 public:
  Operand() = default;
  Operand(const Result& child, const ParameterId* parameter, bool as_complex) {
    const Vells& value = child.value;
    const Vells* derivative = parameter ? child.derivative(*parameter) : nullptr;
    const CellShape& cells = value.cells();
    const auto stride = broadcast_strides(cells);
    plane_ = static_cast<std::ptrdiff_t>(cells.size());
    time_ = static_cast<std::ptrdiff_t>(stride[0]);
    channel_ = static_cast<std::ptrdiff_t>(stride[1]);
    const auto d_stride = derivative ? broadcast_strides(derivative->cells()) : std::array<std::size_t, kAxes>{};
    if constexpr (std::is_same_v<T, double>) {
      if (as_complex && value.is_complex()) {
        childs_complex_ = value.complex();
        return;
      }
      if (!as_complex && !value.is_complex()) {
        childs_real_ = value.real();
        return;
      }
    }
    const auto fill = [&](auto& target, auto make) {
      target.resize(value.size());
      std::size_t i = 0;
      for (std::size_t e = 0; e < value.dims().size(); ++e)
        for (int t = 0; t < cells.extent[0]; ++t)
          for (int f = 0; f < cells.extent[1]; ++f, ++i) {
            const Complex<double> d = derivative ? derivative->at(e, static_cast<std::size_t>(t) * d_stride[0] +
                                                                         static_cast<std::size_t>(f) * d_stride[1])
                                                 : Complex<double>();
            target[i] = make(value.at(e, i - e * value.cells_per_element()), d);
          }
    };
    if (as_complex)
      fill(complex_,
           [](Complex<double> v, Complex<double> d) { return Complex<T>(number(v.re, d.re), number(v.im, d.im)); });
    else
      fill(real_, [](Complex<double> v, Complex<double> d) { return number(v.re, d.re); });
  }

  /// View of element `element` of sources that hold `per_source` elements each.
  Strided<T> real(int element, int per_source) const {
    return {(childs_real_ ? childs_real_ : real_.data()) + element * plane_, per_source * plane_, time_, channel_};
  }
  Strided<Complex<T>> complex(int element, int per_source) const {
    const Complex<T>* data = childs_complex_ ? childs_complex_ : complex_.data();
    return {data + element * plane_, per_source * plane_, time_, channel_};
  }

 private:
  static T number(double v, double d) {
    if constexpr (std::is_same_v<T, double>)
      return (void)d, v;
    else
      return {v, d};
  }
  std::vector<T> real_;
  std::vector<Complex<T>> complex_;
  const T* childs_real_ = nullptr;
  const Complex<T>* childs_complex_ = nullptr;
  std::ptrdiff_t plane_ = 0, time_ = 0, channel_ = 0;
};

/// Brightness as XX XY YX YY; a scalar is an unpolarised source.
template <class T>
void set_brightness(const Operand<T>& operand, int per_source, Strided<Complex<T>>* brightness) {
  if (per_source == 1) {
    brightness[0] = brightness[3] = operand.complex(0, 1);
  } else {
    for (int i = 0; i < 4; ++i) brightness[i] = operand.complex(i, 4);
  }
}

/// What all evaluations of one node class instance have in common, from state and dimensions.
struct ChildLayout {
  int n_source = 0, brightness_elements = 1;
  bool has_rates = false;
  std::vector<int> jones_elements;
};

template <class T>
std::vector<JonesPair<T>> jones_pairs(const ChildLayout& layout, const Operand<T>* operands) {
  std::vector<JonesPair<T>> pairs(layout.jones_elements.size() / 2);
  for (std::size_t i = 0; i < layout.jones_elements.size(); ++i) {
    JonesPair<T>& pair = pairs[i / 2];
    const bool is_matrix = layout.jones_elements[i] == 4;
    auto* side = i % 2 == 0 ? pair.p : pair.q;
    (i % 2 == 0 ? pair.p_is_matrix : pair.q_is_matrix) = is_matrix;
    pair.q_is_adjoint = true;
    for (int e = 0; e < (is_matrix ? 4 : 1); ++e) side[e] = operands[i].complex(e, is_matrix ? 4 : 1);
  }
  return pairs;
}

/// The children that all baselines of a group share.
template <class T>
struct SkyOperands {
  Operand<T> lmn, brightness, shape;
  bool has_shape = false;
};

/// A baseline's own children. Views of it point into it: it must stay where it is.
template <class T>
struct BaselineOperands {
  Operand<T> uvw;
  std::vector<Operand<T>> jones;
  std::vector<JonesPair<T>> pairs;
};

/// The problem of one baseline, but for its cells and what may be smeared.
template <class T>
Problem<T> problem_of(const ChildLayout& layout, const SkyOperands<T>& sky, const BaselineOperands<T>& baseline) {
  Problem<T> problem;
  problem.n_source = layout.n_source;
  problem.l = sky.lmn.real(0, 3);
  problem.m = sky.lmn.real(1, 3);
  problem.n = sky.lmn.real(2, 3);
  set_brightness(sky.brightness, layout.brightness_elements, problem.brightness);
  if (sky.has_shape) {
    problem.major = sky.shape.real(0, 3);
    problem.minor = sky.shape.real(1, 3);
    problem.position_angle = sky.shape.real(2, 3);
  }
  Strided<T>* uvw[6] = {&problem.u, &problem.v, &problem.w, &problem.du, &problem.dv, &problem.dw};
  for (int i = 0; i < (layout.has_rates ? 6 : 3); ++i) {
    *uvw[i] = baseline.uvw.real(i, 0);
    uvw[i]->source = 0;
  }
  problem.jones = baseline.pairs.data();
  problem.n_jones = static_cast<int>(baseline.pairs.size());
  return problem;
}

}  // namespace rimetree::psv
