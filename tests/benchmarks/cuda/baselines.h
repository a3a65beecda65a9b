// Other ways to sum a sky on a GPU, timed on the same card as ours.
#pragma once

#include <chrono>

#include "memory/device.h"
#include "tests/benchmarks/cuda/thesis_design.h"

namespace rimetree::benchmarks {

inline double seconds_now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Seconds per evaluation (one baseline, one group of time slots), in the thesis' terms.
struct ThesisSeconds {
  double real = 0;         ///< all of it: memory, every input sent again, kernels, the result copied back
  double constrained = 0;  ///< computation and the copies that are needed: UVW up, visibilities down
  double computation = 0;  ///< the kernels
};
/// `problem`: host memory; `partial` is not used.
ThesisSeconds time_thesis_design(memory::Device& device, const thesis::Problem& problem, int n_evaluation);

/// The plain unpolarised sum without smearing, as a segmented reduction of the CUB library over generated terms:
/// seconds per evaluation of all rows and channels. Host memory: uvw [3][row], sigma [3][source], flux [source].
struct PlainSum {
  std::int32_t n_source = 0, n_row = 0, n_channel = 0;
  const double *uvw = nullptr, *sigma = nullptr, *flux = nullptr, *frequency_hz = nullptr;
};
double time_cub_sum(memory::Device& device, const PlainSum& problem, int n_evaluation);

}  // namespace rimetree::benchmarks
