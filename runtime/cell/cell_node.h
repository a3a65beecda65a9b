// Nodes whose result on a cell depends on their children on that cell only: nearly all of them. A class writes one
// function of one cell, templated on the number type; this file gives it broadcasting, real and complex numbers, exact
// derivatives and devices. What cannot be recorded is called cell by cell, on plain, dual and traced numbers.
#pragma once

#include <algorithm>
#include <type_traits>

#include "runtime/cell/cell_input.h"
#include "runtime/cell/elementwise_body.h"
#include "runtime/cell/program_kernel.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/flag_rules.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/device/device_path.h"

namespace rimetree {

/// Derived declares
///   static constexpr Numbers kNumbers;
///   static constexpr bool kVariesInTime, kVariesInFrequency;  (beyond the children; gives access to the coordinates)
/// and what computes one cell (out: all elements, row-major):
///   struct Body { template <class In, class Out> void cell(const In& in, Out out) const; };
///   Body body() const;
/// where In is like CellInput<N> and Out like a pointer to numbers. Such a body runs as a program, on the host and on
/// devices: it is recorded (runtime/program/recorded.h), once for each way that it can go. A body that does the same
/// for all entries of a stack has, instead of cell(),
///   std::size_t items() const;
///   template <class In, class Out> void item(const In& in, std::size_t s, Out out) const;  (out: of this item)
/// A class for the host only, cell by cell, writes instead
///   template <class N, class Out> void cell(const CellInput<N>& in, Out* out) const;
template <class Derived>
class CellNode : public Node, public DevicePath, public RecordableNode {
 public:
  using Node::Node;
  static constexpr bool kVariesInTime = false;
  static constexpr bool kVariesInFrequency = false;

  NodeTraits own_traits() const override {
    NodeTraits traits{.mixed_axes = kNoAxes, .is_function = true, .numbers = result_numbers()};
    if (Derived::kVariesInTime) traits.varies_along |= set_of(Axis::time);
    if (Derived::kVariesInFrequency) traits.varies_along |= set_of(Axis::frequency);
    if (traits.varies_along != kNoAxes) traits.depends_on = kDomain;
    return traits;
  }

  static constexpr ResultNumbers result_numbers() {
    if (Derived::kNumbers == Numbers::same) return ResultNumbers::of_children;
    const bool is_real = Derived::kNumbers == Numbers::real_to_real || Derived::kNumbers == Numbers::any_to_real;
    return is_real ? ResultNumbers::real : ResultNumbers::any;
  }

  Capabilities capabilities() const override {
    if constexpr (has_body()) return {.device = this};
    return {};
  }

  std::unique_ptr<BatchKernel> make_kernel() const override {
    return has_body() ? std::make_unique<ProgramKernel>() : Node::make_kernel();
  }
  bool is_recordable() const override {
    const auto& state = node_class().state;
    return has_body() && std::none_of(state.begin(), state.end(), [](const StateSpec& spec) { return spec.per_node; });
  }
  /// A class that overrides evaluate() or complete() through another base class than this one overrides this as well.
  bool does_nothing_else() const override {
    if constexpr (requires { &Derived::evaluate, &Derived::complete; })
      return std::is_same_v<decltype(&Derived::evaluate), void (CellNode::*)(Evaluation&) const> &&
             std::is_same_v<decltype(&Derived::complete), void (DevicePath::*)(Evaluation&) const>;
    return false;
  }
  std::size_t n_item() const override {
    if constexpr (has_body())
      if constexpr (const auto& body = of_one_cell(); has_items<decltype(body)>()) return body.items();
    return 1;
  }
  std::vector<RecordedElement> record(std::span<const RecordedChild> children, bool is_complex,
                                      std::size_t item) const override {
    std::vector<RecordedElement> elements;
    if constexpr (has_body()) {
      const auto& body = static_cast<const Derived&>(*this).body();
      with_numbers(is_complex, [&]<class N, class Out>(Choice<N, Out>) {
        const RecordedInput<Over<N, Recorded>> in(children, Derived::kVariesInTime, Derived::kVariesInFrequency);
        constexpr bool gives_complex = cell_detail::NumberTraits<Out>::is_complex;
        const auto names = record_paths([&] {
          std::vector<Over<Out, Recorded>> out(this->dims().size() / std::max<std::size_t>(n_item(), 1));
          if constexpr (has_items<decltype(body)>())
            body.item(in, item, out.data());
          else
            body.cell(in, out.data());
          std::vector<std::int32_t> all;
          for (const auto& x : out) {
            if constexpr (gives_complex)
              all.insert(all.end(), {x.re.name(), x.im.name()});
            else
              all.push_back(x.name());
          }
          return all;
        });
        for (std::size_t i = 0; i < names.size(); i += gives_complex ? 2 : 1)
          elements.push_back({names[i], gives_complex ? names[i + 1] : -1});
      });
    }
    return elements;
  }
  std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const override {
    if (evaluation.programs == nullptr) return {};
    DevicePlan plan(evaluation);
    with_numbers(evaluation, [&]<class N, class Out>(Choice<N, Out>) {
      plan.type = number_type<Out>();
      plan.is_complex = cell_detail::NumberTraits<N>::is_complex;
    });
    plan.cells = result_cells(evaluation);
    plan.wants_time = Derived::kVariesInTime;
    plan.wants_frequency = Derived::kVariesInFrequency;
    if (!evaluation.programs->plan(*this, evaluation, plan)) return {};
    return plan;
  }

