#include "nodes/correlator/device/fourier_job.h"

#include <algorithm>
#include <cstring>

#include "nodes/correlator/filter_bank.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {

namespace {

bool (*gpu_library)() = nullptr;

/// FFTW, as the F-engine of the host has it: the same bits.
void transform(const FourierJob& job, const FilterBank& bank) {
  FilterBank::Scratch scratch(bank);
  const auto n = static_cast<std::size_t>(job.n), lanes = bank.lanes(), numbers = std::size_t{bank.is_real() ? 1u : 2u},
             n_bin = bank.is_real() ? n / 2 + 1 : n, batch = static_cast<std::size_t>(job.batch);
  std::vector<float> together(numbers * n * lanes);
  for (std::size_t first = 0; first < batch; first += lanes) {
    const std::size_t many = std::min(lanes, batch - first);
    std::fill(together.begin(), together.end(), 0.0f);
    for (std::size_t lane = 0; lane < many; ++lane)
      for (std::size_t t = 0; t < n; ++t)
        std::memcpy(&together[numbers * (t * lanes + lane)], job.signal + (first + lane) * n + t, 4 * numbers);
    const float* bins = bank.transform(together.data(), scratch);
    for (std::size_t lane = 0; lane < many; ++lane)
      for (std::size_t k = 0; k < n_bin; ++k)
        job.bins[(first + lane) * n + k] = {bins[2 * (k * lanes + lane)], bins[2 * (k * lanes + lane) + 1]};
  }
}

}  // namespace

std::vector<std::int32_t> fourier_radices(std::int32_t n) {
  std::vector<std::int32_t> radices;
  for (const std::int32_t radix : {8, 4, 2, 3, 5, 7})
    for (; n % radix == 0 && n > 1; n /= radix) radices.push_back(radix);
  for (std::int32_t radix = 11; n > 1; radix += 2) {
    if (std::int64_t{radix} * radix > n) radix = n;
    for (; n % radix == 0 && n > 1; n /= radix) radices.push_back(radix);
  }
  if (radices.size() % 2 == 0) radices.push_back(1);
  return radices;
}

void launch(memory::Queue& queue, const FourierJob& job, const FilterBank& bank) {
  if (job.batch > 0) launch_job(queue, job, [&bank](const FourierJob& on_host) { transform(on_host, bank); });
}
void launch(memory::Queue& queue, const FourierStepJob& job) {
  if (job.size() > 0)
    launch_job(queue, job, [](const FourierStepJob& on_host) {
      for (std::int64_t i = 0; i < on_host.size(); ++i) fourier_step(on_host, i);
    });
}

bool has_fourier_library(const memory::Device& device) {
  return device.is_emulated() || (gpu_library != nullptr && gpu_library());
}
void set_gpu_fourier_library(bool (*is_there)()) { gpu_library = is_there; }

}  // namespace rimetree::correlator
