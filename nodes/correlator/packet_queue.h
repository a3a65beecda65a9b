// Packets that are taken in beside everything else, so that none is lost while nobody asks for them.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>

#include "nodes/correlator/packet_source.h"

namespace rimetree::correlator {

/// Asks a source for packets on a thread of its own, up to a number of bytes: where it is full the sender of a
/// connection or of a ring waits, and datagrams are lost.
class PacketQueue final : public PacketSource {
 public:
  static constexpr std::size_t kMostBytes = std::size_t{64} << 20;

  explicit PacketQueue(std::unique_ptr<PacketSource> source, std::size_t most_bytes = kMostBytes);
  ~PacketQueue() override;
  /// Throws what the source threw, after the packets before it.
  Arrival next(Packet& packet, Clock::time_point until, Cancellation& cancellation) override;

 private:
  void take_in();

  std::unique_ptr<PacketSource> source_;
  std::size_t most_bytes_, bytes_ = 0;
  std::deque<Packet> packets_;
  bool ended_ = false;
  std::exception_ptr failure_;
  std::mutex mutex_;
  std::condition_variable came_, went_;
  Cancellation stop_;
  std::thread thread_;
};

}  // namespace rimetree::correlator
