// The calls of the CUDA runtime for devices, errors and memory: what of them the project uses. A call that it comes to
// use besides fails to link. Stricter than CUDA: copies must be of the kind that they say they are, inside arrays that
// are alive, and in a stream of the current device.
#include <cuda_runtime_api.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

#include "tests/gpu/emulation/device_memory.h"
#include "tests/gpu/emulation/settings.h"
#include "tests/gpu/emulation/streams.h"

namespace rimetree::emulation {

namespace {

thread_local cudaError_t last_error = cudaSuccess;
thread_local int chosen_device = 0;

/// Stands for a memory pool: all pools of a device share its memory.
struct Pool {
  int device;
};

/// A stream that exists and belongs to the current device.
Stream* stream_here(cudaStream_t handle) {
  Stream* const stream = find_stream(handle);
  return stream != nullptr && stream->device() == chosen_device ? stream : nullptr;
}

bool is_in_device(const void* data, std::size_t bytes) {
  return DeviceMemory::instance().contains(data) && DeviceMemory::instance().is_alive(data, bytes);
}

}  // namespace

cudaError_t refuse_quietly(cudaError_t error) { return last_error = error; }

cudaError_t refuse(cudaError_t error, const char* why) {
  std::fprintf(stderr, "emulated device: %s: error %d\n", why, static_cast<int>(error));
  return refuse_quietly(error);
}

int current_device() { return chosen_device; }

}  // namespace rimetree::emulation

using namespace rimetree::emulation;

extern "C" {

cudaError_t cudaGetLastError() { return std::exchange(last_error, cudaSuccess); }

const char* cudaGetErrorString(cudaError_t error) {
  static thread_local std::string text;
  text = "error " + std::to_string(static_cast<int>(error)) + " of the emulated device";
  return text.c_str();
}

cudaError_t cudaGetDevice(int* device) {
  *device = chosen_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = settings().devices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  if (device < 0 || device >= settings().devices) return refuse(cudaErrorInvalidDevice, "cudaSetDevice");
  chosen_device = device;
  return cudaSuccess;
}

/// The name only.
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int) {
  std::memset(properties, 0, sizeof(*properties));
  std::strcpy(properties->name, "Emulated GPU");
  return cudaSuccess;
}

/// Processors and clock are those of an H100: methods are planned by them.
cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int) {
  switch (attribute) {
    case cudaDevAttrMemoryPoolsSupported:
      *value = 1;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMajor:
      *value = RIMETREE_EMULATED_ARCHITECTURE / 10;
      return cudaSuccess;
    case cudaDevAttrComputeCapabilityMinor:
      *value = RIMETREE_EMULATED_ARCHITECTURE % 10;
      return cudaSuccess;
    case cudaDevAttrMultiProcessorCount:
      *value = 132;
      return cudaSuccess;
    case cudaDevAttrClockRate:
      *value = 1980000;
      return cudaSuccess;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(settings().shared_bytes);
      return cudaSuccess;
    default:
      return refuse(cudaErrorNotSupported, "an attribute that the emulation does not know");
  }
}

/// Programs are not compiled while tests run: they are run operation by operation.
cudaError_t cudaLibraryLoadData(cudaLibrary_t*, const void*, cudaJitOption*, void**, unsigned, cudaLibraryOption*,
                                void**, unsigned) {
  return refuse_quietly(cudaErrorNotSupported);
}
cudaError_t cudaLibraryGetKernel(cudaKernel_t*, cudaLibrary_t, const char*) {
  return refuse_quietly(cudaErrorNotSupported);
}
cudaError_t cudaLaunchKernel(const void*, dim3, dim3, void**, std::size_t, cudaStream_t) {
  return refuse(cudaErrorNotSupported, "cudaLaunchKernel");
}

cudaError_t cudaMemPoolCreate(cudaMemPool_t* handle, const cudaMemPoolProps* wanted) {
  *handle = reinterpret_cast<cudaMemPool_t>(new Pool{wanted->location.id});
  return cudaSuccess;
}

