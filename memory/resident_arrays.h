// Arrays that stay on a device between uses: copied there when they are first asked for, found there afterwards, copied
// again only if they have changed, and let go when room is needed. Everything happens in the order of one queue.
//
// An array is *clean* while its owner could give it again (it was copied from the host, or down to it), and *dirty*
// while the device has the only copy. Where room is needed, clean arrays go first, the longest unused before others;
// dirty ones are copied to host memory before they go, and back when they are asked for.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "memory/device.h"

namespace rimetree::memory {

/// Whose array it is, and what distinguishes its contents from earlier ones of the same owner.
struct ArrayKey {
  std::uint64_t owner = 0;
  std::uint64_t version = 0;
};

/// What residency has cost and saved since the manager was made.
struct ResidencyStatistics {
  std::uint64_t hits = 0;            ///< arrays found on the device
  std::uint64_t uploads = 0;         ///< arrays copied to it
  std::uint64_t evictions = 0;       ///< arrays that had to go, to make room
  std::uint64_t spills = 0;          ///< of these, dirty ones that were copied to the host first
  std::uint64_t resident_bytes = 0;  ///< on the device now, scratch included
  std::uint64_t peak_bytes = 0;
};

class ResidentArrays {
 public:
  struct Entry;
  /// An array in use: it is on the device, and stays, until all its handles are gone. Must not outlive the manager.
  class Handle {
   public:
    Handle() = default;
    Handle(Handle&& other) noexcept : Handle() { std::swap(manager_, other.manager_), std::swap(entry_, other.entry_); }
    Handle& operator=(Handle other) noexcept {
      std::swap(manager_, other.manager_), std::swap(entry_, other.entry_);
      return *this;
    }
    ~Handle();
    explicit operator bool() const { return entry_ != nullptr; }
    void* data() const;  ///< device memory
    std::size_t bytes() const;
    template <class T>
    T* as() const {
      return static_cast<T*>(data());
    }

   private:
    friend class ResidentArrays;
    Handle(ResidentArrays* manager, Entry* entry);
    ResidentArrays* manager_ = nullptr;
    Entry* entry_ = nullptr;
  };

  /// `budget_bytes`: what all arrays and scratch together may take. `queue` must outlive the manager.
  ResidentArrays(Queue& queue, std::size_t budget_bytes);
  ~ResidentArrays();

  /// The array `key`, copied from `host` unless it is on the device; an older version of the owner is let go. `host`
  /// may change as soon as this returns. Throws OutOfMemory; then nothing has changed but that other arrays may have
  /// gone.
  Handle get(ArrayKey key, std::span<const std::byte> host);
  template <class T>
  Handle get(ArrayKey key, std::span<const T> host) {
    return get(key, std::as_bytes(host));
  }
  /// The same without the host's values: an empty handle if it is not on the device in that version.
  Handle get_if_there(ArrayKey key);
  /// A dirty array of undefined contents, to be filled by work on the queue; replaces any version of the owner.
  Handle make(ArrayKey key, std::size_t bytes);
  /// What make() has made and nobody replaced, brought back to the device if it has gone; an empty handle if unknown.
  Handle find(ArrayKey key);
  /// Device memory without a name, which goes with its handle.
  Handle scratch(std::size_t bytes);
  /// Copies an array to the host and waits for it. Its owner then has a copy: the array is clean.
  void download(const Handle& array, std::span<std::byte> target);
  /// Copies a part of what make() has made, from `offset` on, wherever it is now, and waits for it. The array stays
  /// dirty. Throws std::out_of_range if it is unknown or shorter.
  void read(ArrayKey key, std::size_t offset, std::span<std::byte> target);
  /// Lets go of an owner's array, dirty or not; while somebody holds it, it lives on without a name.
  void drop(std::uint64_t owner) noexcept;
  /// Lets go of all clean arrays that nobody holds.
  void clear();

  Queue& queue() { return queue_; }
  Device& device() { return queue_.device(); }
  std::size_t budget_bytes() const { return budget_bytes_; }
  ResidencyStatistics statistics() const;

 private:
  Entry* entry_of(std::uint64_t owner);
  void* allocate(std::size_t bytes);
  bool evict_one();
  void leave(Entry& entry);
  void remove(Entry* entry);
  void upload(void* d_target, std::span<const std::byte> host);
  Handle add(ArrayKey key, std::size_t bytes, bool dirty);

  Queue& queue_;
  std::size_t budget_bytes_;
  mutable std::recursive_mutex mutex_;
  std::map<std::uint64_t, std::unique_ptr<Entry>> arrays_;  // by owner
  std::vector<std::unique_ptr<Entry>> nameless_;            // scratch, and replaced arrays that are still held
  std::uint64_t clock_ = 0;                                 // counts uses
  ResidencyStatistics statistics_;
};

}  // namespace rimetree::memory
