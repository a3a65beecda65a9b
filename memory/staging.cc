#include "memory/staging.h"

#include <algorithm>
#include <cstring>

namespace rimetree::memory {

StagingPool::~StagingPool() {
  for (const auto& [bytes, data] : idle_) device_.deallocate_staging(data, bytes);
}

std::shared_ptr<void> StagingPool::take(std::size_t bytes) {
  void* data = nullptr;
  std::size_t size = bytes;
  {
    const std::lock_guard lock(mutex_);
    // The smallest that does; what is much too large is left for others.
    const auto it = idle_.lower_bound(bytes);
    if (it != idle_.end() && it->first / 4 <= bytes) {
      size = it->first;
      data = it->second;
      idle_.erase(it);
    }
  }
  if (data == nullptr) data = device_.allocate_staging(size);
  return {data, [this, size](void* block) {
            const std::lock_guard lock(mutex_);
            idle_.emplace(size, block);
          }};
}

void copy_staged(Queue& queue, void* d_target, std::span<const std::byte> source) {
  if (source.empty()) return;
  // Large enough to reach the full speed of a bus, small enough to be no burden; two, so that one fills while the other
  // is copied.
  constexpr std::size_t kPiece = std::size_t{8} << 20;
  Staging<std::byte> piece[2];
  EventPtr done[2];
  try {
    for (auto& one : piece) {
      if (&one == &piece[1] && source.size() <= kPiece) break;
      one = Staging<std::byte>(queue.device(), std::min(kPiece, source.size()));
    }
  } catch (const OutOfMemory&) {
    queue.copy_to_device(d_target, source.data(), source.size());
    queue.record()->wait();
    return;
  }
  auto* d_at = static_cast<std::byte*>(d_target);
  for (std::size_t begin = 0, k = 0; begin < source.size(); begin += kPiece, k ^= 1) {
    const std::size_t count = std::min(kPiece, source.size() - begin);
    if (done[k]) done[k]->wait();
    std::memcpy(piece[k].data(), source.data() + begin, count);
    queue.copy_to_device(d_at + begin, piece[k].data(), count);
    done[k] = queue.record();
  }
  for (const EventPtr& event : done)
    if (event) event->wait();
}

}  // namespace rimetree::memory
