// Packets of samples as they come from elsewhere on this machine: datagrams, a connection, a ring in shared memory.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "runtime/core/threads/cancellation.h"

namespace rimetree::correlator {

/// Consecutive samples of all channels and inputs. On its way a packet is 16 bytes, little-endian - "RTV1", the number
/// of samples (32 bits), the number of the first one (64 bits) - and the samples' codes, [time][channel][input] or in
/// another order. One without samples ends the stream.
struct Packet {
  std::int64_t first = 0;
  std::size_t n_time = 0;
  std::vector<std::uint8_t> codes;
};
inline constexpr std::size_t kPacketHeader = 16;
/// The most that a packet may hold; more is taken for damage.
inline constexpr std::size_t kMostPacketBytes = std::size_t{1} << 26;

enum class Arrival : std::uint8_t { packet, nothing, end };

/// Gives packets in the order in which they come.
class PacketSource {
 public:
  using Clock = std::chrono::steady_clock;
  virtual ~PacketSource() = default;
  /// Waits until `until` at most; looks at the cancellation meanwhile, and throws Cancelled. Throws Error where what
  /// comes are no packets.
  virtual Arrival next(Packet& packet, Clock::time_point until, Cancellation& cancellation) = 0;
};

/// Whether a source's name is an address: tcp://HOST:PORT, udp://HOST:PORT or shm://PATH.
bool is_address(const std::string& source);
/// Listens at an address of this machine, or maps a ring. `step_bytes`: of all channels and inputs at one time. Throws
/// Error naming the address.
std::unique_ptr<PacketSource> open_packets(const std::string& address, std::size_t step_bytes);

/// What a ring in shared memory begins with; `capacity` bytes of packets follow, one after the other and round the end.
/// One program writes and one reads (a second reader is refused): the writer waits where it would overtake the reader.
struct RingHeader {
  char magic[8];           ///< "RTRING1"
  std::uint64_t capacity;  ///< bytes
  std::uint64_t written;   ///< bytes so far
  std::uint64_t read;      ///< bytes so far
};

}  // namespace rimetree::correlator
