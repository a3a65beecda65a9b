#include "memory/cuda_queue.h"

#include <memory>
#include <stdexcept>

namespace rimetree::memory {

namespace {

/// Timers are read at the latest after so many copies.
constexpr std::size_t kMostTimers = 1024;

class CudaEvent final : public Event {
 public:
  explicit CudaEvent(cudaStream_t stream) {
    check_cuda(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming | cudaEventBlockingSync), "cudaEventCreate");
    const cudaError_t status = cudaEventRecord(event_, stream);
    if (status != cudaSuccess) cudaEventDestroy(event_);
    check_cuda(status, "cudaEventRecord");
  }
  ~CudaEvent() override { cudaEventDestroy(event_); }
  void wait() override { check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }
  cudaEvent_t event() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

void CUDART_CB call_and_delete(void* work) {
  const std::unique_ptr<std::function<void()>> owned(static_cast<std::function<void()>*>(work));
  (*owned)();
}

}  // namespace

cudaStream_t cuda_stream(Queue& queue) {
  auto& cuda = dynamic_cast<CudaQueue&>(queue);
  check_cuda(cudaSetDevice(static_cast<CudaDevice&>(cuda.device()).ordinal()), "cudaSetDevice");
  return cuda.stream();
}

void* cuda_allocate(CudaDevice& device, cudaStream_t stream, std::size_t bytes) {
  cudaSetDevice(device.ordinal());
  void* data = nullptr;
  const cudaError_t status = cudaMallocFromPoolAsync(&data, bytes == 0 ? 1 : bytes, device.pool(), stream);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw OutOfMemory(device.name(), bytes);
  }
  check_cuda(status, "cudaMallocFromPoolAsync");
  device.counter().allocated(bytes);
  return data;
}

void cuda_deallocate(CudaDevice& device, cudaStream_t stream, void* d_data, std::size_t bytes) noexcept {
  if (d_data == nullptr) return;
  cudaSetDevice(device.ordinal());
  cudaFreeAsync(d_data, stream);
  device.counter().deallocated(bytes);
}

CudaQueue::CudaQueue(CudaDevice& device) : Queue(device), cuda_(device) {
  make_current();
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

CudaQueue::~CudaQueue() {
  cudaSetDevice(cuda_.ordinal());
  cudaStreamSynchronize(stream_);
  for (const auto* events : {&running_, &idle_})
    for (const cudaEvent_t event : *events) cudaEventDestroy(event);
  cudaStreamDestroy(stream_);
}

void CudaQueue::make_current() const { check_cuda(cudaSetDevice(cuda_.ordinal()), "cudaSetDevice"); }

void* CudaQueue::allocate(std::size_t bytes) {
  try {
    return cuda_allocate(cuda_, stream_, bytes);
  } catch (const OutOfMemory&) {
    // Memory given back on other streams is free only once they are done.
    make_current();
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemPoolTrimTo(cuda_.pool(), 0), "cudaMemPoolTrimTo");
    return cuda_allocate(cuda_, stream_, bytes);
  }
}

void CudaQueue::deallocate(void* d_data, std::size_t bytes) noexcept { cuda_deallocate(cuda_, stream_, d_data, bytes); }

cudaEvent_t CudaQueue::timer() {
  if (idle_.empty()) {
    cudaEvent_t event = nullptr;
    check_cuda(cudaEventCreate(&event), "cudaEventCreate");
    idle_.push_back(event);
  }
  const cudaEvent_t event = idle_.back();
  check_cuda(cudaEventRecord(event, stream_), "cudaEventRecord");
  running_.push_back(event);
  idle_.pop_back();
  return event;
}

// The stream must be done.
void CudaQueue::read_timers() {
  for (std::size_t i = 0; i + 1 < running_.size(); i += 2) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, running_[i], running_[i + 1]), "cudaEventElapsedTime");
    cuda_.counter().copied_for(1e-3 * milliseconds);
  }
  idle_.insert(idle_.end(), running_.begin(), running_.end());
  running_.clear();
}

void CudaQueue::copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  make_current();
  if (running_.size() >= kMostTimers) synchronize();
  timer();
  const cudaError_t status = cudaMemcpyAsync(target, source, bytes, kind, stream_);
  timer();
  const bool up = kind == cudaMemcpyHostToDevice;
  check_cuda(status, up ? "copy to the device" : "copy to the host");
  cuda_.counter().copied(up ? &DeviceStatistics::bytes_to_device : &DeviceStatistics::bytes_to_host, bytes);
}

void CudaQueue::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  copy(d_target, source, bytes, cudaMemcpyHostToDevice);
}

void CudaQueue::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  copy(target, d_source, bytes, cudaMemcpyDeviceToHost);
}

void CudaQueue::zero(void* d_target, std::size_t bytes) {
  make_current();
  check_cuda(cudaMemsetAsync(d_target, 0, bytes, stream_), "cudaMemsetAsync");
}

void CudaQueue::run(std::function<void()> work) {
  make_current();
  auto owned = std::make_unique<std::function<void()>>(std::move(work));
  check_cuda(cudaLaunchHostFunc(stream_, call_and_delete, owned.get()), "cudaLaunchHostFunc");
  owned.release();
}

EventPtr CudaQueue::record() {
  make_current();
  return std::make_shared<CudaEvent>(stream_);
}

void CudaQueue::wait_for(const EventPtr& event) {
  make_current();
  check_cuda(cudaStreamWaitEvent(stream_, dynamic_cast<CudaEvent&>(*event).event(), 0), "cudaStreamWaitEvent");
}

void CudaQueue::synchronize() {
  make_current();
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  read_timers();
}

}  // namespace rimetree::memory
