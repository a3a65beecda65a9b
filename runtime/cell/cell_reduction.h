// Nodes that reduce the values of their children over axes of the cells, and over a dimension of the tensor, to fewer
// values: sums, means, extremes. Flagged cells are left out. A class writes how one more value changes the outcome;
// this file gives it broadcasting, flags, real and complex numbers, and exact derivatives.
#pragma once

#include <algorithm>

#include "runtime/cell/cell_operand.h"
#include "runtime/cell/reduction_rows.h"
#include "runtime/core/cells/cell_loop.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/device/cell_launch.h"
#include "runtime/device/device_path.h"

namespace rimetree {

/// Body declares
///   static constexpr bool kRealOnly;
///   template <class N> RT_HD static void add(N& outcome, N value, std::size_t count);   (count: values taken before)
///   template <class N> RT_HD static N finish(N outcome, std::size_t count);
///   static constexpr bool kOfNothing;   (whether there is an outcome of no values at all: 0)
///   static constexpr bool kLinear;      (whether derivatives are reduced as values are)
/// and the class has the state fields of reduction_state().
template <class Body>
class CellReduction : public Node, public DevicePath {
 public:
  using Reduced = Body;
  explicit CellReduction(const State& state)
      : Node(state), tensor_axis_(static_cast<int>(state.integer("tensor_axis"))) {
    for (const std::string& name : state.text_list("reduction_axes"))
      reduced_[static_cast<int>(axis_from_name(name))] = true;
  }

