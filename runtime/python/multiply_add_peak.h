// What a core can do at best: multiply-adds per second of many independent chains in registers.
#pragma once

#include <string>

namespace rimetree {

struct MultiplyAddPeak {
  double single_per_second = 0, double_per_second = 0;  ///< of one core, per second of processor time
  double bytes_per_second = 0;  ///< of 8-bit numbers into sums of 32 bits; in 16 bits where there is no AVX-512 VNNI
  std::string instruction_set;  ///< e.g. "AVX3" (AVX-512): the one that kernels use too
};

/// Measures it: the best of several short runs, about half a second of processor time on the calling thread.
MultiplyAddPeak multiply_add_peak();

}  // namespace rimetree
