// What one launch for a batch of nodes consists of, and what a thread sees of it: descriptions of all results and of
// all children's values, with stride 0 along axes of length 1. For host and device.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "runtime/math/complex.h"
#include "runtime/tensor_shape.h"

namespace rimetree {

/// Axes of the cells, as in runtime/axes.h, whose arrays kernels cannot use.
inline constexpr int kJobAxes = 4;

/// A child's values. Where they are is said relative to an array of the job, so that a description stays what it is
/// from evaluation to evaluation, whatever memory results come to lie in.
struct CellArray {
  std::size_t offset = 0;  ///< bytes from the beginning of the job's array number `base`
  std::size_t plane = 0;   ///< values between elements
  std::size_t stride[kJobAxes] = {};
  TensorShape dims;
  std::int32_t base = -1;  ///< -1: the child is absent
  std::int32_t is_complex = 0;
  std::int32_t unused = 0;
};

/// A node.
struct CellItem {
  std::size_t offset = 0;    ///< of the result, in bytes, in the job's array number `base`
  std::size_t n_thread = 0;  ///< what there is to do: cells, or values of a reduction
  std::size_t n_value = 0;   ///< of the result
  std::int32_t base = 0;
  std::int32_t first_child = 0, n_child = 0;
  std::int32_t cells[kJobAxes] = {1, 1, 1, 1};  ///< of the result
  std::int32_t inner[kJobAxes] = {1, 1, 1, 1};  ///< of what is reduced to one cell
  std::int32_t unused = 0;
};

struct CellJob {
  /// So many arrays go along with the launch; more are in device memory.
  static constexpr int kFewArrays = 32;

  const CellItem* d_item = nullptr;
  const CellArray* d_child = nullptr;  ///< of all nodes
  std::byte* few[kFewArrays] = {};
  std::byte* const* d_many = nullptr;
  // Centres and then widths of the cells along time and frequency; nullptr where the class does not ask for them.
  const double* d_time_s = nullptr;
  const double* d_frequency_hz = nullptr;
  std::int32_t n_item = 0, n_array = 0, n_time = 1, n_frequency = 1;
  std::size_t most_threads = 0;  ///< of any item

  /// Where an array begins.
  RT_HD std::byte* array(std::int32_t base) const { return d_many != nullptr ? d_many[base] : few[base]; }
  template <class N>
  RT_HD N load(const CellArray& child, std::size_t i) const {
    const std::byte* values = array(child.base) + child.offset;
    if constexpr (std::is_same_v<N, Complex<double>>) {
      if (child.is_complex != 0) return reinterpret_cast<const Complex<double>*>(values)[i];
    }
    return reinterpret_cast<const double*>(values)[i];
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

/// What a class's function of one cell sees on a device; on the host it is a CellInput (runtime/cell_node.h).
template <class N>
class JobInput {
 public:
  using Number = N;
  using Real = double;
  static constexpr bool kOnHost = false;

  RT_HD JobInput(const CellJob& job, const CellItem& item, std::size_t i)
      : job_(job), child_(job.d_child + item.first_child), n_child_(static_cast<std::size_t>(item.n_child)) {
    split_cell(i, item.cells, cell_);
    if (job.d_time_s != nullptr) time_s = job.d_time_s[cell_[0]], time_width_s = job.d_time_s[cell_[0] + n(job.n_time)];
    if (job.d_frequency_hz == nullptr) return;
    frequency_hz = job.d_frequency_hz[cell_[1]];
    frequency_width_hz = job.d_frequency_hz[cell_[1] + n(job.n_frequency)];
  }

  RT_HD N operator()(std::size_t child, std::size_t element = 0) const {
    const CellArray& array = child_[child];
    std::size_t i = element * array.plane;
    for (int axis = 0; axis < kJobAxes; ++axis) i += cell_[axis] * array.stride[axis];
    return job_.load<N>(array, i);
  }
  RT_HD std::size_t n_children() const { return n_child_; }
  RT_HD bool has(std::size_t child) const { return child < n_child_ && child_[child].base >= 0; }
  RT_HD const TensorShape& dims(std::size_t child) const { return child_[child].dims; }

  double time_s = 0, time_width_s = 0, frequency_hz = 0, frequency_width_hz = 0;

 private:
  RT_HD static std::size_t n(std::int32_t count) { return static_cast<std::size_t>(count); }
  const CellJob& job_;
  const CellArray* child_;
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

/// Program of classes that write one function of one cell: a thread computes all elements on one cell.
template <class Body, class N, class Out>
struct CellProgram {
  Body body;

  RT_HD void operator()(const CellJob& job, const CellItem& item, std::size_t i) const {
    const JobInput<N> in(job, item, i);
    body.cell(in, JobOutput<Out>(job.template result<Out>(item) + i, item.n_thread));
  }
};

/// Program of classes that reduce values to fewer (runtime/cell_reduction.h): a thread computes one value of the
/// result, in the order in which the host does. Nothing is flagged.
template <class Body, class N>
struct ReductionProgram {
  std::size_t length = 1;          ///< of the dimension of the tensor that is reduced
  std::size_t inner_elements = 1;  ///< elements between its entries

  RT_HD void operator()(const CellJob& job, const CellItem& item, std::size_t i) const {
    std::size_t plane = 1, inner = 1, cell[kJobAxes];
    for (int axis = 0; axis < kJobAxes; ++axis) {
      plane *= static_cast<std::size_t>(item.cells[axis]);
      inner *= static_cast<std::size_t>(item.inner[axis]);
    }
    const std::size_t e = i / plane;
    split_cell(i % plane, item.cells, cell);
    const std::size_t first = e / inner_elements * length * inner_elements + e % inner_elements;
    N outcome{};
    std::size_t count = 0;
    for (std::int32_t c = 0; c < item.n_child; ++c) {
      const CellArray& child = job.d_child[item.first_child + c];
      for (std::size_t k = 0; k < length; ++k)
        for (std::size_t j = 0; j < inner; ++j) {
          std::size_t within[kJobAxes], at = (first + k * inner_elements) * child.plane;
          split_cell(j, item.inner, within);
          for (int axis = 0; axis < kJobAxes; ++axis) at += (cell[axis] + within[axis]) * child.stride[axis];
          Body::template add<N>(outcome, job.load<N>(child, at), count++);
        }
    }
    job.template result<N>(item)[i] = count > 0 ? Body::template finish<N>(outcome, count) : N{};
  }
};

}  // namespace rimetree