  template <class N, class Out>
  struct Choice {};

 protected:
  void evaluate(Evaluation& evaluation) const override {
    with_numbers(evaluation, [&]<class N, class Out>(Choice<N, Out>) {
      const CellShape shape = result_cells(evaluation);
      const std::vector<ParameterId> parameters = evaluation.parameters();
      Vells values = evaluation.make(number_type<Out>(), shape);
      std::vector<Vells> derivatives(parameters.size());
      for (Vells& derivative : derivatives) derivative = evaluation.make(number_type<Out>(), shape);
      bool done = false;
      if constexpr (has_body())
        if (CellPrograms* programs = evaluation.programs)
          done = programs->fill(*this, evaluation, cell_detail::NumberTraits<N>::is_complex, values, parameters,
                                derivatives);
      if (!done) {
        fill<N, Out>(evaluation, values, nullptr);
        for (std::size_t i = 0; i < parameters.size(); ++i)
          fill<Over<N, Dual<double>>, Over<Out, Dual<double>>>(evaluation, derivatives[i], &parameters[i]);
      }
      evaluation.set(std::move(values));
      for (std::size_t i = 0; i < parameters.size(); ++i) evaluation.add(parameters[i], std::move(derivatives[i]));
    });
    complete(evaluation);
  }

  bool evaluate_moved(const Evaluation& evaluation, long double step, MovedValues& values) const override {
    with_numbers(evaluation, [&]<class N, class Out>(Choice<N, Out>) {
      const CellShape shape = result_cells(evaluation);
      const std::size_t elements = this->dims().size(), plane = shape.size();
      values.assign(elements * plane, {});
      auto in = inputs<Over<N, long double>>(evaluation, &kDirection);
      for (auto& operand : in.operands_)
        if (operand) operand->step = step;
      std::vector<Over<Out, long double>> out(elements);
      const auto& body = of_one_cell();
      for_each_cell(evaluation.cells(), shape, in, [&](std::size_t i) {
        compute(body, in, out);
        for (std::size_t e = 0; e < elements; ++e) values[e * plane + i] = out[e];
      });
    });
    return true;
  }

  void pull_back(PullBack& pull) const override {
    with_numbers(pull.inputs, [&]<class N, class Out>(Choice<N, Out>) {
      if constexpr (has_body())
        if (pull.programs && pull.programs->pull_back(*this, pull, cell_detail::NumberTraits<N>::is_complex)) return;
      pull_cells<Over<N, Traced<double>>, Over<Out, Traced<double>>>(pull);
    });
  }

