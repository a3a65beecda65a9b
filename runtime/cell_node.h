// Nodes whose result on a cell depends on their children on that cell only: nearly all of them. A class writes one
// function of one cell, templated on the number type; this file gives it broadcasting, real and complex numbers, and
// exact derivatives, forward (the same function on dual numbers) and in reverse (on traced ones).
#pragma once

#include <optional>
#include <type_traits>
#include <vector>

#include "runtime/error.h"
#include "runtime/flag_rules.h"
#include "runtime/math/traced.h"
#include "runtime/node.h"
#include "runtime/pull_back.h"

namespace rimetree {

/// Which numbers a class takes and gives.
enum class Numbers {
  same,             ///< complex if any child is, else real; gives the same
  real_to_real,     ///< real children only
  real_to_complex,  ///< real children only, gives complex
  any_to_real,      ///< gives real whatever the children are
  any_to_complex,   ///< children are promoted to complex
};

namespace cell_detail {

template <class N>
struct NumberTraits {
  using Real = N;
  static constexpr bool is_complex = false;
};
template <class T>
struct NumberTraits<Complex<T>> {
  using Real = T;
  static constexpr bool is_complex = true;
};
template <class T>
inline constexpr bool is_dual = false;
template <class T>
inline constexpr bool is_dual<Dual<T>> = true;
template <class T>
inline constexpr bool is_traced = false;
template <class T>
inline constexpr bool is_traced<Traced<T>> = true;

/// A child's values at the current cell and, for dual numbers, its derivative along one parameter, or for traced ones
/// where its adjoint is to be added to.
struct Operand {
  const Vells* value = nullptr;
  const Vells* derivative = nullptr;  ///< nullptr: zero
  long double step = 0;               ///< for extended precision: the value is moved by so much of the derivative
  Vells* adjoint = nullptr;           ///< nullptr: not wanted
  Tape<double>* tape = nullptr;
  std::array<std::size_t, kAxes> stride{}, derivative_stride{};
  std::size_t plane = 0, derivative_plane = 0;    ///< values between elements
  std::size_t offset = 0, derivative_offset = 0;  ///< of the current cell

