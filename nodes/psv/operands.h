// The PSV node's children as the kernels read them.
#pragma once

#include <string>
#include <type_traits>
#include <vector>

#include "nodes/psv/problem.h"
#include "runtime/core/classes/smearing_widths.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/math/traced.h"

namespace rimetree::psv {

enum Slot : std::size_t { kLmn, kBrightness, kUvw, kShape, kFirstJones };

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

/// A child of the node as an array of T is made from: its value; for dual numbers its derivative with respect to a
/// parameter; for extended precision the value moved along that; for traced numbers where its adjoint is collected.
struct Source {
  const ParameterId* parameter = nullptr;
  long double step = 0;
  const PullBack* pull = nullptr;
  Tape<double>* tape = nullptr;
};

/// A child's values as an array of T, real or complex, with its strides. Doubles are not copied: the child must outlive
/// this.
template <class T>
class Operand {
 public:
  Operand() = default;
  Operand(const Evaluation& evaluation, std::size_t slot, const Source& source, bool as_complex) {
    const Result& child = evaluation.child(slot);
    read(child.value, source.parameter ? child.derivative(*source.parameter) : nullptr,
         source.pull ? source.pull->child(slot) : nullptr, source, as_complex);
  }
  /// The derivative that a result along one direction has, all zero where there is none.
  explicit Operand(const Vells& values) { read(values, nullptr, nullptr, {}, true); }

  /// View of element `element` of sources that hold `per_source` elements each.
  Strided<T> real(int element, int per_source) const {
    return {(childs_real_ ? childs_real_ : real_.data()) + element * plane_, per_source * plane_, time_, channel_};
  }
  Strided<Complex<T>> complex(int element, int per_source) const {
    const Complex<T>* data = childs_complex_ ? childs_complex_ : complex_.data();
    return {data + element * plane_, per_source * plane_, time_, channel_};
  }

