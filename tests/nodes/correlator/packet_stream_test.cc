#include "nodes/correlator/packet_stream.h"

#include <gtest/gtest.h>

#include <random>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

/// Two inputs, a byte each: what sample t of an input must be.
std::uint8_t code_of(std::int64_t t, std::size_t input) {
  return static_cast<std::uint8_t>(5 * t + 3 * static_cast<std::int64_t>(input));
}

Packet packet_of(std::int64_t first, std::size_t n) {
  Packet packet{first, n, {}};
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t input = 0; input < 2; ++input)
      packet.codes.push_back(code_of(first + static_cast<std::int64_t>(t), input));
  return packet;
}

/// Packets in the order given; one that begins at -1 says that nothing came in time, at the end there is the end or,
/// if it stalls, nothing for ever.
class Script final : public PacketSource {
 public:
  Script(std::vector<Packet> packets, bool stalls, int* asked = nullptr)
      : packets_(std::move(packets)), stalls_(stalls), asked_(asked) {}
  Arrival next(Packet& packet, Clock::time_point, Cancellation&) override {
    if (asked_ != nullptr) ++*asked_;
    if (next_ == packets_.size()) return stalls_ ? Arrival::nothing : Arrival::end;
    packet = packets_[next_++];
    return packet.first < 0 ? Arrival::nothing : Arrival::packet;
  }

 private:
  std::vector<Packet> packets_;
  bool stalls_;
  int* asked_;
  std::size_t next_ = 0;
};

StreamShape two_inputs() {
  StreamShape shape;
  shape.format = sample_format("chime");
  shape.n_input = 2;
  return shape;
}

struct Running {
  ThreadPool threads{1};
  Cancellation cancellation;
};

/// Which of the samples [0, n) came, asked for in blocks; those that count must be right.
std::vector<bool> came(PacketStream& stream, std::int64_t n, std::size_t block_size) {
  Running run;
  std::vector<bool> found(static_cast<std::size_t>(n), false);
  for (std::int64_t first = 0; first < n; first += static_cast<std::int64_t>(block_size)) {
    const SampleBlock block =
        stream.read(first, std::min(block_size, static_cast<std::size_t>(n - first)), run.threads, run.cancellation);
    for (std::size_t t = 0; t < block.view.n_time; ++t)
      for (std::size_t input = 0; input < 2; ++input) {
        if (block.mask != nullptr && !block.mask->counts(input, t)) continue;
        const std::int64_t number = block.first + static_cast<std::int64_t>(t);
        EXPECT_EQ(block.view.code(t, 0, input), code_of(number, input)) << number;
        found[static_cast<std::size_t>(number)] = true;
      }
  }
  return found;
}

TEST(PacketStream, GivesWhatComesInOrder) {
  for (const std::size_t block_size : {1, 7, 10, 64, 1000}) {
    std::vector<Packet> packets;
    for (int k = 0; k < 30; ++k) packets.push_back(packet_of(10 * k, 10));
    PacketStream stream(std::make_unique<Script>(packets, false), two_inputs(), 1);
    for (const bool one : came(stream, 300, block_size)) EXPECT_TRUE(one);
    EXPECT_EQ(stream.report(), "");
  }
}

// A tenth of the packets is lost, neighbours change places, some come twice: what came counts, once, and is right.
TEST(PacketStream, LeavesOutWhatIsLost) {
  std::mt19937 random(1);
  std::vector<Packet> packets;
  std::vector<bool> sent(2000, false);
  std::size_t lost = 0, repeated = 0;
  for (int k = 0; k < 200; ++k) {
    if (random() % 10 == 0) {
      lost += 10;
      continue;
    }
    packets.push_back(packet_of(10 * k, 10));
    std::fill_n(sent.begin() + 10 * k, 10, true);
  }
  for (std::size_t k = 0; k + 1 < packets.size(); k += 2) std::swap(packets[k], packets[k + 1]);
  for (std::size_t k = 40; k < 100; k += 20, ++repeated)
    packets.insert(packets.begin() + static_cast<std::ptrdiff_t>(k), packets[k]);
  PacketStream stream(std::make_unique<Script>(packets, false), two_inputs(), 1);
  EXPECT_EQ(came(stream, 2000, 35), sent);
  EXPECT_NE(stream.report().find(std::to_string(lost) + " samples lost; packets: 0 late, " + std::to_string(repeated) +
                                 " repeated"),
            std::string::npos)
      << stream.report() << " " << lost;
}

// A sender that is silent for good is waited for once in each block, and not more.
TEST(PacketStream, DoesNotHangWhereNothingComes) {
  int asked = 0;
  PacketStream stream(std::make_unique<Script>(std::vector<Packet>{packet_of(0, 10), packet_of(10, 5)}, true, &asked),
                      two_inputs(), 0.01);
  std::vector<bool> expected(100, false);
  std::fill_n(expected.begin(), 15, true);
  EXPECT_EQ(came(stream, 100, 20), expected);
  EXPECT_EQ(asked, 2 + 5);
}