  Operand(const Result& child, const ParameterId* parameter)
      : value(&child.value),
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
  template <class N>
  N load(std::size_t element) const {
    using Real = typename NumberTraits<N>::Real;
    const auto number = [](const Vells& vells, std::size_t i) {
      if constexpr (NumberTraits<N>::is_complex)
        return vells.is_complex() ? vells.complex()[i] : Complex<double>(vells.real()[i]);
      else
        return vells.real()[i];
    };
    const auto v = number(*value, offset + element * plane);
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
      decltype(number(*value, 0)) d{};
      if (derivative != nullptr) d = number(*derivative, derivative_offset + element * derivative_plane);
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
  if constexpr (NumberTraits<Out>::is_complex) {
    if constexpr (is_dual<Real>)
      target.complex()[i] = {x.re.d, x.im.d};
    else
      target.complex()[i] = x;
  } else {
    if constexpr (is_dual<Real>)
      target.real()[i] = x.d;
    else
      target.real()[i] = x;
  }
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

/// What a class's function of one cell sees. N is double, Dual<double>, Traced<double>, long double, or Complex of
/// these.
template <class N>
class CellInput {
 public:
  using Real = typename cell_detail::NumberTraits<N>::Real;

  /// Value of an element of a child on this cell.
  N operator()(std::size_t child, std::size_t element = 0) const { return operands_[child]->template load<N>(element); }
  std::size_t n_children() const { return operands_.size(); }
  bool has(std::size_t child) const { return child < operands_.size() && operands_[child].has_value(); }
  /// Dimensions of a child.
  const TensorShape& dims(std::size_t child) const { return operands_[child]->value->dims(); }

  // Where the cell is; valid if the class declares the axis in kAxes.
  double time_s = 0, time_width_s = 0, frequency_hz = 0, frequency_width_hz = 0;

 private:
  template <class Derived>
  friend class CellNode;
  std::vector<std::optional<cell_detail::Operand>> operands_;
};

/// Derived declares
///   static constexpr Numbers kNumbers;
///   static constexpr bool kVariesInTime, kVariesInFrequency;  (beyond the children; gives access to the coordinates)
///   template <class N, class Out> void cell(const CellInput<N>& in, Out* out) const;   (out: all elements, row-major)
template <class Derived>
class CellNode : public Node {
 public:
  using Node::Node;
  static constexpr bool kVariesInTime = false;
  static constexpr bool kVariesInFrequency = false;

  DependencySet own_dependencies() const override {
    return Derived::kVariesInTime || Derived::kVariesInFrequency ? kDomain : kNothing;
  }
  std::vector<Axis> own_axes() const override {
    std::vector<Axis> axes;
    if (Derived::kVariesInTime) axes.push_back(Axis::time);
    if (Derived::kVariesInFrequency) axes.push_back(Axis::frequency);
    return axes;
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    with_numbers(evaluation, [&]<class N, class Out>(Choice<N, Out>) {
      const CellShape shape = result_cells(evaluation);
      evaluation.set(fill<N, Out>(evaluation, shape, nullptr));
      for (const ParameterId& parameter : evaluation.parameters())
        evaluation.add(parameter, fill<Over<N, Dual<double>>, Over<Out, Dual<double>>>(evaluation, shape, &parameter));
    });
  }

  void pull_back(PullBack& pull) const override {
    with_numbers(pull.inputs, [&]<class N, class Out>(Choice<N, Out>) {
      pull_cells<Over<N, Traced<double>>, Over<Out, Traced<double>>>(pull);
    });
  }

 private:
  template <class N, class Out>
  struct Choice {};
  /// Real or complex like N, of another type of number.
  template <class N, class Real>
  using Over = std::conditional_t<cell_detail::NumberTraits<N>::is_complex, Complex<Real>, Real>;

  /// Calls f with the numbers that go in and come out.
  template <class F>
  static void with_numbers(const Evaluation& evaluation, const F& f) {
    bool any_complex = false;
    for (const Result* child : evaluation.children())
      any_complex = any_complex || (child != nullptr && child->value.is_complex());
    using C = Complex<double>;
    constexpr Numbers numbers = Derived::kNumbers;
    if constexpr (numbers == Numbers::real_to_real || numbers == Numbers::real_to_complex) {
      if (any_complex) throw ShapeError("children must be real, but one is complex");
      f(Choice<double, std::conditional_t<numbers == Numbers::real_to_complex, C, double>>());
    } else if constexpr (numbers == Numbers::any_to_complex) {
      f(Choice<C, C>());
    } else {
      if (any_complex)
        f(Choice<C, std::conditional_t<numbers == Numbers::same, C, double>>());
      else
        f(Choice<double, double>());
    }
  }

  static CellShape result_cells(const Evaluation& evaluation) {
    CellShape shape;
    for (const Result* child : evaluation.children())
      if (child != nullptr) shape = broadcast(shape, child->value.cells());
    if constexpr (Derived::kVariesInTime) extend(evaluation, Axis::time, shape);
    if constexpr (Derived::kVariesInFrequency) extend(evaluation, Axis::frequency, shape);
    return shape;
  }
  static void extend(const Evaluation& evaluation, Axis axis, CellShape& shape) {
    shape[axis] = static_cast<std::int32_t>(evaluation.cells().require(axis).centre.size());
  }

  template <class N, class Out>
  Vells fill(Evaluation& evaluation, const CellShape& shape, const ParameterId* parameter) const {
    constexpr NumberType type = cell_detail::NumberTraits<Out>::is_complex ? NumberType::complex : NumberType::real;
    Vells target = evaluation.make(type, shape);
    CellInput<N> in;
    for (const Result* child : evaluation.children()) {
      if (child == nullptr)
        in.operands_.emplace_back();
      else
        in.operands_.emplace_back(std::in_place, *child, parameter);
    }
    const std::size_t elements = target.dims().size(), plane = target.cells_per_element();
    std::vector<Out> out(elements);
    for_each_cell(evaluation.cells(), shape, in, [&](std::size_t i) {
      static_cast<const Derived&>(*this).template cell<N, Out>(in, out.data());
      for (std::size_t e = 0; e < elements; ++e) cell_detail::store(target, e * plane + i, out[e]);
    });
    return target;
  }

  template <class N, class Out>
  void pull_cells(PullBack& pull) const {
    static thread_local Tape<double> tape;
    tape.clear();
    CellInput<N> in;
    for (std::size_t slot = 0; slot < pull.inputs.children().size(); ++slot) {
      if (!pull.inputs.has_child(slot))
        in.operands_.emplace_back();
      else
        in.operands_.emplace_back(std::in_place, pull.inputs.child(slot), pull.child(slot), tape);
    }
    const std::size_t elements = pull.adjoint.dims().size(), plane = pull.adjoint.cells_per_element();
    std::vector<Out> out(elements);
    for_each_cell(pull.inputs.cells(), pull.adjoint.cells(), in, [&](std::size_t i) {
      // Where nothing depends on the result (flagged cells, say) its derivatives are of no concern, NaN or not.
      bool any = false;
      for (std::size_t e = 0; e < elements && !any; ++e) any = !cell_detail::is_zero(pull.adjoint, e * plane + i);
      if (!any) return;
      static_cast<const Derived&>(*this).template cell<N, Out>(in, out.data());
      for (std::size_t e = 0; e < elements; ++e) cell_detail::seed(tape, pull.adjoint, e * plane + i, out[e]);
      tape.flush();
    });
  }

  /// Calls body(i) for each cell i of the shape, last axis fastest, with `in` moved there.
  template <class N, class Body>
  static void for_each_cell(const Cells& cells, const CellShape& shape, CellInput<N>& in, const Body& body) {
    std::size_t i = 0;
    std::array<int, kAxes> cell{};
    const auto& n = shape.extent;
    for (cell[0] = 0; cell[0] < n[0]; ++cell[0]) {
      if constexpr (Derived::kVariesInTime) {
        in.time_s = cells.axis(Axis::time).centre[cell[0]];
        in.time_width_s = cells.axis(Axis::time).width[cell[0]];
      }
      for (cell[1] = 0; cell[1] < n[1]; ++cell[1]) {
        if constexpr (Derived::kVariesInFrequency) {
          in.frequency_hz = cells.axis(Axis::frequency).centre[cell[1]];
          in.frequency_width_hz = cells.axis(Axis::frequency).width[cell[1]];
        }
        for (cell[2] = 0; cell[2] < n[2]; ++cell[2])
          for (cell[3] = 0; cell[3] < n[3]; ++cell[3], ++i) {
            for (auto& operand : in.operands_)
              if (operand) operand->move_to(cell);
            body(i);
          }
      }
    }
  }
};

/// Every element by itself: scalars apply to all elements of a tensor, tensors must have equal dimensions. Body is a
/// host+device functor with `static N apply(N)` or `static N apply(N, N)`; with more than two children the second is
/// folded from left to right. Flags stay with their element.
template <class Body, Numbers kRule = Numbers::same>
class ElementwiseNode : public CellNode<ElementwiseNode<Body, kRule>> {
 public:
  using CellNode<ElementwiseNode<Body, kRule>>::CellNode;
  static constexpr Numbers kNumbers = kRule;

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    TensorShape dims;
    for (const TensorShape* child : children) {
      if (child->is_scalar()) continue;
      if (!dims.is_scalar() && !(dims == *child))
        throw ShapeError("children have dimensions " + to_string(dims) + " and " + to_string(*child) +
                         "; they must be equal, or scalar");
      dims = *child;
    }
    return dims;
  }

  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    const std::size_t elements = this->dims().size();
    for (std::size_t e = 0; e < elements; ++e) {
      const auto argument = [&](std::size_t child) { return in(child, in.dims(child).is_scalar() ? 0 : e); };
      if constexpr (requires(N a) { Body::apply(a); }) {
        out[e] = Body::apply(argument(0));
      } else {
        auto value = argument(0);
        if constexpr (std::is_same_v<decltype(Body::apply(value, value)), N>) {
          for (std::size_t child = 1; child < in.n_children(); ++child) value = Body::apply(value, argument(child));
          out[e] = value;
        } else {  // gives another type than it takes: two children exactly
          out[e] = Body::apply(value, argument(1));
        }
      }
    }
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    CellNode<ElementwiseNode<Body, kRule>>::evaluate(evaluation);
    const std::size_t elements = this->dims().size();
    bool any = false, per_element = false;
    for (const Result* child : evaluation.children()) {
      any = any || !child->flags.empty();
      per_element = per_element || child->flags.planes() > 1;
    }
    if (!any || !per_element) return;  // the default rule gives the same
    Flags flags(evaluation.pool, elements, flag_cells(evaluation));
    for (const Result* child : evaluation.children())
      for (std::size_t e = 0; e < elements; ++e)
        merge_flags(flags, e, child->flags, child->flags.planes() > 1 ? e : 0, 1);
    evaluation.set_flags(std::move(flags));
  }
};

}  // namespace rimetree
