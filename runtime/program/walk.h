// Going through memory cell by cell.
#pragma once

#include <algorithm>
#include <cstddef>

#include "runtime/program/program.h"

namespace rimetree::program {

/// How one goes through memory as one goes through the cells of a tier, neighbouring axes taken as one where they can.
struct Walk {
  double* base = nullptr;
  bool is_complex = false;
  int n = 0;
  std::size_t extent[kDimensions], stride[kDimensions];  ///< outermost first; strides in doubles
  void* const* of_item = nullptr;                        ///< where items begin, if not in one array
  std::size_t offset = 0;                                ///< then, in doubles, of what is walked through
  std::size_t entry_stride = 0;                          ///< of tables: doubles from one entry to the next

  void add(std::size_t length, std::size_t step) {
    if (length == 1) return;
    if (n > 0 && stride[n - 1] == length * step) {
      extent[n - 1] *= length;
      stride[n - 1] = step;
    } else {
      extent[n] = length;
      stride[n++] = step;
    }
  }
  bool is_contiguous() const { return n == 0 || (n == 1 && stride[0] == (is_complex ? 2u : 1u)); }
  std::size_t inner_stride() const { return n == 0 ? 0 : stride[n - 1]; }
  /// Calls f(where, done, length) for each run of cells along the innermost axis among `count` from the first on.
  template <class F>
  void for_each_run(std::size_t first, std::size_t count, const F& f) const {
    if (n == 0) return f(base, 0, count);
    std::size_t at[kDimensions] = {}, rest = first;
    for (int d = n - 1; d >= 0; --d) at[d] = rest % extent[d], rest /= extent[d];
    for (std::size_t done = 0; done < count;) {
      double* where = base;
      for (int d = 0; d < n; ++d) where += at[d] * stride[d];
      const std::size_t length = std::min(extent[n - 1] - at[n - 1], count - done);
      f(where, done, length);
      done += length;
      at[n - 1] = 0;
      for (int d = n - 2; d >= 0; --d) {
        if (++at[d] < extent[d]) break;
        at[d] = 0;
      }
    }
  }
};

}  // namespace rimetree::program
