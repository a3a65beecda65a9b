// What one launch for a batch of nodes consists of, and what a thread sees of it: descriptions of all results and their
// derivatives, and of all children's, with stride 0 along axes of length 1. For host and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/core/values/tensor_shape.h"
#include "runtime/device/cell_numbers.h"

namespace rimetree {

/// Axes of the cells, as in runtime/core/cells/axes.h, whose arrays kernels cannot use.
inline constexpr int kJobAxes = 4;

/// A child's values, or its derivative. Where they are is said relative to an array of the job, so that a description
/// stays what it is from evaluation to evaluation, whatever memory results come to lie in.
struct CellArray {
  std::size_t offset = 0;  ///< bytes from the beginning of the job's array number `base`
  std::size_t plane = 0;   ///< values between elements
  std::size_t stride[kJobAxes] = {};
  TensorShape dims;
  std::int32_t base = -1;  ///< -1: the child is absent, or its derivative is zero
  std::int32_t is_complex = 0;
  std::int32_t unused = 0;
};

/// A node's values, or its derivative with respect to one parameter.
struct CellItem {
  std::size_t offset = 0;    ///< of the result, in bytes, in the job's array number `base`
  std::size_t n_thread = 0;  ///< what there is to do: cells, or values of a reduction
  std::size_t n_value = 0;   ///< of the result
  std::int32_t base = 0;
  std::int32_t first_child = 0, n_child = 0;
  std::int32_t cells[kJobAxes] = {1, 1, 1, 1};  ///< of the result
  std::int32_t inner[kJobAxes] = {1, 1, 1, 1};  ///< of what is reduced to one cell
  std::int32_t first_derivative = -1;           ///< of the children, in their order; -1: values are wanted
};

struct CellJob {
  /// So many arrays go along with the launch; more are in device memory.
  static constexpr int kFewArrays = 32;

  const CellItem* d_item = nullptr;
  const CellArray* d_child = nullptr;  ///< of all nodes, values and derivatives
  std::byte* few[kFewArrays] = {};
  std::byte* const* d_many = nullptr;
  // Centres and then widths of the cells along time and frequency; nullptr where the class does not ask for them.
  const double* d_time_s = nullptr;
  const double* d_frequency_hz = nullptr;
  std::int32_t n_item = 0, n_array = 0, n_time = 1, n_frequency = 1;
  std::size_t most_threads = 0;  ///< of any item

  /// Where an array begins.
  RT_HD std::byte* array(std::int32_t base) const { return d_many != nullptr ? d_many[base] : few[base]; }
  /// An element on a cell. N is double or Complex<double>.
  template <class N>
  RT_HD N load(const CellArray& child, std::size_t element, const std::size_t* cell) const {
    std::size_t i = element * child.plane;
    for (int axis = 0; axis < kJobAxes; ++axis) i += cell[axis] * child.stride[axis];
    const std::byte* values = array(child.base) + child.offset;
    if constexpr (std::is_same_v<N, Complex<double>>) {
      if (child.is_complex != 0) return reinterpret_cast<const Complex<double>*>(values)[i];
    }
    return reinterpret_cast<const double*>(values)[i];
  }
  /// With its derivative if N is made of dual numbers.
  template <class N>
  RT_HD N load(const CellArray& child, const CellArray& derivative, std::size_t element,
               const std::size_t* cell) const {
    using Plain = cell_detail::Over<N, double>;
    const Plain value = load<Plain>(child, element, cell);
    if constexpr (std::is_same_v<N, Plain>)
      return value;
    else
      return cell_detail::with_derivative(value,
                                          derivative.base >= 0 ? load<Plain>(derivative, element, cell) : Plain{});
  }
  template <class Out>
  RT_HD Out* result(const CellItem& item) const {
    return reinterpret_cast<Out*>(array(item.base) + item.offset);
  }
};

/// Takes a number apart into indices along axes of the given extents, the last one fastest.
RT_HD inline void split_cell(std::size_t i, const std::int32_t* extent, std::size_t* cell) {
  for (int axis = kJobAxes - 1; axis >= 0; --axis) {
    const auto n = static_cast<std::size_t>(extent[axis]);
    cell[axis] = n == 1 ? 0 : i % n;
    if (n != 1) i /= n;
  }
}

/// What a class's function of one cell sees on a device; on the host it is a CellInput (runtime/cell/cell_node.h).
template <class N>
class JobInput {
 public:
  using Number = N;
  using Real = typename cell_detail::NumberTraits<N>::Real;

  RT_HD JobInput(const CellJob& job, const CellItem& item, std::size_t i)
      : job_(job),
        child_(job.d_child + item.first_child),
        derivative_(job.d_child + (item.first_derivative >= 0 ? item.first_derivative : item.first_child)),
        n_child_(static_cast<std::size_t>(item.n_child)) {
    split_cell(i, item.cells, cell_);
    if (job.d_time_s != nullptr) time_s = job.d_time_s[cell_[0]], time_width_s = job.d_time_s[cell_[0] + n(job.n_time)];
    if (job.d_frequency_hz == nullptr) return;
    frequency_hz = job.d_frequency_hz[cell_[1]];
    frequency_width_hz = job.d_frequency_hz[cell_[1] + n(job.n_frequency)];
  }

  RT_HD N operator()(std::size_t child, std::size_t element = 0) const {
    return job_.load<N>(child_[child], derivative_[child], element, cell_);
  }
  RT_HD std::size_t n_children() const { return n_child_; }
  RT_HD bool has(std::size_t child) const { return child < n_child_ && child_[child].base >= 0; }
  RT_HD const TensorShape& dims(std::size_t child) const { return child_[child].dims; }
  /// Whether a child, of dual numbers, has a derivative that may be other than zero.
  RT_HD bool moves(std::size_t child) const { return derivative_[child].base >= 0; }

