#include "nodes/correlator/packet_source.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <thread>
#include <utility>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

using Clock = PacketSource::Clock;
constexpr auto kLook = std::chrono::milliseconds(50);  // how often somebody may ask to stop

/// A file descriptor.
class Handle {
 public:
  explicit Handle(int number = -1) : number_(number) {}
  ~Handle() { reset(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  int get() const { return number_; }
  void reset(int number = -1) {
    if (number_ >= 0) close(number_);
    number_ = number;
  }

 private:
  int number_;
};

/// Whether something can be read before `until`.
bool readable(int handle, Clock::time_point until, Cancellation& cancellation) {
  while (true) {
    if (cancellation.check()) throw Cancelled();
    const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(until - Clock::now());
    pollfd wait{handle, POLLIN, 0};
    const int found = poll(&wait, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, kLook.count())));
    if (found > 0) return true;
    if (left.count() <= 0) return false;
  }
}

/// Reads a header; returns the bytes of codes that follow.
std::size_t read_header(const std::uint8_t* bytes, const std::string& address, std::size_t step_bytes, Packet& packet) {
  std::uint32_t n_time;
  std::memcpy(&n_time, bytes + 4, 4);
  std::memcpy(&packet.first, bytes + 8, 8);
  packet.n_time = n_time;
  if (std::memcmp(bytes, "RTV1", 4) != 0 || packet.n_time > kMostPacketBytes / step_bytes || packet.first < 0)
    throw Error(address + ": what comes are no packets of samples (RTV1, number of samples, number of the first one)");
  return packet.n_time * step_bytes;
}