  static std::vector<StateSpec> reduction_state(const std::string& several) {
    return {
        {.name = "reduction_axes",
         .type = StateType::text_list,
         .default_value = std::vector<std::string>(kAxisNames.begin(), kAxisNames.end()),
         .doc = "axes of the cells that are reduced: any of time, freq, l, m; the default is all of them, an empty "
                "list none. " +
                several},
        {.name = "tensor_axis",
         .type = StateType::integer,
         .default_value = std::int64_t{-1},
         .doc = "dimension of the tensor that is reduced as well, e.g. 0 to go from [source,2,2] to [2,2]; -1: none",
         .limits = {.least = -1, .most = TensorShape::kMaxRank - 1}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    if (children.empty()) throw ShapeError("there is no child to reduce");
    const TensorShape& dims = *children[0];
    for (const TensorShape* child : children)
      if (!(*child == dims))
        throw ShapeError("children have dimensions " + to_string(dims) + " and " + to_string(*child) +
                         "; they must be equal");
    if (tensor_axis_ < -1 || tensor_axis_ >= dims.rank)
      throw ShapeError("state field \"tensor_axis\" is " + std::to_string(tensor_axis_) +
                       ", but the children have dimensions " + to_string(dims));
    TensorShape result;
    for (int i = 0; i < dims.rank; ++i)
      if (i != tensor_axis_) result.append(dims[i]);
    return result;
  }
  void bind(std::span<const TensorShape* const> children) override {
    n_child_ = children.size();
    if (tensor_axis_ < 0) return;
    const TensorShape& dims = *children[0];
    length_ = static_cast<std::size_t>(dims[tensor_axis_]);
    for (int i = tensor_axis_ + 1; i < dims.rank; ++i) inner_elements_ *= static_cast<std::size_t>(dims[i]);
  }
  /// A constant counts once for each cell of the request.
  NodeTraits own_traits() const override {
    NodeTraits traits{.depends_on = kDomain, .mixed_axes = kNoAxes, .is_function = true};
    for (int axis = 0; axis < kAxes; ++axis)
      if (reduces(static_cast<Axis>(axis), n_child_)) traits.mixed_axes |= set_of(static_cast<Axis>(axis));
    return traits;
  }

  Capabilities capabilities() const override { return {.device = this}; }
  std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const override {
    if (is_of_nothing()) return {};
    DevicePlan plan(evaluation);
    for (const Result* child : evaluation.children()) {
      if (!child->flags.empty()) return {};  // what is flagged is left out
      if (child->value.is_complex()) plan.type = NumberType::complex, plan.is_complex = true;
    }
    if (Body::kRealOnly && plan.is_complex) return {};
    const Extents cells = extents(evaluation);
    plan.cells = cells.kept;
    plan.inner = cells.inner;
    plan.n_thread = dims().size() * cells.kept.size();
    return plan;
  }
  bool can_run(const memory::Device& device, const DevicePlan& plan) const override {
    bool found = false;
    for_each_kernel([&]<class N, bool kDerivatives>(Choice<N, kDerivatives>) {
      if (plan.variant() == program_variant(cell_detail::NumberTraits<N>::is_complex, kDerivatives))
        found = has_launcher<ProgramJob<ReductionProgram<Body, N, kDerivatives>>>(device);
    });
    return found;
  }
  void launch(memory::Queue& queue, const CellJob& job, int variant) const override {
    for_each_kernel([&]<class N, bool kDerivatives>(Choice<N, kDerivatives>) {
      if (variant == program_variant(cell_detail::NumberTraits<N>::is_complex, kDerivatives))
        launch_program<N>(queue, ReductionProgram<Body, N, kDerivatives>{length_, inner_elements_}, job);
    });
  }
  template <class N, bool kDerivatives>
  struct Choice {};
  /// Calls f(Choice<N, kDerivatives>()) with all numbers that may be reduced, without derivatives and with.
  template <class F>
  static void for_each_kernel(const F& f) {
    f(Choice<double, false>());
    f(Choice<double, true>());
    if constexpr (!Body::kRealOnly) {
      f(Choice<Complex<double>, false>());
      f(Choice<Complex<double>, true>());
    }
  }

 protected:
  /// Whether an axis is reduced, given how many children there are.
  virtual bool reduces(Axis axis, std::size_t /*children*/) const { return reduced_[static_cast<int>(axis)]; }

#ifndef __CUDACC__  // which wants bodies only, but would instantiate these and all that they call
  void evaluate(Evaluation& evaluation) const override {
    if (is_of_nothing()) return evaluation.set_missing();
    bool any_complex = false;
    for (const Result* child : evaluation.children()) any_complex = any_complex || child->value.is_complex();
    if (any_complex) {
      if constexpr (Body::kRealOnly)
        throw ShapeError("children must be real, but one is complex");
      else
        run<Complex<double>, Complex<Dual<double>>>(evaluation);
    } else {
      run<double, Dual<double>>(evaluation);
    }
  }

  bool evaluate_moved(const Evaluation& evaluation, long double step, MovedValues& values) const override {
    bool any_complex = false;
    for (const Result* child : evaluation.children()) any_complex = any_complex || child->value.is_complex();
    if constexpr (!Body::kRealOnly)
      if (any_complex) return move_cells<Complex<long double>>(evaluation, step, values), true;
    return move_cells<long double>(evaluation, step, values), true;
  }

  void pull_back(PullBack& pull) const override {
    const auto has_flags = [](const Result* child) { return !child->flags.empty(); };
    if (Body::kLinear && std::none_of(pull.inputs.children().begin(), pull.inputs.children().end(), has_flags))
      return pull.adjoint.is_complex() ? pull_rows<Complex<double>>(pull) : pull_rows<double>(pull);
    if constexpr (!Body::kRealOnly)
      if (pull.adjoint.is_complex()) return pull_cells<Complex<Traced<double>>>(pull);
    pull_cells<Traced<double>>(pull);
  }
#endif

 private:
  /// Whether there are no values to reduce, not even flagged ones, and no outcome without any.
  bool is_of_nothing() const { return !Body::kOfNothing && length_ == 0; }

  /// The cells of the result, and those that go into each of them.
  struct Extents {
    CellShape kept, inner;
  };
  Extents extents(const Evaluation& evaluation) const {
    Extents result;
    for (const Result* child : evaluation.children()) {
      result.kept = broadcast(result.kept, child->value.cells());
      if (!child->flags.empty()) result.kept = broadcast(result.kept, child->flags.cells());
    }
    for (int axis = 0; axis < kAxes; ++axis) {
      if (!reduces(static_cast<Axis>(axis), evaluation.children().size())) continue;
      result.kept.extent[axis] = 1;
      result.inner.extent[axis] = evaluation.cells().shape().extent[axis];
    }
    return result;
  }

  template <class N, class DualN>
  void run(Evaluation& evaluation) const {
    const Extents cells = extents(evaluation);
    Flags flags;
    for (const Result* child : evaluation.children())
      if (!child->flags.empty() && flags.empty()) flags = Flags(evaluation.pool, dims().size(), cells.kept);
    const bool any_flags = !flags.empty();
    evaluation.set(any_flags ? fill<N>(evaluation, cells, nullptr, flags.data())
                             : fill_rows<N>(evaluation, cells, [](const Result& child) { return &child.value; }));
    for (const ParameterId& parameter : evaluation.parameters())
      evaluation.add(parameter, Body::kLinear && !any_flags
                                    ? fill_rows<N>(evaluation, cells,
                                                   [&](const Result& child) { return child.derivative(parameter); })
                                    : fill<DualN>(evaluation, cells, &parameter, nullptr));
    evaluation.set_flags(std::move(flags));
  }

  /// Calls body(numbers of an element of a child, element of the result, which of those that go into it).
  template <class Values, class Visit>
  void for_each_plane(Values& of_child, const Visit& body) const {
    const auto planes = [&](auto* numbers) {
      for (std::size_t e = 0; e < dims().size(); ++e) {
        const std::size_t first = e / inner_elements_ * length_ * inner_elements_ + e % inner_elements_;
        for (std::size_t k = 0; k < length_; ++k)
          body(numbers + (first + k * inner_elements_) * of_child.cells_per_element(), e, k);
      }
    };
    of_child.is_complex() ? planes(of_child.complex()) : planes(of_child.real());
  }

  /// What is reduced of children without flags: numbers_of(child), nullptr where these are zero.
  template <class N, class NumbersOf>
  Vells fill_rows(Evaluation& evaluation, const Extents& cells, const NumbersOf& numbers_of) const {
    constexpr bool kComplex = cell_detail::NumberTraits<N>::is_complex;
    Vells target = evaluation.make(kComplex ? NumberType::complex : NumberType::real, cells.kept);
    N* outcome;
    if constexpr (kComplex)
      outcome = target.complex();
    else
      outcome = target.real();
    const std::size_t n = cells.kept.size(), n_inner = cells.inner.size();
    std::fill_n(outcome, dims().size() * n, N{});
    std::size_t count = 0;
    for (const Result* child : evaluation.children()) {
      if (const Vells* of_child = numbers_of(*child); of_child != nullptr)
        for_each_plane(*of_child, [&](const auto* numbers, std::size_t e, std::size_t k) {
          if constexpr (kComplex || std::is_same_v<decltype(numbers), const double*>)
            cell_detail::reduce_rows<Body>(numbers, broadcast_strides(of_child->cells()), cells.kept, cells.inner,
                                           count + k * n_inner, outcome + e * n);
        });
      count += length_ * n_inner;
    }
    if (count > 0)
      for (std::size_t i = 0; i < dims().size() * n; ++i) outcome[i] = Body::template finish<N>(outcome[i], count);
    return target;
  }

  /// `flags`, if given, gets the union of bits where every value is flagged.
  template <class N>
  Vells fill(Evaluation& evaluation, const Extents& cells, const ParameterId* parameter, std::int32_t* flags) const {
    constexpr NumberType type = cell_detail::NumberTraits<N>::is_complex ? NumberType::complex : NumberType::real;
    Vells target = evaluation.make(type, cells.kept);
    std::vector<cell_detail::Operand> operands;
    for (const Result* child : evaluation.children()) operands.emplace_back(*child, parameter);
    reduce<N>(
        evaluation, cells, operands, [](std::size_t) { return true; },
        [&](std::size_t i, const N& outcome, std::int32_t bits) {
          if (flags != nullptr) flags[i] = bits;
          cell_detail::store(target, i, outcome);
        });
    return target;
  }

  template <class N>
  void move_cells(const Evaluation& evaluation, long double step, MovedValues& values) const {
    const Extents cells = extents(evaluation);
    values.assign(dims().size() * cells.kept.size(), {});
    std::vector<cell_detail::Operand> operands;
    for (const Result* child : evaluation.children()) {
      operands.emplace_back(*child, &kDirection);
      operands.back().step = step;
    }
    reduce<N>(
        evaluation, cells, operands, [](std::size_t) { return true; },
        [&](std::size_t i, const N& outcome, std::int32_t) { values[i] = outcome; });
  }

  /// Where derivatives are reduced as values are, and no child has flags: each value gains what its outcome does.
  template <class N>
  void pull_rows(PullBack& pull) const {
    const Extents cells = extents(pull.inputs);
    const std::size_t n = cells.kept.size(), count = pull.inputs.children().size() * length_ * cells.inner.size();
    const N* given;
    if constexpr (std::is_same_v<N, double>)
      given = pull.adjoint.real();
    else
      given = pull.adjoint.complex();
    std::vector<N> adjoint(given, given + dims().size() * n);
    for (N& one : adjoint) one = Body::template finish<N>(one, count);
    for (std::size_t slot = 0; slot < pull.inputs.children().size(); ++slot)
      if (Vells* to = pull.child(slot); to != nullptr)
        for_each_plane(*to, [&](auto* numbers, std::size_t e, std::size_t) {
          if constexpr (!std::is_same_v<N, double> || std::is_same_v<decltype(numbers), double*>)
            cell_detail::spread_rows(numbers, broadcast_strides(to->cells()), cells.kept, cells.inner,
                                     adjoint.data() + e * n);
        });
  }

  template <class N>
  void pull_cells(PullBack& pull) const {
    static thread_local Tape<double> tape;
    tape.clear();
    std::vector<cell_detail::Operand> operands;
    for (std::size_t slot = 0; slot < pull.inputs.children().size(); ++slot)
      operands.emplace_back(pull.inputs.child(slot), pull.child(slot), tape);
    reduce<N>(
        pull.inputs, extents(pull.inputs), operands,
        [&](std::size_t i) { return !cell_detail::is_zero(pull.adjoint, i); },
        [&](std::size_t i, const N& outcome, std::int32_t) {
          cell_detail::seed(tape, pull.adjoint, i, outcome);
          tape.flush();
        });
  }

  /// Calls done(i, outcome, bits) for each number i of the result that is wanted(i); `bits` are the flags of what went
  /// into it if all of that is flagged.
  template <class N, class Wanted, class Done>
  void reduce(const Evaluation& evaluation, const Extents& cells, std::vector<cell_detail::Operand>& operands,
              const Wanted& wanted, const Done& done) const {
    std::vector<std::array<std::size_t, kAxes>> flag_stride;
    for (const Result* child : evaluation.children())
      flag_stride.push_back(broadcast_strides(child->flags.empty() ? CellShape{} : child->flags.cells()));
    const int axis = cell_detail::last_axis(cells.inner);
    const auto n = static_cast<std::size_t>(cells.inner.extent[axis]);
    const bool in_parts = axis == cell_detail::row_axis(cells.kept, cells.inner);
    CellShape rows = cells.inner;
    rows.extent[axis] = 1;
    std::size_t i = 0;
    for (std::size_t e = 0; e < dims().size(); ++e) {
      const std::size_t first = e / inner_elements_ * length_ * inner_elements_ + e % inner_elements_;
      for_each_cell(cells.kept, [&](const std::array<int, kAxes>& outer) {
        const std::size_t at = i++;
        if (!wanted(at)) return;
        N outcome{};
        std::size_t count = 0;
        std::int32_t bits = 0;
        for (std::size_t c = 0; c < operands.size(); ++c)
          for (std::size_t k = 0; k < length_; ++k)
            for_each_cell(rows, [&](std::array<int, kAxes> row) {
              for (int other = 0; other < kAxes; ++other) row[other] += outer[other];
              const std::size_t element = first + k * inner_elements_, flag_step = flag_stride[c][axis];
              const Flags& of_child = evaluation.child(c).flags;
              const std::int32_t* flag =
                  of_child.empty() ? nullptr : of_child.plane(element) + offset_of(row, flag_stride[c]);
              cell_detail::Operand& operand = operands[c];
              operand.move_to(row);
              cell_detail::take_chosen<Body>(n, in_parts, count, outcome, [&](std::size_t j, const auto& take) {
                if (flag != nullptr && flag[j * flag_step] != 0)
                  bits |= flag[j * flag_step];
                else
                  take(operand.template load<N>(element));
                operand.step_along(axis);
              });
            });
        done(at, count > 0 ? Body::template finish<N>(outcome, count) : N{}, count == 0 ? bits : 0);
      });
    }
  }

  std::array<bool, kAxes> reduced_{};
  int tensor_axis_;
  // Of the dimension that is reduced: its length, and the elements between its entries.
  std::size_t length_ = 1, inner_elements_ = 1;
  std::size_t n_child_ = 1;
};

}  // namespace rimetree