  /// Calls f(Choice<N, Out>()) with the numbers that go in and come out.
  template <class F>
  static void with_numbers(const Evaluation& evaluation, const F& f) {
    bool any_complex = false;
    for (const Result* child : evaluation.children())
      any_complex = any_complex || (child != nullptr && child->value.is_complex());
    with_numbers(any_complex, f);
  }
  template <class F>
  static void with_numbers(bool any_complex, const F& f) {
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

 private:
  static constexpr bool has_body() {
    return requires(const Derived& derived) { derived.body(); };
  }
  /// What has the function of one cell: the body, or the node itself.
  decltype(auto) of_one_cell() const {
    if constexpr (has_body())
      return static_cast<const Derived&>(*this).body();
    else
      return static_cast<const Derived&>(*this);
  }
  template <class Body>
  static constexpr bool has_items() {
    return requires(const Body& body) { body.items(); };
  }
  /// All elements of the result on one cell.
  template <class Body, class In, class Out>
  static void compute(const Body& body, const In& in, std::vector<Out>& out) {
    if constexpr (has_items<Body>()) {
      const std::size_t items = body.items(), size = items == 0 ? 0 : out.size() / items;
      for (std::size_t s = 0; s < items; ++s) body.item(in, s, out.data() + s * size);
    } else {
      body.cell(in, out.data());
    }
  }
  template <class N, class Real>
  using Over = cell_detail::Over<N, Real>;
  template <class Out>
  static constexpr NumberType number_type() {
    return cell_detail::NumberTraits<Out>::is_complex ? NumberType::complex : NumberType::real;
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

  template <class N>
  static CellInput<N> inputs(const Evaluation& evaluation, const ParameterId* parameter) {
    CellInput<N> in;
    for (const Result* child : evaluation.children()) {
      if (child == nullptr)
        in.operands_.emplace_back();
      else
        in.operands_.emplace_back(std::in_place, *child, parameter);
    }
    return in;
  }

  template <class N, class Out>
  void fill(const Evaluation& evaluation, Vells& target, const ParameterId* parameter) const {
    CellInput<N> in = inputs<N>(evaluation, parameter);
    const std::size_t elements = target.dims().size(), plane = target.cells_per_element();
    std::vector<Out> out(elements);
    const auto& body = of_one_cell();
    for_each_cell(evaluation.cells(), target.cells(), in, [&](std::size_t i) {
      compute(body, in, out);
      for (std::size_t e = 0; e < elements; ++e) cell_detail::store(target, e * plane + i, out[e]);
    });
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
    const auto& body = of_one_cell();
    for_each_cell(pull.inputs.cells(), pull.adjoint.cells(), in, [&](std::size_t i) {
      // Where nothing depends on the result (flagged cells, say) its derivatives are of no concern, NaN or not.
      bool any = false;
      for (std::size_t e = 0; e < elements && !any; ++e) any = !cell_detail::is_zero(pull.adjoint, e * plane + i);
      if (!any) return;
      compute(body, in, out);
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

/// Every element by itself: scalars apply to all elements of a tensor, tensors must have equal dimensions. Functor is
/// with `static N apply(N)` or `static N apply(N, N)`; with more than two children the second is folded
/// from left to right. Flags stay with their element. Where it says kKeepsZero it makes 0 of zeros.
template <class Functor, Numbers kRule = Numbers::same>
class ElementwiseNode : public CellNode<ElementwiseNode<Functor, kRule>> {
 public:
  using CellNode<ElementwiseNode<Functor, kRule>>::CellNode;
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

  ElementwiseBody<Functor> body() const { return {this->dims().size()}; }

  ZeroElements zero_elements([[maybe_unused]] const Evaluation& evaluation) const override {
    ZeroElements zeros = 0;
    if constexpr (requires { Functor::kKeepsZero; }) {
      const ZeroElements all = first_elements(this->dims().size());
      zeros = all;
      for (const Result* child : evaluation.children())
        zeros &= child->value.dims().is_scalar() && child->zeros != 0 ? all : child->zeros;
    }
    return zeros;
  }

  void combine_flags(Evaluation& evaluation) const override {
    const std::size_t elements = this->dims().size();
    bool any = false, per_element = false;
    for (const Result* child : evaluation.children()) {
      any = any || !child->flags.empty();
      per_element = per_element || child->flags.planes() > 1;
    }
    if (!any || !per_element) return;  // the default rule gives the same
    if (const Flags* shared = shared_flags(evaluation); shared != nullptr && shared->planes() == elements)
      return evaluation.set_flags(*shared);
    Flags flags(evaluation.pool, elements, flag_cells(evaluation));
    for (const Result* child : evaluation.children())
      for (std::size_t e = 0; e < elements; ++e)
        merge_flags(flags, e, child->flags, child->flags.planes() > 1 ? e : 0, 1);
    evaluation.set_flags(std::move(flags));
  }
};

}  // namespace rimetree