  double time_s = 0, time_width_s = 0, frequency_hz = 0, frequency_width_hz = 0;

 private:
  RT_HD static std::size_t n(std::int32_t count) { return static_cast<std::size_t>(count); }
  const CellJob& job_;
  const CellArray *child_, *derivative_;  // the latter of dual numbers only
  std::size_t n_child_, cell_[kJobAxes];
};

/// All elements of the result on one cell, as an array.
template <class T>
class JobOutput {
 public:
  RT_HD JobOutput(T* first, std::size_t plane) : at_(first), plane_(plane) {}
  RT_HD T& operator[](std::size_t element) const { return at_[element * plane_]; }
  RT_HD T& operator*() const { return *at_; }
  RT_HD JobOutput operator+(std::size_t elements) const { return {at_ + elements * plane_, plane_}; }
  RT_HD JobOutput operator++(int) {
    const JobOutput before = *this;
    at_ += plane_;
    return before;
  }

 private:
  T* at_;
  std::size_t plane_;
};

/// Where a dual number's derivative goes; its value is known already.
template <class T>
class DerivativePlace {
 public:
  RT_HD explicit DerivativePlace(T* at) : at_(at) {}
  RT_HD void operator=(const cell_detail::Over<T, Dual<double>>& x) const { *at_ = cell_detail::derivative_of(x); }

 private:
  T* at_;
};

/// The derivatives of all elements of the result on one cell, as an array of dual numbers that is written only.
template <class T>
class DerivativeOutput {
 public:
  RT_HD DerivativeOutput(T* first, std::size_t plane) : at_(first), plane_(plane) {}
  RT_HD DerivativePlace<T> operator[](std::size_t element) const { return DerivativePlace<T>(at_ + element * plane_); }
  RT_HD DerivativePlace<T> operator*() const { return DerivativePlace<T>(at_); }
  RT_HD DerivativeOutput operator+(std::size_t elements) const { return {at_ + elements * plane_, plane_}; }
  RT_HD DerivativeOutput operator++(int) {
    const DerivativeOutput before = *this;
    at_ += plane_;
    return before;
  }

 private:
  T* at_;
  std::size_t plane_;
};

/// Program of a function of one cell that is compiled for devices, as PSV's general way is: a thread computes all
/// elements on one cell, or their derivatives with respect to one parameter by the same function on dual numbers, if
/// there are items that want them.
template <class Body, class N, class Out, bool kDerivatives>
struct CellProgram {
  Body body;

  RT_HD void operator()(const CellJob& job, const CellItem& item, std::size_t i) const {
    Out* const first = job.template result<Out>(item) + i;
    if constexpr (kDerivatives)
      if (item.first_derivative >= 0) {
        const JobInput<cell_detail::Over<N, Dual<double>>> in(job, item, i);
        return body.cell(in, DerivativeOutput<Out>(first, item.n_thread));
      }
    const JobInput<N> in(job, item, i);
    body.cell(in, JobOutput<Out>(first, item.n_thread));
  }
};

/// Program of classes that reduce values to fewer (runtime/cell/cell_reduction.h): a thread computes one value of the
/// result, or its derivative, one value after the other, where the host takes rows in parts. Nothing is flagged.
template <class Body, class N, bool kDerivatives>
struct ReductionProgram {
  std::size_t length = 1;          ///< of the dimension of the tensor that is reduced
  std::size_t inner_elements = 1;  ///< elements between its entries

  RT_HD void operator()(const CellJob& job, const CellItem& item, std::size_t i) const {
    N& result = job.template result<N>(item)[i];
    if constexpr (kDerivatives)
      if (item.first_derivative >= 0) {
        result = cell_detail::derivative_of(reduce<cell_detail::Over<N, Dual<double>>>(job, item, i));
        return;
      }
    result = reduce<N>(job, item, i);
  }

 private:
  template <class Number>
  RT_HD Number reduce(const CellJob& job, const CellItem& item, std::size_t i) const {
    std::size_t plane = 1, inner = 1, cell[kJobAxes];
    for (int axis = 0; axis < kJobAxes; ++axis) {
      plane *= static_cast<std::size_t>(item.cells[axis]);
      inner *= static_cast<std::size_t>(item.inner[axis]);
    }
    const std::size_t e = i / plane;
    split_cell(i % plane, item.cells, cell);
    const std::size_t first = e / inner_elements * length * inner_elements + e % inner_elements;
    Number outcome{};
    std::size_t count = 0;
    const bool derivatives = item.first_derivative >= 0;
    const CellArray* child = job.d_child + item.first_child;
    const CellArray* derivative = derivatives ? job.d_child + item.first_derivative : child;
    for (std::int32_t c = 0; c < item.n_child; ++c)
      for (std::size_t k = 0; k < length; ++k)
        for (std::size_t j = 0; j < inner; ++j) {
          std::size_t within[kJobAxes];
          split_cell(j, item.inner, within);
          for (int axis = 0; axis < kJobAxes; ++axis) within[axis] += cell[axis];
          const std::size_t element = first + k * inner_elements;
          Body::template add<Number>(outcome, job.load<Number>(child[c], derivative[c], element, within), count++);
        }
    return count > 0 ? Body::template finish<Number>(outcome, count) : Number{};
  }
};

}  // namespace rimetree