cudaError_t cudaMemPoolDestroy(cudaMemPool_t handle) {
  delete reinterpret_cast<Pool*>(handle);
  return cudaSuccess;
}

/// Nothing is ever held in reserve, so that there is nothing to set or to trim.
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }

/// What is reserved is what is used.
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t handle, cudaMemPoolAttr, void* value) {
  const std::lock_guard lock(device_mutex());
  *static_cast<std::uint64_t*>(value) = DeviceMemory::instance().used(reinterpret_cast<Pool*>(handle)->device);
  return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* free, std::size_t* total) {
  const std::lock_guard lock(device_mutex());
  *total = settings().memory_bytes;
  *free = *total - DeviceMemory::instance().used(chosen_device);
  return cudaSuccess;
}

cudaError_t cudaMallocFromPoolAsync(void** data, std::size_t bytes, cudaMemPool_t handle, cudaStream_t stream_handle) {
  const std::lock_guard lock(device_mutex());
  const Stream* const stream = stream_here(stream_handle);
  if (stream == nullptr || reinterpret_cast<Pool*>(handle)->device != stream->device())
    return refuse(cudaErrorInvalidResourceHandle, "cudaMallocFromPoolAsync");
  if (bytes == 0) return refuse(cudaErrorInvalidValue, "cudaMallocFromPoolAsync of nothing");
  *data = DeviceMemory::instance().allocate(*stream, bytes);
  return *data == nullptr ? refuse_quietly(cudaErrorMemoryAllocation) : cudaSuccess;
}

cudaError_t cudaFreeAsync(void* data, cudaStream_t handle) {
  const std::lock_guard lock(device_mutex());
  Stream* const stream = find_stream(handle);
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaFreeAsync");
  return DeviceMemory::instance().free(*stream, data)
             ? cudaSuccess
             : refuse(cudaErrorInvalidValue, "cudaFreeAsync of what is not allocated");
}

/// Page-locked memory is ordinary memory, all NaN.
cudaError_t cudaMallocHost(void** data, std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  *data = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (*data == nullptr) return refuse_quietly(cudaErrorMemoryAllocation);
  std::memset(*data, 0xff, bytes);
  return cudaSuccess;
}

cudaError_t cudaFreeHost(void* data) {
  std::free(data);
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t handle) {
  const std::lock_guard lock(device_mutex());
  if (bytes == 0) return cudaSuccess;
  Stream* const stream = stream_here(handle);
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaMemcpyAsync");
  const bool to_device = kind != cudaMemcpyDeviceToHost, from_device = kind != cudaMemcpyHostToDevice;
  const DeviceMemory& memory = DeviceMemory::instance();
  if (memory.contains(target) != to_device || memory.contains(source) != from_device)
    return refuse(cudaErrorInvalidValue, "cudaMemcpyAsync of another kind than it says");
  if ((to_device && !memory.is_alive(target, bytes)) || (from_device && !memory.is_alive(source, bytes)))
    return refuse(cudaErrorInvalidValue, "cudaMemcpyAsync outside of an array");
  stream->add([target, source, bytes] {
    const DeviceMemory::Open open;
    std::memmove(target, source, bytes);
  });
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* data, int value, std::size_t bytes, cudaStream_t handle) {
  const std::lock_guard lock(device_mutex());
  if (bytes == 0) return cudaSuccess;
  Stream* const stream = stream_here(handle);
  if (stream == nullptr) return refuse(cudaErrorInvalidResourceHandle, "cudaMemsetAsync");
  if (!is_in_device(data, bytes)) return refuse(cudaErrorInvalidValue, "cudaMemsetAsync outside of an array");
  stream->add([data, value, bytes] {
    const DeviceMemory::Open open;
    std::memset(data, value, bytes);
  });
  return cudaSuccess;
}
}
