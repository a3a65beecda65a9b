#include "memory/pool.h"

#include <bit>

namespace rimetree::memory {

namespace {
std::size_t size_class(std::size_t bytes) {
  if (bytes <= Device::kAlignment) return Device::kAlignment;
  const std::size_t quarter = std::bit_floor(bytes) / 4;
  return (bytes + quarter - 1) / quarter * quarter;
}
}  // namespace

Pool::~Pool() { trim(); }

std::shared_ptr<void> Pool::allocate(std::size_t bytes) {
  const std::size_t size = size_class(bytes);
  if (size < bytes) throw OutOfMemory(device_.name(), bytes);  // the size class wrapped around
  void* data = nullptr;
  {
    const std::lock_guard lock(mutex_);
    auto& blocks = idle_[size];
    if (!blocks.empty()) {
      data = blocks.back();
      blocks.pop_back();
      idle_bytes_ -= size;
    }
  }
  if (data == nullptr) {
    try {
      data = device_.allocate(size);
    } catch (const OutOfMemory&) {
      trim();
      data = device_.allocate(size);
    }
  }
  return {data, [pool = shared_from_this(), size](void* block) { pool->give_back(block, size); }};
}

void Pool::give_back(void* data, std::size_t bytes) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    idle_[bytes].push_back(data);
    idle_bytes_ += bytes;
  } catch (...) {  // no room for the list entry itself: then the block is not kept
    device_.deallocate(data, bytes);
  }
}

void Pool::trim() {
  const std::lock_guard lock(mutex_);
  for (auto& [size, blocks] : idle_)
    for (void* block : blocks) device_.deallocate(block, size);
  idle_.clear();
  idle_bytes_ = 0;
}

std::size_t Pool::idle_bytes() const {
  const std::lock_guard lock(mutex_);
  return idle_bytes_;
}

}  // namespace rimetree::memory