/// A socket bound to HOST:PORT.
int bound_socket(const std::string& address, int type) {
  const std::string place = address.substr(address.find("://") + 3);
  const std::size_t colon = place.rfind(':');
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = type;
  hints.ai_flags = AI_PASSIVE | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  if (colon == std::string::npos ||
      getaddrinfo(place.substr(0, colon).c_str(), place.substr(colon + 1).c_str(), &hints, &found) != 0)
    throw Error("cannot listen at " + address + ": expected e.g. udp://127.0.0.1:5000");
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> owner(found, freeaddrinfo);
  const int handle = socket(found->ai_family, type | SOCK_CLOEXEC, 0);
  const int yes = 1;
  // A port of a connection that has just ended may be taken again; of two that take one of datagrams one gets nothing.
  if (handle >= 0 && type == SOCK_STREAM) setsockopt(handle, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (handle < 0 || bind(handle, found->ai_addr, found->ai_addrlen) != 0) {
    const std::string reason = std::strerror(errno);
    if (handle >= 0) close(handle);
    throw Error("cannot listen at " + address + ": " + reason);
  }
  return handle;
}

class UdpSource final : public PacketSource {
 public:
  UdpSource(const std::string& address, std::size_t step_bytes)
      : address_(address), step_bytes_(step_bytes), socket_(bound_socket(address, SOCK_DGRAM)), buffer_(65536) {
    const int wanted = 16 << 20;  // the kernel gives what it may
    setsockopt(socket_.get(), SOL_SOCKET, SO_RCVBUF, &wanted, sizeof wanted);
  }
  Arrival next(Packet& packet, Clock::time_point until, Cancellation& cancellation) override {
    if (!readable(socket_.get(), until, cancellation)) return Arrival::nothing;
    const ssize_t size = recv(socket_.get(), buffer_.data(), buffer_.size(), MSG_DONTWAIT);
    if (size < 0) return Arrival::nothing;
    if (static_cast<std::size_t>(size) < kPacketHeader ||
        read_header(buffer_.data(), address_, step_bytes_, packet) != static_cast<std::size_t>(size) - kPacketHeader)
      throw Error(address_ + ": a datagram of " + std::to_string(size) + " bytes is no packet: samples take " +
                  std::to_string(step_bytes_) + " bytes at one time, after " + std::to_string(kPacketHeader));
    packet.codes.assign(buffer_.begin() + kPacketHeader, buffer_.begin() + size);
    return packet.n_time == 0 ? Arrival::end : Arrival::packet;
  }

 private:
  std::string address_;
  std::size_t step_bytes_;
  Handle socket_;
  std::vector<std::uint8_t> buffer_;
};

/// Packets out of bytes that come one after the other.
class ByteSource : public PacketSource {
 public:
  ByteSource(const std::string& address, std::size_t step_bytes) : address_(address), step_bytes_(step_bytes) {}

  Arrival next(Packet& packet, Clock::time_point until, Cancellation& cancellation) override {
    while (true) {
      std::size_t wanted = kPacketHeader;
      if (bytes_.size() >= kPacketHeader) {
        wanted += read_header(bytes_.data(), address_, step_bytes_, packet);
        if (packet.n_time == 0) return Arrival::end;
      }
      if (bytes_.size() >= wanted && wanted > kPacketHeader) {
        packet.codes.assign(bytes_.begin() + kPacketHeader, bytes_.begin() + static_cast<std::ptrdiff_t>(wanted));
        bytes_.erase(bytes_.begin(), bytes_.begin() + static_cast<std::ptrdiff_t>(wanted));
        return Arrival::packet;
      }
      const std::size_t had = bytes_.size();
      bytes_.resize(wanted);
      const std::size_t came = receive(bytes_.data() + had, wanted - had, until, cancellation);
      bytes_.resize(had + came);
      if (began_anew()) bytes_.clear();  // what was begun will not be ended
      if (came == 0 && Clock::now() >= until) return Arrival::nothing;
    }
  }

 protected:
  /// At most `n` bytes; 0: none came in time, or the sender is gone.
  virtual std::size_t receive(std::uint8_t* to, std::size_t n, Clock::time_point until, Cancellation& cancellation) = 0;
  /// Whether the sender has gone since this was last asked.
  virtual bool began_anew() { return false; }
  std::string address_;

 private:
  std::size_t step_bytes_;
  std::vector<std::uint8_t> bytes_;  ///< of a packet that is not whole
};

/// One sender at a time; where it goes another may come, or the same again.
class TcpSource final : public ByteSource {
 public:
  TcpSource(const std::string& address, std::size_t step_bytes)
      : ByteSource(address, step_bytes), listener_(bound_socket(address, SOCK_STREAM)) {
    if (listen(listener_.get(), 1) != 0) throw Error("cannot listen at " + address + ": " + std::strerror(errno));
  }

 private:
  std::size_t receive(std::uint8_t* to, std::size_t n, Clock::time_point until, Cancellation& cancellation) override {
    if (connection_.get() < 0) {
      if (!readable(listener_.get(), until, cancellation)) return 0;
      connection_.reset(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (connection_.get() < 0) return 0;
    }
    if (!readable(connection_.get(), until, cancellation)) return 0;
    const ssize_t size = recv(connection_.get(), to, n, MSG_DONTWAIT);
    if (size > 0) return static_cast<std::size_t>(size);
    if (size == 0 || (errno != EAGAIN && errno != EINTR)) {
      connection_.reset();
      gone_ = true;
    }
    return 0;
  }
  bool began_anew() override { return std::exchange(gone_, false); }

  Handle listener_, connection_;
  bool gone_ = false;
};

/// A ring that another program fills.
class RingSource final : public ByteSource {
 public:
  RingSource(const std::string& address, std::size_t step_bytes) : ByteSource(address, step_bytes) {
    const std::string path = address.substr(address.find("://") + 3);
    file_.reset(open(path.c_str(), O_RDWR | O_CLOEXEC));
    struct stat status {};
    if (file_.get() < 0 || fstat(file_.get(), &status) != 0)
      throw Error("cannot open the ring " + address + ": " + std::strerror(errno));
    // Of two readers each would get a part. The lock goes with the file's handle.
    if (flock(file_.get(), LOCK_EX | LOCK_NB) != 0)
      throw Error("the ring " + address + " is read already: a ring is for one reader");
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ > sizeof(RingHeader)) memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_SHARED, file_.get(), 0);
    if (memory_ == MAP_FAILED || std::memcmp(header().magic, "RTRING1", 8) != 0 || header().capacity == 0 ||
        header().capacity > size_ - sizeof(RingHeader)) {
      if (memory_ != MAP_FAILED) munmap(memory_, size_);
      throw Error(address + " is no ring of packets: expected RTRING1, its capacity, bytes written and read, 32 bytes");
    }
  }
  ~RingSource() override { munmap(memory_, size_); }

 private:
  RingHeader& header() const { return *static_cast<RingHeader*>(memory_); }
  std::size_t receive(std::uint8_t* to, std::size_t n, Clock::time_point until, Cancellation& cancellation) override {
    std::atomic_ref<std::uint64_t> written(header().written), read(header().read);
    const std::uint64_t from = read.load(std::memory_order_relaxed);
    std::uint64_t there = written.load(std::memory_order_acquire) - from;
    while (there == 0) {
      if (cancellation.check()) throw Cancelled();
      if (Clock::now() >= until) return 0;
      std::this_thread::sleep_for(std::chrono::microseconds(200));
      there = written.load(std::memory_order_acquire) - from;
    }
    const std::uint64_t capacity = header().capacity, at = from % capacity;
    if (there > capacity) throw Error(address_ + ": the writer has overtaken the reader");
    n = static_cast<std::size_t>(std::min<std::uint64_t>({n, there, capacity - at}));
    std::memcpy(to, static_cast<const std::uint8_t*>(memory_) + sizeof(RingHeader) + at, n);
    read.store(from + n, std::memory_order_release);
    return n;
  }

  Handle file_;
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

bool begins_with(const std::string& text, const char* what) { return text.rfind(what, 0) == 0; }

}  // namespace

bool is_address(const std::string& source) {
  return begins_with(source, "tcp://") || begins_with(source, "udp://") || begins_with(source, "shm://");
}

std::unique_ptr<PacketSource> open_packets(const std::string& address, std::size_t step_bytes) {
  if (begins_with(address, "tcp://")) return std::make_unique<TcpSource>(address, step_bytes);
  if (begins_with(address, "udp://")) return std::make_unique<UdpSource>(address, step_bytes);
  return std::make_unique<RingSource>(address, step_bytes);
}

}  // namespace rimetree::correlator
