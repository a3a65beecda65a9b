#include "nodes/correlator/packet_queue.h"

#include <gtest/gtest.h>

#include <atomic>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

using Clock = PacketSource::Clock;

/// So many packets of ten bytes, one after the other, and then what comes at the end.
class Numbered final : public PacketSource {
 public:
  Numbered(std::int64_t n, bool is_broken, std::atomic<std::int64_t>& given)
      : n_(n), is_broken_(is_broken), given_(given) {}
  Arrival next(Packet& packet, Clock::time_point until, Cancellation& cancellation) override {
    if (given_ == n_ && is_broken_) throw Error("no packets");
    if (given_ == n_) return Arrival::end;
    if (n_ < 0) {
      while (Clock::now() < until && !cancellation.check()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
      return Arrival::nothing;
    }
    packet = {given_, 10, std::vector<std::uint8_t>(10)};
    ++given_;
    return Arrival::packet;
  }

 private:
  std::int64_t n_;
  bool is_broken_;
  std::atomic<std::int64_t>& given_;
};

Clock::time_point soon() { return Clock::now() + std::chrono::seconds(20); }

TEST(PacketQueue, GivesWhatCameInOrderAndThenTheEnd) {
  std::atomic<std::int64_t> given{0};
  PacketQueue queue(std::make_unique<Numbered>(200, false, given), 50);
  Cancellation none;
  Packet packet;
  for (std::int64_t k = 0; k < 200; ++k) {
    ASSERT_EQ(queue.next(packet, soon(), none), Arrival::packet);
    EXPECT_EQ(packet.first, k);
  }
  EXPECT_EQ(queue.next(packet, soon(), none), Arrival::end);
  EXPECT_EQ(queue.next(packet, soon(), none), Arrival::end);
}

// Nobody asks: it takes in what it may hold, and no more.
TEST(PacketQueue, HoldsNoMoreThanItMay) {
  std::atomic<std::int64_t> given{0};
  PacketQueue queue(std::make_unique<Numbered>(1000, false, given), 50);
  const auto until = soon();
  while (given < 5 && Clock::now() < until) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  std::this_thread::sleep_for(std::chrono::milliseconds(30));
  EXPECT_EQ(given, 5);
}

TEST(PacketQueue, ThrowsWhatTheSourceThrewAfterThePacketsBeforeIt) {
  std::atomic<std::int64_t> given{0};
  PacketQueue queue(std::make_unique<Numbered>(2, true, given));
  Cancellation none;
  Packet packet;
  EXPECT_EQ(queue.next(packet, soon(), none), Arrival::packet);
  EXPECT_EQ(queue.next(packet, soon(), none), Arrival::packet);
  EXPECT_THROW(queue.next(packet, soon(), none), Error);
}

// A sender that says nothing: the time that is given, an interruption, and the end of the queue itself.
TEST(PacketQueue, DoesNotHangWhereNothingComes) {
  std::atomic<std::int64_t> given{0};
  PacketQueue queue(std::make_unique<Numbered>(-1, false, given));
  Cancellation none, stop;
  Packet packet;
  EXPECT_EQ(queue.next(packet, Clock::now() + std::chrono::milliseconds(20), none), Arrival::nothing);
  stop.request();
  EXPECT_THROW(queue.next(packet, soon(), stop), Cancelled);
}

}  // namespace

}  // namespace rimetree::correlator