// A sender that begins anew counts from 0: what comes again is late.
TEST(PacketStream, TakesNothingTwiceFromOneThatBeginsAnew) {
  std::vector<Packet> packets;
  for (const int k : {0, 1, 2, 3, 0, 1, 2, 3, 4, 5}) packets.push_back(packet_of(10 * k, 10));
  PacketStream stream(std::make_unique<Script>(packets, false), two_inputs(), 1);
  for (const bool one : came(stream, 60, 20)) EXPECT_TRUE(one);
  EXPECT_NE(stream.report().find("4 late, 0 repeated"), std::string::npos) << stream.report();
}

// Windows that overlap ask for samples again: what is lost there is lost once.
TEST(PacketStream, CountsWhatIsLostOnce) {
  Running run;
  PacketStream stream(std::make_unique<Script>(std::vector<Packet>{packet_of(0, 15), packet_of(25, 10)}, false),
                      two_inputs(), 1);
  for (const std::int64_t first : {0, 5, 10, 15}) {
    const SampleBlock block = stream.read(first, 20, run.threads, run.cancellation);
    ASSERT_EQ(block.first, first);
    for (std::size_t t = 0; t < block.view.n_time; ++t) {
      const std::int64_t number = first + static_cast<std::int64_t>(t);
      EXPECT_EQ(block.mask->counts(1, t), number < 15 || number >= 25) << number;
    }
  }
  EXPECT_NE(stream.report().find("stream: 10 samples lost"), std::string::npos) << stream.report();
}

// Packets of another order, cut where blocks end: the same samples.
TEST(PacketStream, PutsAnyOrderStraight) {
  Running run;
  for (const std::size_t block_size : {1, 7, 10, 25}) {
    std::vector<Packet> packets;
    for (int k = 0; k < 6; ++k) {
      Packet turned = packet_of(10 * k, 10);
      for (std::size_t t = 0; t < 10; ++t)
        for (std::size_t input = 0; input < 2; ++input)
          turned.codes[input * 10 + t] = code_of(10 * k + static_cast<std::int64_t>(t), input);
      if (k != 3) packets.push_back(std::move(turned));
    }
    PacketStream stream(std::make_unique<Script>(packets, false), two_inputs(), 1, sample_order("input,channel,time"));
    const std::vector<bool> found = came(stream, 60, block_size);
    for (std::size_t t = 0; t < 60; ++t) EXPECT_EQ(found[t], t / 10 != 3) << t;
  }
}

// The end within an integration; and windows that overlap may be asked for again.
TEST(PacketStream, EndsWhereItEnds) {
  Running run;
  PacketStream stream(std::make_unique<Script>(std::vector<Packet>{packet_of(0, 10), packet_of(10, 4)}, false),
                      two_inputs(), 1);
  EXPECT_EQ(stream.read(0, 8, run.threads, run.cancellation).view.n_time, 8u);
  const SampleBlock block = stream.read(5, 100, run.threads, run.cancellation);
  EXPECT_EQ(block.first, 5);
  EXPECT_EQ(block.view.n_time, 9u);
  EXPECT_EQ(block.mask, nullptr);
  EXPECT_EQ(stream.read(0, 3, run.threads, run.cancellation).view.n_time, 0u);  // gone
  EXPECT_EQ(stream.read(200, 10, run.threads, run.cancellation).view.n_time, 0u);
}

// Nothing is kept that nobody has asked for, but for a few packets behind a gap.
TEST(PacketStream, TakesNoMoreThanItNeeds) {
  int asked = 0;
  std::vector<Packet> packets{packet_of(10, 10)};
  for (int k = 10; k < 1000; ++k) packets.push_back(packet_of(10 * k, 10));
  PacketStream stream(std::make_unique<Script>(packets, false, &asked), two_inputs(), 1);
  Running run;
  EXPECT_EQ(stream.read(0, 30, run.threads, run.cancellation).view.n_time, 30u);
  EXPECT_LE(asked, 18);
}

TEST(PacketSource, RefusesWhatIsNoAddress) {
  EXPECT_TRUE(is_address("udp://127.0.0.1:1"));
  EXPECT_FALSE(is_address("/tmp/udp"));
  EXPECT_THROW(open_packets("tcp://127.0.0.1", 2), Error);
  EXPECT_THROW(open_packets("udp://no.such.host.invalid:77777", 2), Error);
  EXPECT_THROW(open_packets("shm:///nowhere/ring", 2), Error);
  EXPECT_THROW(open_packets("shm:///dev/null", 2), Error);
}

}  // namespace

}  // namespace rimetree::correlator