 private:
  void read(const Vells& value, const Vells* derivative, Vells* adjoint, const Source& source, bool as_complex) {
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
    // The numbers of a real child stand in a row; a complex one has its real and imaginary parts in turn.
    double* target = adjoint == nullptr ? nullptr : adjoint->is_complex() ? &adjoint->complex()->re : adjoint->real();
    const auto next = [&]() -> double* { return target == nullptr ? nullptr : target++; };
    if (as_complex)
      fill(complex_, [&](Complex<double> v, Complex<double> d) {
        const T re = number(v.re, d.re, source, next(), T());
        return Complex<T>(re, value.is_complex() ? number(v.im, d.im, source, next(), T()) : T(0));
      });
    else
      fill(real_, [&](Complex<double> v, Complex<double> d) {
        const T x = number(v.re, d.re, source, next(), T());
        if (value.is_complex()) next();
        return x;
      });
  }
  static double number(double v, double, const Source&, double*, double) { return v; }
  static Dual<double> number(double v, double d, const Source&, double*, Dual<double>) { return {v, d}; }
  static long double number(double v, double d, const Source& source, double*, long double) {
    return v + source.step * d;
  }
  static Traced<double> number(double v, double, const Source& source, double* target, Traced<double>) {
    if (target == nullptr) return v;
    return {v, source.tape->input(target), source.tape};
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

/// What all evaluations of one node class instance have in common, from state and dimensions: numbers.
struct LayoutNumbers {
  std::int32_t n_source = 0, brightness_elements = 1;
  std::int32_t shape_columns = 0;  ///< 0: points; 3: axes in the plane; 6: axes as vectors; one more: with a profile
  bool has_rates = false;
  std::int32_t n_minus = 1;
  bool smear_time = true, smear_frequency = true;
  SmearingWidths widths;

  bool is_smeared_in_frequency() const { return has_rates && smear_frequency; }
  RT_HD bool shapes_are_vectors() const { return shape_columns >= 6; }
  RT_HD std::int32_t axis_columns() const { return shapes_are_vectors() ? 6 : 3; }
  RT_HD bool has_profiles() const { return shape_columns > 0 && shape_columns != axis_columns(); }
};
struct ChildLayout : LayoutNumbers {
  std::vector<int> jones_elements;
  bool has_common_jones = false;      ///< some Jones term is one for all sources (repeated_terms.h)
  bool is_dark_without_flux = false;  ///< sources of 0 Jy may be left out, as Jones terms are finite there
};

template <class T>
std::vector<JonesPair<T>> jones_pairs(const ChildLayout& layout, const Operand<T>* operands) {
  std::vector<JonesPair<T>> pairs(layout.jones_elements.size() / 2);
  for (std::size_t i = 0; i < layout.jones_elements.size(); ++i) {
    JonesPair<T>& pair = pairs[i / 2];
    const bool is_matrix = layout.jones_elements[i] == 4;
    auto* side = i % 2 == 0 ? pair.p : pair.q;
    (i % 2 == 0 ? pair.p_is_matrix : pair.q_is_matrix) = is_matrix;
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

/// Views of the sources.
template <class T>
SkyViews<T> sky_views(const ChildLayout& layout, const SkyOperands<T>& sky, std::size_t n_channel) {
  SkyViews<T> views;
  views.n_source = layout.n_source;
  views.n_channel = static_cast<std::ptrdiff_t>(n_channel);
  views.n_minus = layout.n_minus;
  views.l = sky.lmn.real(0, 3), views.m = sky.lmn.real(1, 3), views.n = sky.lmn.real(2, 3);
  set_brightness(sky.brightness, layout.brightness_elements, views.brightness);
  if (!sky.has_shape) return views;
  const auto column = [&](int i) { return sky.shape.real(i, layout.shape_columns); };
  if (layout.shapes_are_vectors())
    for (int i = 0; i < 6; ++i) views.axes[i] = column(i);
  else
    views.major = column(0), views.minor = column(1), views.position_angle = column(2);
  if (layout.has_profiles()) views.profile = column(layout.axis_columns());
  return views;
}

template <class T>
SkyOperands<T> sky_operands(const Evaluation& evaluation, const Source& source) {
  SkyOperands<T> sky;
  sky.lmn = {evaluation, kLmn, source, false};
  sky.brightness = {evaluation, kBrightness, source, true};
  sky.has_shape = evaluation.has_child(kShape);
  if (sky.has_shape) sky.shape = {evaluation, kShape, source, false};
  return sky;
}

template <class T>
BaselineOperands<T> baseline_operands(const ChildLayout& layout, const Evaluation& evaluation, const Source& source) {
  BaselineOperands<T> baseline;
  baseline.uvw = {evaluation, kUvw, source, false};
  for (std::size_t k = 0; k < layout.jones_elements.size(); ++k)
    baseline.jones.emplace_back(evaluation, kFirstJones + k, source, true);
  baseline.pairs = jones_pairs(layout, baseline.jones.data());
  return baseline;
}

/// Time cells of the result: those of the children, or all of the request where time smearing needs their widths.
inline std::int32_t n_time(const ChildLayout& layout, const Evaluation& evaluation) {
  CellShape cells;
  for (const Result* child : evaluation.children())
    if (child != nullptr) cells = broadcast(cells, child->value.cells());
  if (cells.extent[2] != 1 || cells.extent[3] != 1) throw ShapeError("PSV knows the time and freq axes only");
  if (layout.has_rates && layout.smear_time && layout.widths.time_s == 0 && evaluation.cells().has(Axis::time))
    return evaluation.cells().shape()[Axis::time];
  return cells[Axis::time];
}

/// Whether directions and shapes vary neither in time nor in frequency, and baselines not in frequency.
inline bool places_are_constant(const Evaluation& evaluation) {
  const auto constant = [](const Result& child) {
    const CellShape& cells = child.value.cells();
    return cells[Axis::time] == 1 && cells[Axis::frequency] == 1;
  };
  return evaluation.cells().has(Axis::frequency) && constant(evaluation.child(kLmn)) &&
         (!evaluation.has_child(kShape) || constant(evaluation.child(kShape))) &&
         evaluation.child(kUvw).value.cells()[Axis::frequency] == 1 && !evaluation.child(kUvw).value.is_complex();
}
/// Whether the fast kernels take it: a sky that does not vary in time, nor but for its brightness in frequency.
inline bool is_constant_in_time(const Evaluation& evaluation) {
  return places_are_constant(evaluation) && evaluation.child(kBrightness).value.cells()[Axis::time] == 1;
}

/// The problem of one baseline on the cells of its evaluation.
template <class T>
Problem<T> problem_of(const ChildLayout& layout, const Evaluation& evaluation, const SkyOperands<T>& sky,
                      const BaselineOperands<T>& baseline) {
  const Cells& cells = evaluation.cells();
  const AxisGrid& frequency = cells.require(Axis::frequency);
  Problem<T> problem{sky_views(layout, sky, frequency.centre.size())};
  problem.n_time = n_time(layout, evaluation);
  Strided<T>* uvw[6] = {&problem.u, &problem.v, &problem.w, &problem.du, &problem.dv, &problem.dw};
  for (int i = 0; i < (layout.has_rates ? 6 : 3); ++i) {
    *uvw[i] = baseline.uvw.real(i, 0);
    uvw[i]->source = 0;
  }
  problem.jones = baseline.pairs.data();
  problem.n_jones = static_cast<int>(baseline.pairs.size());
  problem.frequency_hz = frequency.centre.data();
  problem.width_hz = {frequency.width.data(), layout.widths.freq_hz};
  problem.exposure_s = {cells.has(Axis::time) ? cells.axis(Axis::time).width.data() : nullptr, layout.widths.time_s};
  problem.smear_time = layout.smear_time;
  problem.smear_frequency = layout.smear_frequency;
  return problem;
}

}  // namespace rimetree::psv
