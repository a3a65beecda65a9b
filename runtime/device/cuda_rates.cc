// The arithmetic of a GPU by its architecture, for who plans work on it.
#include "memory/cuda_device.h"
#include "runtime/device/device_rates.h"

namespace rimetree {
namespace {

DeviceRates rates_of_cuda_device(const memory::Device& device) {
  const int ordinal = dynamic_cast<const memory::CudaDevice&>(device).ordinal();
  const auto attribute = [ordinal](cudaDeviceAttr which) {
    int value = 0;
    memory::check_cuda(cudaDeviceGetAttribute(&value, which, ordinal), "cudaDeviceGetAttribute");
    return value;
  };
  return gpu_rates(attribute(cudaDevAttrComputeCapabilityMajor), attribute(cudaDevAttrComputeCapabilityMinor),
                   attribute(cudaDevAttrMultiProcessorCount), 1e3 * attribute(cudaDevAttrClockRate));
}

[[maybe_unused]] const bool registered = [] {
  set_gpu_rates(&rates_of_cuda_device);
  return true;
}();

}  // namespace
}  // namespace rimetree
