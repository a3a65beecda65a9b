#include "memory/cuda_device.h"

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "memory/cuda_queue.h"

namespace rimetree::memory {

namespace {

/// Page-locked memory that is kept: single pieces up to the size in which large arrays are staged, and all together.
constexpr std::size_t kLargestKept = std::size_t{8} << 20, kMostKept = std::size_t{64} << 20;

/// Powers of two for what may be kept, so that it serves others.
std::size_t staging_size(std::size_t bytes) {
  constexpr std::size_t kPage = 4096;
  return bytes <= kLargestKept ? std::bit_ceil(std::max(bytes, kPage)) : bytes;
}

}  // namespace

void check_cuda(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // an error that is reported must not be found again by the next call
  throw std::runtime_error(std::string("CUDA: ") + what + ": " + cudaGetErrorString(status));
}

int cuda_device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  return count;
}

std::string why_no_cuda_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  cudaGetLastError();
  if (status != cudaSuccess) return cudaGetErrorString(status);
  return count > 0 ? "" : "the driver knows of none";
}

CudaDevice::CudaDevice(int ordinal) : ordinal_(ordinal) {
  check_cuda(cudaSetDevice(ordinal), "cudaSetDevice");
  cudaDeviceProp properties;
  check_cuda(cudaGetDeviceProperties(&properties, ordinal), "cudaGetDeviceProperties");
  name_ = std::string(properties.name) + " (cuda:" + std::to_string(ordinal) + ")";
  int has_pools = 0;
  check_cuda(cudaDeviceGetAttribute(&has_pools, cudaDevAttrMemoryPoolsSupported, ordinal), "cudaDeviceGetAttribute");
  if (!has_pools)
    throw std::runtime_error(name_ + " has no stream-ordered memory pools; a newer driver may bring them");
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = ordinal;
  check_cuda(cudaMemPoolCreate(&pool_, &wanted), "cudaMemPoolCreate");
  try {
    // Memory given back stays in the pool: after the first time-slot group nothing is taken from the driver.
    std::uint64_t keep = UINT64_MAX;
    check_cuda(cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep), "cudaMemPoolSetAttribute");
    check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  } catch (...) {
    cudaMemPoolDestroy(pool_);
    throw;
  }
}

CudaDevice::~CudaDevice() {
  cudaSetDevice(ordinal_);
  cudaStreamSynchronize(stream_);
  cudaStreamDestroy(stream_);
  cudaMemPoolDestroy(pool_);
  free_idle_staging();
}

void* CudaDevice::allocate(std::size_t bytes) {
  void* data = cuda_allocate(*this, stream_, bytes);
  try {
    check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  } catch (...) {
    cuda_deallocate(*this, stream_, data, bytes);
    throw;
  }
  return data;
}

void CudaDevice::deallocate(void* data, std::size_t bytes) noexcept { cuda_deallocate(*this, stream_, data, bytes); }

void CudaDevice::copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind, const char* what) {
  if (bytes == 0) return;
  check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice");
  check_cuda(cudaMemcpyAsync(target, source, bytes, kind, stream_), what);
  check_cuda(cudaStreamSynchronize(stream_), what);
}

void CudaDevice::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  copy(d_target, source, bytes, cudaMemcpyHostToDevice, "copy to the device");
  counter_.copied(&DeviceStatistics::bytes_to_device, bytes);
}

void CudaDevice::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  copy(target, d_source, bytes, cudaMemcpyDeviceToHost, "copy to the host");
  counter_.copied(&DeviceStatistics::bytes_to_host, bytes);
}

void CudaDevice::copy_within(void* d_target, const void* d_source, std::size_t bytes) {
  copy(d_target, d_source, bytes, cudaMemcpyDeviceToDevice, "copy on the device");
  counter_.copied(&DeviceStatistics::bytes_within, bytes);
}

std::unique_ptr<Queue> CudaDevice::make_queue() { return std::make_unique<CudaQueue>(*this); }

void* CudaDevice::allocate_staging(std::size_t bytes) {
  const std::size_t size = staging_size(bytes);
  {
    const std::lock_guard lock(staging_mutex_);
    if (const auto it = idle_staging_.find(size); it != idle_staging_.end()) {
      void* const data = it->second;
      idle_staging_.erase(it);
      idle_staging_bytes_ -= size;
      return data;
    }
  }
  check_cuda(cudaSetDevice(ordinal_), "cudaSetDevice");
  void* data = nullptr;
  cudaError_t status = cudaMallocHost(&data, size);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    free_idle_staging();
    status = cudaMallocHost(&data, size);
  }
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory("page-locked memory of " + name_, bytes);
  }
  check_cuda(status, "cudaMallocHost");
  return data;
}

void CudaDevice::deallocate_staging(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  const std::size_t size = staging_size(bytes);
  if (size <= kLargestKept) try {
      const std::lock_guard lock(staging_mutex_);
      if (idle_staging_bytes_ + size <= kMostKept) {
        idle_staging_.emplace(size, data);
        idle_staging_bytes_ += size;
        return;
      }
    } catch (...) {  // no room for the list entry itself
    }
  cudaFreeHost(data);
}

void CudaDevice::free_idle_staging() {
  const std::lock_guard lock(staging_mutex_);
  for (const auto& [size, data] : idle_staging_) cudaFreeHost(data);
  idle_staging_.clear();
  idle_staging_bytes_ = 0;
}

void* CudaDevice::resolve(const void*, std::size_t) const {
  throw std::out_of_range("memory of " + name_ + " cannot be reached from the host");
}

std::size_t CudaDevice::free_bytes() const {
  cudaSetDevice(ordinal_);
  std::size_t free = 0, total = 0;
  check_cuda(cudaMemGetInfo(&free, &total), "cudaMemGetInfo");
  // What the pool holds without using it is free, too.
  std::uint64_t reserved = 0, used = 0;
  check_cuda(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrReservedMemCurrent, &reserved), "cudaMemPoolGetAttribute");
  check_cuda(cudaMemPoolGetAttribute(pool_, cudaMemPoolAttrUsedMemCurrent, &used), "cudaMemPoolGetAttribute");
  return free + static_cast<std::size_t>(reserved - used);
}

}  // namespace rimetree::memory
