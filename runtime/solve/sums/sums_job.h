// Sums over cells (cell_sums.h) of many equations by one launch on a device: what it is told, and what a thread does. A
// thread has one strand of one chunk of one element of an equation, and 4 x 4 of the products; a second launch adds up
// strands, chunks and, if wanted, elements. For host and device.
#pragma once

#include "runtime/solve/sums/cell_sums.h"

namespace rimetree::solve {

/// Values that are broadcast over elements and cells. Where they are is said relative to an array of the job, so that a
/// description stays what it is from iteration to iteration, whatever memory results come to lie in.
struct SumArray {
  std::int64_t base = -1;                            ///< number of the job's array; -1: none
  std::size_t offset = 0;                            ///< bytes from its beginning
  std::size_t element = 0, time = 0, frequency = 0;  ///< strides
  std::size_t bytes = 0;                             ///< that may be read
  std::int64_t is_complex = 0;
};

/// One of the quantities whose products are summed.
struct SumVector {
  SumArray values;
  std::int64_t element = -1;  ///< which of its elements; -1: the one that is summed over
};

struct SumEquation {
  SumArray data, residual, weight;
  SumArray flags;  ///< bytes
  double weight_factor = 1;
  std::int64_t first_fixed = 0, n_fixed = 0;    ///< subtracted from the residual
  std::int64_t first_vector = 0, n_vector = 0;  ///< with the residual: quantities that products are of
  std::int64_t first_coefficient = 0;           ///< [block][element][vector]: of the vectors in the model
  std::int64_t dimensions = 2;                  ///< of a datum: 2 if it is complex
};

struct SumsJob {
  static constexpr int kFewArrays = 32;

  const std::byte* few[kFewArrays] = {};  ///< arrays that go along with the launch; more are in device memory
  const std::byte* const* d_many = nullptr;
  const SumEquation* d_equation = nullptr;
  const SumArray* d_fixed = nullptr;
  const SumVector* d_vector = nullptr;
  /// Blocks, by time segment and frequency segment: where segments begin, and where a block's threads do.
  const std::int32_t* d_time = nullptr;
  const std::int32_t* d_frequency = nullptr;
  const std::int32_t* d_first_slot = nullptr;
  const Complex<double>* d_coefficient = nullptr;  ///< nullptr: residuals are not wanted
  double* d_partial = nullptr;                     ///< [number][slot]
  double* d_sums = nullptr;                        ///< [equation][block][element][number]
  std::int32_t n_many = 0, n_equation = 0, n_fixed = 0, n_vector = 0;
  std::int64_t n_coefficient = 0;
  std::int32_t n_time = 0, n_frequency = 0;  ///< segments
  std::int32_t n_slot = 0;                   ///< of one element of one equation
  std::int32_t n_element = 1, most_vectors = 0;
  std::int32_t is_real = 0;         ///< only real parts of products are wanted, of all elements together
  std::int32_t wants_products = 1;  ///< or only the scalars
  ErrorModel errors;

  template <class T>
  RT_HD const T* values(const SumArray& array) const {
    const std::byte* first = array.base < kFewArrays ? few[array.base] : d_many[array.base - kFewArrays];
    return reinterpret_cast<const T*>(first + array.offset);
  }
  RT_HD static std::size_t place(const SumArray& array, std::size_t element, std::size_t t, std::size_t f) {
    return element * array.element + t * array.time + f * array.frequency;
  }
  RT_HD Complex<double> number(const SumArray& array, std::size_t element, std::size_t t, std::size_t f) const {
    const std::size_t i = place(array, element, t, f);
    if (array.is_complex != 0) return values<Complex<double>>(array)[i];
    return values<double>(array)[i];
  }

  RT_HD std::int64_t n_block() const { return std::int64_t{n_time} * n_frequency; }
  RT_HD std::int64_t n_thread() const { return std::int64_t{n_equation} * n_element * n_slot; }
  RT_HD std::int64_t n_value() const { return std::int64_t{most_vectors} * (most_vectors + 3) / 2; }
  /// Numbers of one sum: scalars, then products of vector k with the residual, then the lower triangle of the vectors'
  /// products with each other; complex or real.
  RT_HD std::int64_t n_number() const {
    return kScalars + (wants_products != 0 ? n_value() * (is_real != 0 ? 1 : 2) : 0);
  }
  RT_HD std::int64_t n_sum() const { return n_equation * n_block() * (is_real != 0 ? 1 : n_element); }
  RT_HD int n_tile() const {
    const int n = wants_products != 0 ? most_vectors / kTile + 1 : 1;
    return n * (n + 1) / 2;
  }
  static constexpr int kTile = 4, kScalars = sizeof(ScalarSums) / sizeof(double);
};

/// Sums of sums: each of `n_total` adds up, in their order, those that its list names.
struct SumListsJob {
  const std::int64_t* d_first = nullptr;   ///< [n_total + 1]: where lists begin
  const std::int64_t* d_source = nullptr;  ///< places in d_sums
  const double* d_sums = nullptr;
  double* d_total = nullptr;
  std::int64_t n_total = 0, n_source = 0, n_sum = 0;
};

/// Calls f(array, number of elements) for each array.
template <class F>
void for_each_array(SumListsJob& job, F&& f) {
  f(job.d_first, job.n_total + 1);
  f(job.d_source, job.n_source);
  f(job.d_sums, job.n_sum);
  f(job.d_total, job.n_total);
}

/// Threads of a block of so many cells, for one element.
RT_HD inline std::int32_t sum_slots(std::size_t cells) {
  return static_cast<std::int32_t>(cells < kStrands ? cells : (cells + kChunkCells - 1) / kChunkCells * kStrands);
}

}  // namespace rimetree::solve
