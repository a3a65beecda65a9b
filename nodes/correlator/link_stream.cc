#include "nodes/correlator/link_stream.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/error.h"

namespace rimetree::correlator {

void check_links(const StreamShape& shape, std::size_t n_link) {
  if (shape.n_input % n_link != 0)
    throw Error(std::to_string(shape.n_input) + " inputs cannot come from " + std::to_string(n_link) +
                " streams, which bring as many each");
}

LinkStream::LinkStream(std::vector<Link> links, const StreamShape& shape) : links_(std::move(links)), shape_(shape) {
  check_links(shape, links_.size());
}

void LinkStream::take(const SampleBlock& block, std::size_t link, std::int64_t first) {
  const std::size_t inputs = shape_.n_input / links_.size(), bytes = static_cast<std::size_t>(shape_.format.bytes);
  const SampleView& view = block.view;
  for (std::size_t k = 0; k < view.n_time; ++k) {
    const auto t = static_cast<std::size_t>(block.first - first) + k;
    for (std::size_t c = 0; c < shape_.n_channel; ++c)
      // A stream's samples lie input after input.
      std::memcpy(codes_.data() + ((t * shape_.n_channel + c) * shape_.n_input + link * inputs) * bytes,
                  view.bytes + static_cast<std::ptrdiff_t>(k) * view.time_stride +
                      static_cast<std::ptrdiff_t>(c) * view.channel_stride,
                  inputs * bytes);
    for (std::size_t i = 0; i < inputs; ++i)
      if (block.mask == nullptr || block.mask->counts(i, k)) mask_.take_in(link * inputs + i, t);
  }
}

SampleBlock LinkStream::read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) {
  const std::int64_t from = std::max<std::int64_t>(first, 0);
  const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, first + static_cast<std::int64_t>(n) - from));
  codes_.assign(wanted * shape_.n_channel * shape_.n_input * static_cast<std::size_t>(shape_.format.bytes), 0);
  mask_ = SampleMask(shape_.n_input, wanted);
  mask_.clear();
  std::int64_t end = from;  // where the longest ends
  for (std::size_t link = 0; link < links_.size(); ++link) {
    const SampleBlock block = links_[link].stream->read(from, wanted, threads, cancellation);
    if (block.view.n_time == 0) continue;
    take(block, link, from);
    end = std::max(end, block.first + static_cast<std::int64_t>(block.view.n_time));
  }
  const auto n_time = static_cast<std::size_t>(end - from);
  if (n_time < wanted) mask_ = mask_.part(0, n_time);
  return {input_fastest(codes_.data(), shape_.format, n_time, shape_.n_channel, shape_.n_input), from,
          mask_.is_full() ? nullptr : &mask_};
}

std::string LinkStream::report() const {
  std::string text;
  for (const Link& link : links_)
    if (const std::string one = link.stream->report(); !one.empty())
      text += (text.empty() ? "" : "; ") + link.name + ": " + one;
  return text;
}

}  // namespace rimetree::correlator
