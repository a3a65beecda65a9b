// Samples that come in packets: put in order, and what is lost or late is left out.
#pragma once

#include <map>

#include "nodes/correlator/packet_source.h"
#include "nodes/correlator/sample_order.h"
#include "nodes/correlator/sample_stream.h"

namespace rimetree::correlator {

/// Waits for the samples that it is asked for, and never for ever: until they are there, until packets behind them have
/// come for some time (what comes then is late), until nothing has come for the time-out, or until the end. Memory: the
/// packets of what is asked for, and some behind it; the sender of a connection or of a ring waits meanwhile.
class PacketStream final : public SampleStream {
 public:
  /// `order`: of the samples of a packet.
  PacketStream(std::unique_ptr<PacketSource> source, const StreamShape& shape, double timeout_s,
               SampleOrder order = sample_order("time,channel,input"));
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) override;
  std::string report() const override;

 private:
  /// Takes packets in until those of [first, end) are there, or no more is to be waited for.
  void wait_for(std::int64_t first, std::int64_t end, Cancellation& cancellation);
  bool has_all(std::int64_t first, std::int64_t end) const;

  static constexpr int kAhead = 16;  ///< packets behind a gap after which it is one

  std::unique_ptr<PacketSource> source_;
  StreamShape shape_;
  SampleOrder order_;
  double timeout_s_;
  std::size_t step_bytes_;
  std::map<std::int64_t, Packet> packets_;  ///< by first sample
  std::int64_t begin_ = 0;                  ///< what was asked for last begins there: what is before it is late
  bool ended_ = false, stalled_ = false;
  std::vector<std::uint8_t> codes_;
  SampleMask mask_{0, 0};
  std::uint64_t lost_ = 0, late_ = 0, repeated_ = 0, stalls_ = 0;
  std::int64_t counted_ = 0;  ///< up to there lost samples have been counted
};

}  // namespace rimetree::correlator
