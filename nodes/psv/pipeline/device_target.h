// Visibilities that stay on the device: from where a chunk of rows was computed to where the results of a group of
// nodes lie, [node][XX XY YX YY][time][channel].
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "memory/device_block.h"
#include "runtime/math/complex.h"

namespace rimetree::psv::pipeline {

/// Where results are to stay.
struct DeviceTarget {
  std::shared_ptr<memory::DeviceBlock> block;  ///< of all results; nullptr: on the host
  std::vector<std::int64_t> row_offset;        ///< [row]: of its first channel of XX, in numbers
  std::int64_t plane = 0;                      ///< numbers from one correlation to the next
  std::uint64_t owner = 0;                     ///< tells the offsets of different nodes apart
  bool is_filled = false;                      ///< whether they did stay; if not they are on the host
};

/// Arrays are device memory.
struct MoveJob {
  const Complex<double>* from = nullptr;  ///< [row][XX XY YX YY][channel of the chunk]
  Complex<double>* to = nullptr;          ///< results of all nodes
  const std::int64_t* offset = nullptr;   ///< [row]: of its first channel of XX, in `to`
  std::int64_t plane = 0;                 ///< in `to`, from one correlation to the next
  std::int64_t n_to = 0;
  std::int32_t n_row = 0, n_channel = 0, first_channel = 0;

  RT_HD std::int64_t n_thread() const { return std::int64_t{4} * n_row * n_channel; }
  /// Moves number i.
  RT_HD void thread(std::int64_t i) const {
    const std::int64_t channel = i % n_channel, correlation = i / n_channel % 4, row = i / n_channel / 4;
    to[offset[row] + correlation * plane + first_channel + channel] = from[i];
  }
};

/// Calls f(array, number of elements) for each array.
template <class F>
void for_each_array(MoveJob& job, F&& f) {
  f(job.from, job.n_thread());
  f(job.to, job.n_to);
  f(job.offset, job.n_row);
}

}  // namespace rimetree::psv::pipeline
