#include "memory/cuda_queue.h"

#include <memory>
#include <stdexcept>

namespace rimetree::memory {

namespace {

/// Timers are read at the latest after so many copies.
constexpr std::size_t kMostTimers = 512;

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
  check_cuda(cudaSetDevice(device.ordinal()), "cudaSetDevice");
  void* data = nullptr;
  const auto allocate = [&] { return cudaMallocFromPoolAsync(&data, bytes == 0 ? 1 : bytes, device.pool(), stream); };
  cudaError_t status = allocate();
  if (status == cudaErrorMemoryAllocation) {
    // Memory given back on other streams is free only once they are done.
    cudaGetLastError();
    check_cuda(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    check_cuda(cudaMemPoolTrimTo(device.pool(), 0), "cudaMemPoolTrimTo");
    status = allocate();
  }
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
  for (const auto* timers : {&running_, &idle_})
    for (const auto& [begin, end] : *timers) cudaEventDestroy(begin), cudaEventDestroy(end);
  cudaStreamDestroy(stream_);
}

void CudaQueue::make_current() const { check_cuda(cudaSetDevice(cuda_.ordinal()), "cudaSetDevice"); }

void* CudaQueue::allocate(std::size_t bytes) { return cuda_allocate(cuda_, stream_, bytes); }

void CudaQueue::deallocate(void* d_data, std::size_t bytes) noexcept { cuda_deallocate(cuda_, stream_, d_data, bytes); }

CudaQueue::Timer CudaQueue::make_timer() {
  Timer timer{};
  if (!idle_.empty()) {
    timer = idle_.back();
    idle_.pop_back();
    return timer;
  }
  check_cuda(cudaEventCreate(&timer.first), "cudaEventCreate");
  const cudaError_t status = cudaEventCreate(&timer.second);
  if (status != cudaSuccess) cudaEventDestroy(timer.first);
  check_cuda(status, "cudaEventCreate");
  return timer;
}

/// Of copies that are done.
void CudaQueue::read(const std::vector<Timer>& timers) {
  const std::lock_guard lock(mutex_);
  idle_.insert(idle_.end(), timers.begin(), timers.end());
  for (const auto& [begin, end] : timers) {
    float milliseconds = 0;
    check_cuda(cudaEventElapsedTime(&milliseconds, begin, end), "cudaEventElapsedTime");
    cuda_.counter().copied_for(1e-3 * milliseconds);
  }
}

void CudaQueue::copy(void* target, const void* source, std::size_t bytes, cudaMemcpyKind kind) {
  if (bytes == 0) return;
  make_current();
  const bool up = kind == cudaMemcpyHostToDevice;
  bool many = false;
  {
    const std::lock_guard lock(mutex_);
    running_.reserve(running_.size() + 1);
    const Timer timer = make_timer();
    running_.push_back(timer);
    check_cuda(cudaEventRecord(timer.first, stream_), "cudaEventRecord");
    const cudaError_t status = cudaMemcpyAsync(target, source, bytes, kind, stream_);
    check_cuda(cudaEventRecord(timer.second, stream_), "cudaEventRecord");
    check_cuda(status, up ? "copy to the device" : "copy to the host");
    many = running_.size() >= kMostTimers;
  }
  cuda_.counter().copied(up ? &DeviceStatistics::bytes_to_device : &DeviceStatistics::bytes_to_host, bytes);
  if (many) synchronize();
}

void CudaQueue::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  copy(d_target, source, bytes, cudaMemcpyHostToDevice);
}

void CudaQueue::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  copy(target, d_source, bytes, cudaMemcpyDeviceToHost);
}

void CudaQueue::zero(void* d_target, std::size_t bytes) {
  if (bytes == 0) return;
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
  std::vector<Timer> timers;
  {
    const std::lock_guard lock(mutex_);
    timers.swap(running_);
  }
  check_cuda(cudaStreamSynchronize(stream_), "cudaStreamSynchronize");
  read(timers);
}

}  // namespace rimetree::memory
