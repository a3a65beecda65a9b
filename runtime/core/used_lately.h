// What was made lately is kept, the last used first, and shared.
#pragma once

#include <algorithm>
#include <list>
#include <memory>
#include <mutex>
#include <utility>

namespace rimetree {

/// Values by key, of at most so much cost together, one value in any case.
template <class Key, class Value>
class UsedLately {
 public:
  explicit UsedLately(std::size_t most) : most_(most) {}

  /// The value of a key; make() makes one and its cost, if it is not there.
  template <class Make>
  std::shared_ptr<const Value> get(const Key& key, Make&& make) {
    const std::lock_guard lock(mutex_);
    const auto known = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& e) { return e.key == key; });
    if (known != entries_.end()) {
      entries_.splice(entries_.begin(), entries_, known);
      return known->value;
    }
    auto [value, cost] = make();
    entries_.push_front({key, std::move(value), cost});
    for (all_ += cost; all_ > most_ && entries_.size() > 1; entries_.pop_back()) all_ -= entries_.back().cost;
    return entries_.front().value;
  }

 private:
  struct Entry {
    Key key;
    std::shared_ptr<const Value> value;
    std::size_t cost;
  };
  std::size_t most_, all_ = 0;
  std::mutex mutex_;
  std::list<Entry> entries_;
};

}  // namespace rimetree
