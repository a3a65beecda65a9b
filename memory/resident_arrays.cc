#include "memory/resident_arrays.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

#include "memory/staging.h"

namespace rimetree::memory {

struct ResidentArrays::Entry {
  ArrayKey key;
  std::size_t bytes = 0;
  void* d_data = nullptr;        // nullptr: spilled
  std::vector<std::byte> spill;  // what a dirty array held when it had to go
  bool dirty = false;
  int holders = 0;
  std::uint64_t last_use = 0;
};

ResidentArrays::Handle::Handle(ResidentArrays* manager, Entry* entry) : manager_(manager), entry_(entry) {
  ++entry->holders;
  entry->last_use = ++manager->clock_;
}

ResidentArrays::Handle::~Handle() {
  if (entry_ == nullptr) return;
  const std::lock_guard lock(manager_->mutex_);
  if (--entry_->holders > 0) return;
  auto& nameless = manager_->nameless_;
  const auto it = std::find_if(nameless.begin(), nameless.end(), [this](const auto& e) { return e.get() == entry_; });
  if (it == nameless.end()) return;
  manager_->leave(*entry_);
  nameless.erase(it);
}

void* ResidentArrays::Handle::data() const { return entry_->d_data; }
std::size_t ResidentArrays::Handle::bytes() const { return entry_->bytes; }

ResidentArrays::ResidentArrays(Queue& queue, std::size_t budget_bytes) : queue_(queue), budget_bytes_(budget_bytes) {}

ResidentArrays::~ResidentArrays() {
  for (auto& [owner, entry] : arrays_) leave(*entry);
  for (auto& entry : nameless_) leave(*entry);
}

ResidentArrays::Entry* ResidentArrays::entry_of(std::uint64_t owner) {
  const auto it = arrays_.find(owner);
  return it == arrays_.end() ? nullptr : it->second.get();
}

// Gives an array's device memory back; the queue's order keeps it until what uses it is done.
void ResidentArrays::leave(Entry& entry) {
  if (entry.d_data == nullptr) return;
  queue_.deallocate(entry.d_data, entry.bytes);
  entry.d_data = nullptr;
  statistics_.resident_bytes -= entry.bytes;
}

// Takes an array out of the books. While somebody holds it, it lives on without a name.
void ResidentArrays::remove(Entry* entry) {
  auto node = arrays_.extract(entry->key.owner);
  if (entry->holders > 0)
    nameless_.push_back(std::move(node.mapped()));
  else
    leave(*entry);
}

bool ResidentArrays::evict_one() {
  Entry* victim = nullptr;
  for (const auto& [owner, entry] : arrays_) {
    if (entry->holders > 0 || entry->d_data == nullptr) continue;
    if (victim == nullptr || std::pair(entry->dirty, entry->last_use) < std::pair(victim->dirty, victim->last_use))
      victim = entry.get();
  }
  if (victim == nullptr) return false;
  ++statistics_.evictions;
  if (!victim->dirty) {
    remove(victim);
    return true;
  }
  victim->spill.resize(victim->bytes);
  queue_.copy_to_host(victim->spill.data(), victim->d_data, victim->bytes);
  queue_.synchronize();
  ++statistics_.spills;
  leave(*victim);
  return true;
}

void* ResidentArrays::allocate(std::size_t bytes) {
  if (bytes > budget_bytes_) throw OutOfMemory(device().name() + " (budget)", bytes);
  while (statistics_.resident_bytes > budget_bytes_ - bytes)
    if (!evict_one()) throw OutOfMemory(device().name() + " (budget)", bytes);
  void* d_data = nullptr;
  while (d_data == nullptr) try {
      d_data = queue_.allocate(bytes);
    } catch (const OutOfMemory&) {
      // The device is fuller than the budget says: others use it too.
      if (!evict_one()) throw;
    }
  statistics_.resident_bytes += bytes;
  statistics_.peak_bytes = std::max(statistics_.peak_bytes, statistics_.resident_bytes);
  return d_data;
}

void ResidentArrays::upload(void* d_target, std::span<const std::byte> host) {
  copy_staged(queue_, d_target, host);
  ++statistics_.uploads;
}

ResidentArrays::Handle ResidentArrays::add(ArrayKey key, std::size_t bytes, bool dirty) {
  auto entry = std::make_unique<Entry>();
  entry->key = key;
  entry->bytes = bytes;
  entry->dirty = dirty;
  Entry* raw = entry.get();
  arrays_[key.owner] = std::move(entry);
  try {
    raw->d_data = allocate(bytes);
  } catch (...) {
    arrays_.erase(key.owner);
    throw;
  }
  return {this, raw};
}

ResidentArrays::Handle ResidentArrays::get(ArrayKey key, std::span<const std::byte> host) {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = entry_of(key.owner)) {
    if (entry->key.version == key.version && entry->bytes == host.size() && entry->d_data != nullptr) {
      ++statistics_.hits;
      return {this, entry};
    }
    const bool reusable = entry->bytes == host.size() && entry->d_data != nullptr && entry->holders == 0;
    if (reusable) {
      // In place: the queue's order keeps earlier readers in front of the copy.
      entry->key.version = ~key.version;  // of no use to anybody until the copy is queued
      Handle handle{this, entry};
      upload(entry->d_data, host);
      entry->key = key;
      entry->dirty = false;
      entry->spill = {};
      return handle;
    }
    remove(entry);
  }
  Handle handle = add(key, host.size(), false);
  try {
    upload(handle.data(), host);
  } catch (...) {
    remove(handle.entry_);  // its contents are undefined
    throw;
  }
  return handle;
}

