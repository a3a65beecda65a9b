// What nvcc adds to C++, as far as the kernels use it, for a host compiler. Included before each transformed source.
// Host code of these files sees __CUDA_ARCH__ too, which it does not with nvcc.
#pragma once

#include <cuda_runtime.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "tests/gpu/emulation/block.h"
#include "tests/gpu/emulation/launch.h"
#include "tests/gpu/emulation/matrix_units.h"

#undef __host__
#undef __device__
#undef __global__
#undef __launch_bounds__
#undef __grid_constant__
#define __host__
#define __device__
#define __global__
#define __launch_bounds__(...)
#define __grid_constant__
#define __CUDA_ARCH__ (RIMETREE_EMULATED_ARCHITECTURE * 10)
#define threadIdx ::rimetree::emulation::thread_index
#define blockIdx ::rimetree::emulation::block_index
#define blockDim ::rimetree::emulation::block_size
#define gridDim ::rimetree::emulation::grid_size
#define __syncthreads() ::rimetree::emulation::wait_for_block(__FILE__, __LINE__)
#define sincospi ::rimetree::emulation::sine_and_cosine_of_pi

namespace rimetree::emulation {

/// Keeps a compiler from contracting what made x with what is made of it.
template <class T>
T rounded(T x) {
  asm volatile("" : "+x"(x));
  return x;
}

/// sincospi(x, ...), from long double: off by half a unit in the last place, where CUDA's may be off by two.
inline void sine_and_cosine_of_pi(double x, double* sine, double* cosine) {
  const long double angle = 3.14159265358979323846264338327950288L * static_cast<long double>(x);
  *sine = static_cast<double>(std::sin(angle));
  *cosine = static_cast<double>(std::cos(angle));
}

}  // namespace rimetree::emulation

/// Sums and products that are rounded before anything is done with them.
inline double __dadd_rn(double a, double b) { return rimetree::emulation::rounded(a + b); }
inline double __dmul_rn(double a, double b) { return rimetree::emulation::rounded(a * b); }
inline float __fadd_rn(float a, float b) { return rimetree::emulation::rounded(a + b); }
inline float __fmul_rn(float a, float b) { return rimetree::emulation::rounded(a * b); }

/// The halves of a double's bits, and the double that two halves are.
inline int __double2hiint(double x) { return static_cast<int>(std::bit_cast<std::int64_t>(x) >> 32); }
inline int __double2loint(double x) { return static_cast<int>(std::bit_cast<std::int64_t>(x)); }
inline double __hiloint2double(int high, int low) {
  return std::bit_cast<double>(std::int64_t{high} << 32 | std::int64_t{static_cast<std::uint32_t>(low)});
}
/// The number that these bits are.
inline float __uint_as_float(std::uint32_t bits) {
  float number;
  std::memcpy(&number, &bits, sizeof(number));
  return number;
}

/// The attribute of a kernel by its name, as nvcc's C++ interface has it.
template <class Kernel>
cudaError_t cudaFuncSetAttribute(Kernel* kernel, cudaFuncAttribute attribute, int value) {
  return ::cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), attribute, value);
}

// Devices have neither long double nor recording numbers; what the host does with them in these files is compiled with
// the device's branches.
namespace rimetree::exact {
template <class P>
P add(P a, P b) {
  return a + b;
}
template <class P>
P multiply(P a, P b) {
  return a * b;
}
}  // namespace rimetree::exact
