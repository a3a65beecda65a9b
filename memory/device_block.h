// What was made on a device, as long as somebody has it: one block for all arrays that one call made, and for each of
// these a slice, of which a copy comes to the host once, when it is asked for. Immutable once the work that fills it is
// queued. Where a device has no room its blocks are saved to the host and brought back, as dirty arrays are
// (memory/resident_arrays.h).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <span>

#include "memory/resident_arrays.h"
#include "memory/staging.h"

namespace rimetree::memory {

/// What blocks need of a device. It lives until the last block of it is gone, however long results are held.
struct BlockSource {
  virtual ~BlockSource() = default;
  virtual ResidentArrays& arrays() = 0;
  /// Copies on the host come from here, where there is room.
  virtual StagingPool& staging() = 0;
};

class DeviceBlock {
 public:
  /// Undefined contents, to be filled by work on the queue of the arrays. Throws OutOfMemory.
  DeviceBlock(std::shared_ptr<BlockSource> source, std::size_t bytes);
  ~DeviceBlock();
  DeviceBlock(const DeviceBlock&) = delete;
  DeviceBlock& operator=(const DeviceBlock&) = delete;

  /// The block on the device, brought back if it had to go. Throws OutOfMemory.
  ResidentArrays::Handle on_device();
  ResidentArrays& arrays() const { return source_->arrays(); }

 private:
  friend class DeviceSlice;
  std::shared_ptr<BlockSource> source_;
  ArrayKey key_;
  std::mutex mutex_;  // of copies to the host
};

class DeviceSlice {
 public:
  DeviceSlice(std::shared_ptr<DeviceBlock> block, std::size_t offset, std::size_t bytes)
      : block_(std::move(block)), offset_(offset), bytes_(bytes) {}

  DeviceBlock& block() const { return *block_; }
  std::size_t offset() const { return offset_; }
  bool has_host_copy() const { return is_on_host_.load(std::memory_order_acquire); }
  /// The copy on the host, made by the first who asks; always the same memory. From any thread.
  const std::shared_ptr<void>& host() const {
    if (!has_host_copy()) {
      const DeviceSlice* self = this;
      fetch({&self, 1});
    }
    return host_;
  }
  /// Copies those down that are not on the host yet; neighbours in a block by one copy.
  static void fetch(std::span<const DeviceSlice* const> slices);

 private:
  static void fetch_run(std::span<const DeviceSlice* const> run);

  std::shared_ptr<DeviceBlock> block_;
  std::size_t offset_, bytes_;
  mutable std::shared_ptr<void> host_;  // written once, under the block's mutex, before is_on_host_
  mutable std::atomic<bool> is_on_host_ = false;
};

}  // namespace rimetree::memory
