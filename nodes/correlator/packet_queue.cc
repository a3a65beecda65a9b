#include "nodes/correlator/packet_queue.h"

#include <algorithm>
#include <utility>

#include "runtime/core/error.h"

namespace rimetree::correlator {

PacketQueue::PacketQueue(std::unique_ptr<PacketSource> source, std::size_t most_bytes)
    : source_(std::move(source)), most_bytes_(most_bytes), thread_([this] { take_in(); }) {}

PacketQueue::~PacketQueue() {
  {
    const std::lock_guard lock(mutex_);
    stop_.request();
  }
  went_.notify_all();
  thread_.join();
}

void PacketQueue::take_in() {
  constexpr auto kLook = std::chrono::milliseconds(50);  // how often somebody may ask to stop
  try {
    while (true) {
      {
        std::unique_lock lock(mutex_);
        went_.wait(lock, [this] { return bytes_ < most_bytes_ || stop_.requested(); });
        if (stop_.requested()) return;
      }
      Packet packet;
      const Arrival found = source_->next(packet, Clock::now() + kLook, stop_);
      if (found == Arrival::nothing) continue;
      const std::lock_guard lock(mutex_);
      if (found == Arrival::end) {
        ended_ = true;
      } else {
        bytes_ += packet.codes.size();
        packets_.push_back(std::move(packet));
      }
      came_.notify_all();
      if (ended_) return;
    }
  } catch (const Cancelled&) {
    return;
  } catch (...) {
    const std::lock_guard lock(mutex_);
    failure_ = std::current_exception();
    came_.notify_all();
  }
}

Arrival PacketQueue::next(Packet& packet, Clock::time_point until, Cancellation& cancellation) {
  constexpr auto kLook = std::chrono::milliseconds(50);
  std::unique_lock lock(mutex_);
  const auto something = [this] { return !packets_.empty() || ended_ || failure_; };
  while (!something()) {
    if (cancellation.check()) throw Cancelled();
    const auto now = Clock::now();
    if (now >= until) return Arrival::nothing;
    came_.wait_until(lock, std::min(until, now + kLook), something);
  }
  if (packets_.empty()) {
    if (failure_) std::rethrow_exception(failure_);
    return Arrival::end;
  }
  packet = std::move(packets_.front());
  packets_.pop_front();
  bytes_ -= packet.codes.size();
  went_.notify_all();
  return Arrival::packet;
}

}  // namespace rimetree::correlator
