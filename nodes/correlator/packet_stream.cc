#include "nodes/correlator/packet_stream.h"

#include <algorithm>
#include <cstring>

#include "nodes/correlator/file_stream.h"

namespace rimetree::correlator {

PacketStream::PacketStream(std::unique_ptr<PacketSource> source, const StreamShape& shape, double timeout_s,
                           SampleOrder order)
    : source_(std::move(source)),
      shape_(shape),
      order_(std::move(order)),
      timeout_s_(timeout_s),
      step_bytes_(static_cast<std::size_t>(shape.format.bytes) * shape.n_channel * shape.n_input) {}

bool PacketStream::has_all(std::int64_t first, std::int64_t end) const {
  std::int64_t reached = first;
  for (const auto& [begin, packet] : packets_) {
    if (begin > reached) break;
    reached = std::max(reached, begin + static_cast<std::int64_t>(packet.n_time));
  }
  return reached >= end;
}

void PacketStream::wait_for(std::int64_t first, std::int64_t end, Cancellation& cancellation) {
  // Who has gone is not waited for longer than what is asked for would take.
  const double wait_s = stalled_ ? std::min(timeout_s_, double(end - first) * shape_.interval_s) : timeout_s_;
  const auto patience =
      std::chrono::duration_cast<PacketSource::Clock::duration>(std::chrono::duration<double>(wait_s));
  int ahead = static_cast<int>(std::distance(packets_.lower_bound(end), packets_.end()));
  while (!ended_ && ahead < kAhead && !has_all(first, end)) {
    Packet packet;
    const Arrival found = source_->next(packet, PacketSource::Clock::now() + patience, cancellation);
    if (found == Arrival::end) ended_ = true;
    stalled_ = found == Arrival::nothing;
    if (stalled_) {
      ++stalls_;
      return;
    }
    if (found != Arrival::packet) continue;
    const std::int64_t packet_end = packet.first + static_cast<std::int64_t>(packet.n_time);
    if (packet_end <= begin_) {
      ++late_;
    } else if (packets_.contains(packet.first)) {
      ++repeated_;
    } else {
      ahead += packet.first >= end ? 1 : 0;
      packets_.emplace(packet.first, std::move(packet));
    }
  }
}

SampleBlock PacketStream::read(std::int64_t first, std::size_t n, ThreadPool& /*threads*/, Cancellation& cancellation) {
  const std::int64_t end = std::max<std::int64_t>(0, first + static_cast<std::int64_t>(n)),
                     from = std::max<std::int64_t>(first, 0);
  // What has been asked for before may be asked for again as long as it overlaps, as windows of filter banks do.
  begin_ = std::max(begin_, from);
  std::erase_if(packets_,
                [this](const auto& one) { return one.first + static_cast<std::int64_t>(one.second.n_time) <= begin_; });
  SampleBlock none{input_fastest(nullptr, shape_.format, 0, shape_.n_channel, shape_.n_input), from, nullptr};
  if (end <= begin_) return none;
  wait_for(begin_, end, cancellation);

  const auto wanted = static_cast<std::size_t>(end - begin_);
  codes_.assign(wanted * step_bytes_, 0);
  std::vector<bool> there(wanted, false);
  std::int64_t reached = begin_;
  for (const auto& [begin, packet] : packets_) {
    const std::int64_t a = std::max(begin, begin_), b = std::min(end, begin + static_cast<std::int64_t>(packet.n_time));
    if (a >= b) continue;
    std::uint8_t* to = codes_.data() + static_cast<std::size_t>(a - begin_) * step_bytes_;
    const auto skipped = static_cast<std::size_t>(a - begin), many = static_cast<std::size_t>(b - a);
    if (order_.is_plain())
      std::memcpy(to, packet.codes.data() + skipped * step_bytes_, many * step_bytes_);
    else
      SamplePlaces(order_, shape_.format, packet.n_time, shape_.n_channel, shape_.n_input)
          .copy(packet.codes.data(), skipped, many, to);
    std::fill(there.begin() + (a - begin_), there.begin() + (b - begin_), true);
    reached = std::max(reached, b);
  }
  if (!packets_.empty() && packets_.rbegin()->first >= end) reached = end;  // the stream goes on behind a gap
  const auto n_time = static_cast<std::size_t>(reached - begin_);
  mask_ = SampleMask(shape_.n_input, n_time);
  bool whole = true;
  for (std::size_t t = 0; t < n_time; ++t) {
    if (there[t]) continue;
    whole = false;
    if (begin_ + static_cast<std::int64_t>(t) >= counted_) ++lost_;
    for (std::size_t i = 0; i < shape_.n_input; ++i) mask_.leave_out(i, t);
  }
  counted_ = std::max(counted_, reached);
  if (n_time == 0) return none;
  SampleBlock block{input_fastest(codes_.data(), shape_.format, n_time, shape_.n_channel, shape_.n_input), begin_,
                    whole ? nullptr : &mask_};
  check_codes(block, "the stream");
  return block;
}

std::string PacketStream::report() const {
  if (lost_ + late_ + repeated_ + stalls_ == 0) return "";
  return "stream: " + std::to_string(lost_) + " samples lost; packets: " + std::to_string(late_) + " late, " +
         std::to_string(repeated_) + " repeated; nothing came in time " + std::to_string(stalls_) + " times";
}

}  // namespace rimetree::correlator
