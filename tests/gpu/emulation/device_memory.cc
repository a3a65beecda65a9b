#include "tests/gpu/emulation/device_memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "tests/gpu/emulation/settings.h"
#include "tests/gpu/emulation/streams.h"

namespace rimetree::emulation {

namespace {

constexpr std::size_t kPage = 4096, kAlignment = 512, kGuard = 512;
constexpr int kUnset = 0xff;
/// Addresses, not memory: taken up as they are used.
constexpr std::size_t kAddresses = std::size_t{16} << 30;

std::size_t round_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

DeviceMemory& DeviceMemory::instance() {
  static auto* const memory = new DeviceMemory;  // outlives what static destructors do with devices
  return *memory;
}

DeviceMemory::DeviceMemory()
    : base_(static_cast<char*>(
          mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0))) {
  if (base_ == MAP_FAILED) stop("no address space for device memory");
}

void DeviceMemory::protect(bool open) {
  if (top_ == 0) return;
  if (mprotect(base_, round_up(top_, kPage), open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) stop("mprotect failed");
}

DeviceMemory::Open::Open() {
  if (instance().open_++ == 0) instance().protect(true);
}

DeviceMemory::Open::~Open() {
  if (--instance().open_ == 0) instance().protect(false);
}

void* DeviceMemory::allocate(const Stream& stream, std::size_t bytes) {
  const std::size_t size = round_up(bytes, kAlignment);
  const int device = stream.device();
  if (bytes > settings().memory_bytes || used_[device] + size > settings().memory_bytes) return nullptr;
  used_[device] += size;
  for (auto& [offset, block] : blocks_)
    if (!block.is_alive && block.freed_by == &stream && block.size == size) {
      block = {bytes, size, device, true, nullptr, block.use + 1};
      return base_ + offset;
    }
  auto& idle = idle_[{device, size}];
  std::size_t offset = top_;
  if (!idle.empty()) {
    offset = idle.back();
    idle.pop_back();
  } else {
    if (top_ + size + kGuard > kAddresses) stop("out of addresses for device memory");
    top_ += size + kGuard;
    if (open_ > 0) protect(true);
    const Open open;
    std::memset(base_ + offset, kUnset, size + kGuard);
  }
  blocks_[offset] = {bytes, size, device, true, nullptr, 0};
  return base_ + offset;
}

bool DeviceMemory::free(Stream& stream, void* data) {
  const auto it =
      contains(data) ? blocks_.find(static_cast<std::size_t>(static_cast<char*>(data) - base_)) : blocks_.end();
  if (it == blocks_.end() || !it->second.is_alive) return false;
  Block& block = it->second;
  block.is_alive = false;
  block.freed_by = &stream;
  used_[block.device] -= block.size;
  stream.add([this, offset = it->first, bytes = block.bytes, use = block.use] { settle(offset, bytes, use); });
  return true;
}

void DeviceMemory::settle(std::size_t offset, std::size_t bytes, long use) {
  const Block& block = blocks_.at(offset);
  const Open open;
  char* const data = base_ + offset;
  const bool is_intact = std::all_of(data + bytes, data + block.size + kGuard,
                                     [](char c) { return static_cast<unsigned char>(c) == kUnset; });
  if (!is_intact) stop("an array of " + std::to_string(bytes) + " bytes was written beyond its end");
  std::memset(data, kUnset, block.size);
  if (block.is_alive || block.use != use) return;  // its stream has it again, and gets there after this
  idle_[{block.device, block.size}].push_back(offset);
  blocks_.erase(offset);
}

bool DeviceMemory::contains(const void* data) const {
  const char* const at = static_cast<const char*>(data);
  return at >= base_ && at < base_ + kAddresses;
}

bool DeviceMemory::is_alive(const void* data, std::size_t bytes) const {
  const auto offset = static_cast<std::size_t>(static_cast<const char*>(data) - base_);
  auto it = blocks_.upper_bound(offset);
  if (it == blocks_.begin()) return false;
  --it;
  return it->second.is_alive && offset + bytes <= it->first + it->second.bytes;
}

std::size_t DeviceMemory::used(int device) const {
  const auto it = used_.find(device);
  return it == used_.end() ? 0 : it->second;
}

}  // namespace rimetree::emulation
