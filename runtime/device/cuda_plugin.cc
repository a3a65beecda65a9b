// The plugin for GPUs: it brings the kind of device "cuda" and the kernels for it. Where there is no driver or no GPU
// it loads all the same and brings no device.
#include "memory/cuda_device.h"
#include "memory/devices.h"
#include "runtime/core/classes/plugin_api.h"

namespace {

std::string about() {
  const int count = rimetree::memory::cuda_device_count();
  if (count == 0) return "no GPU here (" + rimetree::memory::why_no_cuda_device() + ")";
  cudaDeviceProp properties;
  if (cudaGetDeviceProperties(&properties, 0) != cudaSuccess) return std::to_string(count) + " GPUs";
  return std::to_string(count) + (count == 1 ? " GPU, " : " GPUs, first ") + properties.name;
}

[[maybe_unused]] const bool registered = [] {
  rimetree::memory::add_device_kind(
      {"cuda", &rimetree::memory::cuda_device_count,
       [](int ordinal) { return std::make_shared<rimetree::memory::CudaDevice>(ordinal); },
       &rimetree::memory::why_no_cuda_device});
  return true;
}();

}  // namespace

RIMETREE_PLUGIN("rimetree_nodes_cuda", &about);
