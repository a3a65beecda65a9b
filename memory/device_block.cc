#include "memory/device_block.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace rimetree::memory {

namespace {

/// Owners of blocks are told from all others by their highest bit, and from each other by a count.
ArrayKey next_key() {
  static std::atomic<std::uint64_t> count = 0;
  return {count.fetch_add(1, std::memory_order_relaxed) | std::uint64_t{1} << 63, 0};
}

/// Slices of a block lie at multiples of an alignment, so that there may be a gap between neighbours.
constexpr std::size_t kLargestGap = 128;

/// Memory for a copy on the host: the device's staging memory, to which it copies fastest, or any.
std::shared_ptr<void> host_memory(const std::shared_ptr<BlockSource>& source, std::size_t bytes) {
  try {
    std::shared_ptr<void> staging = source->staging().take(bytes);
    void* const data = staging.get();
    // The pool that it goes back to must be there still: the source is let go of after it.
    return {data, [source, staging = std::move(staging)](void*) mutable { staging.reset(); }};
  } catch (const OutOfMemory&) {
    return {::operator new(bytes, std::align_val_t(Device::kAlignment)),
            [](void* data) { ::operator delete(data, std::align_val_t(Device::kAlignment)); }};
  }
}

}  // namespace

DeviceBlock::DeviceBlock(std::shared_ptr<BlockSource> source, std::size_t bytes)
    : source_(std::move(source)), key_(next_key()) {
  source_->arrays().make(key_, bytes);
}

DeviceBlock::~DeviceBlock() { source_->arrays().drop(key_.owner); }

ResidentArrays::Handle DeviceBlock::on_device() { return source_->arrays().find(key_); }

void DeviceSlice::fetch(std::span<const DeviceSlice* const> slices) {
  std::vector<const DeviceSlice*> wanted;
  for (const DeviceSlice* slice : slices)
    if (!slice->has_host_copy()) wanted.push_back(slice);
  std::sort(wanted.begin(), wanted.end(), [](const DeviceSlice* a, const DeviceSlice* b) {
    return a->block_ != b->block_ ? std::less<>()(a->block_.get(), b->block_.get()) : a->offset_ < b->offset_;
  });
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  for (std::size_t begin = 0, end = 0; begin < wanted.size(); begin = end) {
    const auto follows = [&](const DeviceSlice& next, const DeviceSlice& last) {
      return next.block_ == last.block_ && next.offset_ - (last.offset_ + last.bytes_) < kLargestGap;
    };
    for (end = begin + 1; end < wanted.size() && follows(*wanted[end], *wanted[end - 1]);) ++end;
    fetch_run(std::span(wanted).subspan(begin, end - begin));
  }
}

void DeviceSlice::fetch_run(std::span<const DeviceSlice* const> run) {
  DeviceBlock& block = *run.front()->block_;
  const std::size_t first = run.front()->offset_, bytes = run.back()->offset_ + run.back()->bytes_ - first;
  const std::lock_guard lock(block.mutex_);
  if (std::all_of(run.begin(), run.end(), [](const DeviceSlice* slice) { return slice->has_host_copy(); })) return;
  const std::shared_ptr<void> all = host_memory(block.source_, bytes);
  block.arrays().read(block.key_, first, {static_cast<std::byte*>(all.get()), bytes});
  for (const DeviceSlice* slice : run) {
    if (slice->has_host_copy()) continue;  // another thread was faster
    slice->host_ = {all, static_cast<std::byte*>(all.get()) + (slice->offset_ - first)};
    slice->is_on_host_.store(true, std::memory_order_release);
  }
}

}  // namespace rimetree::memory
