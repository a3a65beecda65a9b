// Fourier transforms on a device, many of one length: by a library where there is one (cuFFT on GPUs, FFTW on emulated
// devices), else step by step by kernels of the project's own.
#pragma once

#include <cstdint>
#include <vector>

#include "memory/queue.h"
#include "runtime/math/complex.h"
#include "runtime/math/host_device.h"

namespace rimetree::correlator {

class FilterBank;

/// bins_k = sum signal_t exp(-2 pi i k t / n), [batch][n]. `signal` may be overwritten.
struct FourierJob {
  Complex<float>*signal = nullptr, *bins = nullptr;
  std::int64_t batch = 0;
  std::int32_t n = 0;
};
template <class F>
void for_each_array(FourierJob& job, F&& f) {
  f(job.signal, job.batch * job.n);
  f(job.bins, job.batch * job.n);
}

/// One step of an own transform (decimation in frequency by any radix, autosorting: Stockham): of the lengths n = radix
/// m that are left, `stride` of them side by side, each becomes `radix` of length m.
struct FourierStepJob {
  const Complex<float>* from = nullptr;
  Complex<float>* to = nullptr;
  const Complex<float>* root = nullptr;  ///< [whole] exp(-2 pi i k / whole)
  std::int64_t batch = 0;
  std::int32_t whole = 0, stride = 1, radix = 1;
  RT_HD std::int64_t size() const { return batch * whole; }
};
template <class F>
void for_each_array(FourierStepJob& job, F&& f) {
  f(job.from, job.size());
  f(job.to, job.size());
  f(job.root, job.whole);
}
/// Number `i` of all that come out.
RT_HD inline void fourier_step(const FourierStepJob& job, std::int64_t i) {
  const std::int32_t n = job.whole / job.stride, m = n / job.radix, out = static_cast<std::int32_t>(i % job.whole),
                     q = out % job.stride, t = out / job.stride, p = t / job.radix, u = t % job.radix;
  const Complex<float>* from = job.from + i / job.whole * job.whole;
  from += q + std::int64_t{job.stride} * p;
  Complex<float> sum(0.0f, 0.0f);
  std::int32_t turn = u * p;  // below n, and so it stays
  for (std::int32_t v = 0; v < job.radix; ++v) {
    sum += from[std::int64_t{v} * m * job.stride] * job.root[std::int64_t{turn} * job.stride];
    turn += u * m;
    if (turn >= n) turn -= n;
  }
  job.to[i] = sum;
}
/// Radices of a length, an odd number of them: as many steps lead from `signal` to `bins` and back and forth.
std::vector<std::int32_t> fourier_radices(std::int32_t n);

// Each queues one launch.
/// `bank`: what an emulated device transforms with; it must stay until that is done.
void launch(memory::Queue& queue, const FourierJob& job, const FilterBank& bank);
void launch(memory::Queue& queue, const FourierStepJob& job);

/// Whether the device has a library for transforms. The plugin for GPUs says so for them: it looks for cuFFT when this
/// is first asked.
bool has_fourier_library(const memory::Device& device);
void set_gpu_fourier_library(bool (*is_there)());

}  // namespace rimetree::correlator
