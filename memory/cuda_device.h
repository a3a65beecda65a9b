// A GPU through the CUDA runtime: memory from a stream-ordered pool, page-locked staging memory, queues that are
// streams. Needs the CUDA runtime's headers and library, but no device compiler; part of the plugin for GPUs only.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <mutex>

#include "memory/device.h"
#include "memory/statistics_counter.h"

namespace rimetree::memory {

/// Number of GPUs that this process can use; 0 where there is no driver, or one that is too old.
int cuda_device_count();
/// Why there are none, in the runtime's words; empty if there are.
std::string why_no_cuda_device();

class CudaDevice final : public Device {
 public:
  /// GPU number `ordinal`. Throws std::runtime_error with the runtime's reason if it cannot be used.
  explicit CudaDevice(int ordinal);
  ~CudaDevice() override;

  std::string name() const override { return name_; }
  bool host_accessible() const override { return false; }
  void* allocate(std::size_t bytes) override;
  void deallocate(void* data, std::size_t bytes) noexcept override;
  void copy_to_device(void* d_target, const void* source, std::size_t bytes) override;
  void copy_to_host(void* target, const void* d_source, std::size_t bytes) override;
  void copy_within(void* d_target, const void* d_source, std::size_t bytes) override;
  std::unique_ptr<Queue> make_queue() override;
  void* allocate_staging(std::size_t bytes) override;
  void deallocate_staging(void* data, std::size_t bytes) noexcept override;
  void* resolve(const void* d_data, std::size_t bytes) const override;
  std::size_t free_bytes() const override;
  DeviceStatistics statistics() const override { return counter_.read(); }

  int ordinal() const { return ordinal_; }
  cudaMemPool_t pool() const { return pool_; }
  StatisticsCounter& counter() { return counter_; }

 private:
  /// At once.
  void copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind, const char* what);
  void free_idle_staging();

  int ordinal_;
  std::string name_;
  cudaMemPool_t pool_ = nullptr;
  cudaStream_t stream_ = nullptr;  // of what happens at once
  StatisticsCounter counter_;
  // Small pieces are kept for the next copy: to lock and unlock pages takes longer than most copies, and waits for the
  // whole device.
  std::mutex staging_mutex_;
  std::multimap<std::size_t, void*> idle_staging_;  // by size
  std::size_t idle_staging_bytes_ = 0;
};

/// The stream behind a queue of a CudaDevice, for launching kernels. The device is made the calling thread's current
/// one.
cudaStream_t cuda_stream(Queue& queue);

/// Throws std::runtime_error with what a call of the CUDA runtime reports.
void check_cuda(cudaError_t status, const char* what);

}  // namespace rimetree::memory
