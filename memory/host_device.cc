#include "memory/host_device.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace rimetree::memory {

namespace {

/// Large arrays are read side by side and along many axes: with pages of 4 KiB each step may need a new one, which
/// takes longer than the arithmetic.
constexpr std::size_t kHugePage = std::size_t{2} << 20, kLargeBytes = 2 * kHugePage;

/// Does everything at once: the host is in order by itself.
class HostQueue final : public Queue {
 public:
  using Queue::Queue;
  void* allocate(std::size_t bytes) override { return device().allocate(bytes); }
  void deallocate(void* d_data, std::size_t bytes) noexcept override { device().deallocate(d_data, bytes); }
  void copy_to_device(void* d_target, const void* source, std::size_t bytes) override {
    device().copy_to_device(d_target, source, bytes);
  }
  void copy_to_host(void* target, const void* d_source, std::size_t bytes) override {
    device().copy_to_host(target, d_source, bytes);
  }
  void zero(void* d_target, std::size_t bytes) override {
    if (bytes != 0) std::memset(d_target, 0, bytes);
  }
  void run(std::function<void()> work) override { work(); }
  EventPtr record() override {
    struct Done final : Event {
      void wait() override {}
    };
    return std::make_shared<Done>();
  }
  void wait_for(const EventPtr&) override {}
  void synchronize() override {}
};

}  // namespace

std::unique_ptr<Queue> HostDevice::make_queue() { return std::make_unique<HostQueue>(*this); }

std::size_t HostDevice::free_bytes() const {
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page) : 0;
}

void* HostDevice::allocate(std::size_t bytes) {
  const std::size_t alignment = bytes >= kLargeBytes ? kHugePage : kAlignment;
  const std::size_t rounded = (bytes + kAlignment - 1) / kAlignment * kAlignment;
  if (rounded < bytes) throw OutOfMemory(name(), bytes);  // rounding wrapped around
  // aligned_alloc would want whole huge pages.
  void* data = nullptr;
  if (posix_memalign(&data, alignment, std::max(rounded, kAlignment)) != 0) throw OutOfMemory(name(), bytes);
#ifdef MADV_HUGEPAGE
  // Advice: small pages do as well. What is left over at the end takes small ones, so that no memory is wasted.
  if (alignment == kHugePage) madvise(data, rounded / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  counter_.allocated(bytes);
  return data;
}

void HostDevice::deallocate(void* data, std::size_t bytes) noexcept {
  if (data == nullptr) return;
  std::free(data);
  counter_.deallocated(bytes);
}

void HostDevice::copy_to_device(void* d_target, const void* source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(d_target, source, bytes);
  counter_.copied(&DeviceStatistics::bytes_to_device, bytes);
}

void HostDevice::copy_to_host(void* target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memcpy(target, d_source, bytes);
  counter_.copied(&DeviceStatistics::bytes_to_host, bytes);
}

void HostDevice::copy_within(void* d_target, const void* d_source, std::size_t bytes) {
  if (bytes != 0) std::memmove(d_target, d_source, bytes);
  counter_.copied(&DeviceStatistics::bytes_within, bytes);
}

HostDevice& host() {
  // Never destroyed: results that outlive main() (held by Python at exit, say) still give their memory back.
  static auto* const device = new HostDevice;
  return *device;
}

}  // namespace rimetree::memory
