// A queue that is a CUDA stream. Copies are timed by events of the stream, read when it is waited for.
#pragma once

#include <mutex>
#include <utility>
#include <vector>

#include "memory/cuda_device.h"

namespace rimetree::memory {

/// Memory of the device's pool in the order of a stream; throws OutOfMemory where there is none even when all streams
/// are done.
void* cuda_allocate(CudaDevice& device, cudaStream_t stream, std::size_t bytes);
void cuda_deallocate(CudaDevice& device, cudaStream_t stream, void* d_data, std::size_t bytes) noexcept;

class CudaQueue final : public Queue {
 public:
  explicit CudaQueue(CudaDevice& device);
  ~CudaQueue() override;

  void* allocate(std::size_t bytes) override;
  void deallocate(void* d_data, std::size_t bytes) noexcept override;
  void copy_to_device(void* d_target, const void* source, std::size_t bytes) override;
  void copy_to_host(void* target, const void* d_source, std::size_t bytes) override;
  void zero(void* d_target, std::size_t bytes) override;
  void run(std::function<void()> work) override;
  EventPtr record() override;
  void wait_for(const EventPtr& event) override;
  void synchronize() override;

  cudaStream_t stream() const { return stream_; }

 private:
  void copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind);
  void make_current() const;
  using Timer = std::pair<cudaEvent_t, cudaEvent_t>;  // when a copy began, and when it was done
  Timer make_timer();
  void read(const std::vector<Timer>& timers);

  CudaDevice& cuda_;
  cudaStream_t stream_ = nullptr;
  std::mutex mutex_;  // of timers: whoever reads results may be another thread
  std::vector<Timer> running_, idle_;
};

}  // namespace rimetree::memory