ResidentArrays::Handle ResidentArrays::get_if_there(ArrayKey key) {
  const std::lock_guard lock(mutex_);
  Entry* entry = entry_of(key.owner);
  if (entry == nullptr || entry->key.version != key.version || entry->d_data == nullptr) return {};
  ++statistics_.hits;
  return {this, entry};
}

ResidentArrays::Handle ResidentArrays::make(ArrayKey key, std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = entry_of(key.owner)) remove(entry);
  return add(key, bytes, true);
}

ResidentArrays::Handle ResidentArrays::find(ArrayKey key) {
  const std::lock_guard lock(mutex_);
  Entry* entry = entry_of(key.owner);
  if (entry == nullptr || entry->key.version != key.version) return {};
  Handle handle{this, entry};  // held: making room does not evict it
  if (entry->d_data != nullptr) {
    ++statistics_.hits;
    return handle;
  }
  entry->d_data = allocate(entry->bytes);
  try {
    upload(entry->d_data, entry->spill);
  } catch (...) {
    leave(*entry);
    throw;
  }
  entry->spill = {};
  return handle;
}

ResidentArrays::Handle ResidentArrays::scratch(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  auto entry = std::make_unique<Entry>();
  entry->bytes = bytes;
  entry->d_data = allocate(bytes);
  nameless_.push_back(std::move(entry));
  return {this, nameless_.back().get()};
}

void ResidentArrays::download(const Handle& array, std::span<std::byte> target) {
  const std::lock_guard lock(mutex_);
  queue_.copy_to_host(target.data(), array.data(), std::min(target.size(), array.bytes()));
  queue_.synchronize();
  array.entry_->dirty = false;
}

void ResidentArrays::read(ArrayKey key, std::size_t offset, std::span<std::byte> target) {
  const std::lock_guard lock(mutex_);
  const Entry* entry = entry_of(key.owner);
  if (entry == nullptr || entry->key.version != key.version || target.size() > entry->bytes ||
      offset > entry->bytes - target.size())
    throw std::out_of_range("resident array: nothing to read there");
  if (target.empty()) return;
  if (entry->d_data == nullptr) {
    std::memcpy(target.data(), entry->spill.data() + offset, target.size());
    return;
  }
  queue_.copy_to_host(target.data(), static_cast<const std::byte*>(entry->d_data) + offset, target.size());
  queue_.synchronize();
}

void ResidentArrays::drop(std::uint64_t owner) noexcept {
  const std::lock_guard lock(mutex_);
  if (Entry* entry = entry_of(owner)) remove(entry);
}

void ResidentArrays::clear() {
  const std::lock_guard lock(mutex_);
  for (auto it = arrays_.begin(); it != arrays_.end();) {
    Entry* entry = it->second.get();
    ++it;
    if (entry->holders == 0 && !entry->dirty) remove(entry);
  }
}

ResidencyStatistics ResidentArrays::statistics() const {
  const std::lock_guard lock(mutex_);
  return statistics_;
}

}  // namespace rimetree::memory
