// A stand-in for cuFFT: the same calls, and transforms from their definition in double precision, done when their
// stream comes to them. Stricter than cuFFT: what must not be stops the program - plans that do not exist, belong to
// another device or are destroyed before their work is done, arrays that are too short or gone - and the signal is no
// longer there afterwards.
#include "tests/gpu/emulation/fourier_library.h"

#include <cufft.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <mutex>
#include <numbers>
#include <vector>

#include "tests/gpu/emulation/device_memory.h"
#include "tests/gpu/emulation/settings.h"
#include "tests/gpu/emulation/streams.h"

namespace rimetree::emulation {

namespace {

struct Plan {
  int n, batch, device;
  Stream* stream = nullptr;
  std::size_t last = 0;  ///< position of its last work in the stream
};

std::map<cufftHandle, Plan>& plans() {
  static auto* const all = new std::map<cufftHandle, Plan>;  // outlives what static destructors do with plans
  return *all;
}

Plan& plan_of(cufftHandle handle, const char* call) {
  const auto found = plans().find(handle);
  if (found == plans().end()) stop(std::string(call) + " of a plan that does not exist");
  if (found->second.device != current_device()) stop(std::string(call) + " of a plan of another device");
  return found->second;
}

cufftResult plan_many(cufftHandle* handle, int rank, int* n, int* inembed, int istride, int idist, int* onembed,
                      int ostride, int odist, cufftType type, int batch) {
  const std::lock_guard lock(device_mutex());
  const bool packed = inembed == nullptr && onembed == nullptr && istride == 1 && ostride == 1;
  if (rank != 1 || type != CUFFT_C2C || n[0] < 1 || batch < 1 || !packed || idist != n[0] || odist != n[0])
    stop("cufftPlanMany of something that the emulation does not know");
  static cufftHandle next = 100;
  *handle = next++;
  plans()[*handle] = {n[0], batch, current_device()};
  return CUFFT_SUCCESS;
}

cufftResult set_stream(cufftHandle handle, cudaStream_t stream) {
  const std::lock_guard lock(device_mutex());
  Plan& plan = plan_of(handle, "cufftSetStream");
  plan.stream = find_stream(stream);
  if (plan.stream == nullptr || plan.stream->device() != plan.device) stop("cufftSetStream of no stream of the device");
  return CUFFT_SUCCESS;
}

/// One transform: sums over the definition, with the turns from a table.
void transform_one(const std::complex<float>* from, std::complex<float>* to, int n, int sign) {
  std::vector<std::complex<double>> root;
  for (int k = 0; k < n; ++k) root.push_back(std::polar(1.0, sign * 2 * std::numbers::pi * k / n));
  for (int k = 0; k < n; ++k) {
    std::complex<double> sum;
    for (int t = 0; t < n; ++t)
      sum += std::complex<double>(from[t]) * root[static_cast<std::size_t>(static_cast<long>(k) * t % n)];
    to[k] = std::complex<float>(sum);
  }
}

cufftResult execute(cufftHandle handle, cufftComplex* from, cufftComplex* to, int direction) {
  const std::lock_guard lock(device_mutex());
  Plan& plan = plan_of(handle, "cufftExecC2C");
  if (plan.stream == nullptr) stop("cufftExecC2C in the default stream");
  const std::size_t count = static_cast<std::size_t>(plan.n) * static_cast<std::size_t>(plan.batch);
  const DeviceMemory& memory = DeviceMemory::instance();
  for (const void* array : {static_cast<const void*>(from), static_cast<const void*>(to)})
    if (!memory.contains(array) || !memory.is_alive(array, count * sizeof(cufftComplex)))
      stop("cufftExecC2C outside of an array");
  plan.stream->add([from, to, n = plan.n, batch = plan.batch, count, direction] {
    const DeviceMemory::Open open;
    std::vector<std::complex<float>> all(count);
    std::memcpy(static_cast<void*>(all.data()), from, count * sizeof(cufftComplex));
    std::memset(static_cast<void*>(from), 0xff, count * sizeof(cufftComplex));
    for (int b = 0; b < batch; ++b)
      transform_one(all.data() + static_cast<std::ptrdiff_t>(b) * n,
                    reinterpret_cast<std::complex<float>*>(to) + static_cast<std::ptrdiff_t>(b) * n, n, direction);
  });
  plan.last = plan.stream->end();
  return CUFFT_SUCCESS;
}

cufftResult destroy(cufftHandle handle) {
  const std::lock_guard lock(device_mutex());
  const Plan& plan = plan_of(handle, "cufftDestroy");
  if (plan.stream != nullptr && plan.stream->done() < plan.last) stop("cufftDestroy before the plan's work is done");
  plans().erase(handle);
  return CUFFT_SUCCESS;
}

}  // namespace

void* fourier_library() { return &plans(); }

void* fourier_function(const char* name) {
  const std::map<std::string, void*> functions{{"cufftPlanMany", reinterpret_cast<void*>(&plan_many)},
                                               {"cufftSetStream", reinterpret_cast<void*>(&set_stream)},
                                               {"cufftExecC2C", reinterpret_cast<void*>(&execute)},
                                               {"cufftDestroy", reinterpret_cast<void*>(&destroy)}};
  const auto found = functions.find(name);
  return found == functions.end() ? nullptr : found->second;
}

}  // namespace rimetree::emulation
