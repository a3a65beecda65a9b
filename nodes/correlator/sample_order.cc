#include "nodes/correlator/sample_order.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

using OrderAxis = SampleOrder::Axis;
constexpr std::array<const char*, 5> kNames{"time", "channel", "input", "antenna", "feed"};

}  // namespace

bool SampleOrder::is_plain() const {
  return axes == std::vector{OrderAxis::time, OrderAxis::channel, OrderAxis::input};
}

SampleOrder sample_order(const std::string& name) {
  SampleOrder order;
  if (name == "groups") {
    order.are_groups = true;
    return order;
  }
  bool known = true;
  for (std::size_t begin = 0; known && begin <= name.size();) {
    const std::size_t end = std::min(name.find(',', begin), name.size());
    const auto found = std::find(kNames.begin(), kNames.end(), name.substr(begin, end - begin));
    known = found != kNames.end();
    if (known) order.axes.push_back(static_cast<OrderAxis>(found - kNames.begin()));
    begin = end + 1;
  }
  std::vector<OrderAxis> sorted = order.axes;
  std::sort(sorted.begin(), sorted.end());
  if (!known || (sorted != std::vector{OrderAxis::time, OrderAxis::channel, OrderAxis::input} &&
                 sorted != std::vector{OrderAxis::time, OrderAxis::channel, OrderAxis::antenna, OrderAxis::feed}))
    throw Error("order is \"" + name +
                "\", expected time, channel and input, or time, channel, antenna and feed, in any order with commas "
                "between them (the last is the fastest; e.g. \"time,channel,input\"), or \"groups\"");
  return order;
}

SamplePlaces::SamplePlaces(const SampleOrder& order, const SampleFormat& format, std::size_t n_time,
                           std::size_t n_channel, std::size_t n_input)
    : format_(format), n_time_(n_time), n_channel_(n_channel), n_input_(n_input) {
  const bool apart = order.axes.size() == 4;
  if (apart && n_input % SampleOrder::kFeeds != 0)
    throw Error(std::to_string(n_input) + " inputs are no antennas of " + std::to_string(SampleOrder::kFeeds) +
                " feeds, which the order has");
  feeds_ = apart ? SampleOrder::kFeeds : 1;
  std::ptrdiff_t stride = format.bytes;
  for (auto axis = order.axes.rbegin(); axis != order.axes.rend(); ++axis) {
    std::size_t length = n_input_ / feeds_;
    std::ptrdiff_t* to = &input_;
    if (*axis == OrderAxis::time) to = &time_, length = n_time;
    if (*axis == OrderAxis::channel) to = &channel_, length = n_channel;
    if (*axis == OrderAxis::feed) to = &feed_, length = feeds_;
    *to = stride;
    stride *= static_cast<std::ptrdiff_t>(length);
  }
  // Feeds side by side are inputs in a row.
  if (apart && input_ == feed_ * static_cast<std::ptrdiff_t>(feeds_)) {
    input_ = feed_;
    feeds_ = 1;
  }
}

SampleView SamplePlaces::view(const std::uint8_t* bytes) const {
  return {bytes, format_, n_time_, n_channel_, n_input_, time_, channel_, input_};
}

void SamplePlaces::copy(const std::uint8_t* from, std::size_t first, std::size_t n, std::uint8_t* to) const {
  const auto bytes = static_cast<std::size_t>(format_.bytes);
  for (std::size_t t = first; t < first + n; ++t)
    for (std::size_t c = 0; c < n_channel_; ++c)
      for (std::size_t i = 0; i < n_input_; ++i, to += bytes)
        std::memcpy(to,
                    from + static_cast<std::ptrdiff_t>(t) * time_ + static_cast<std::ptrdiff_t>(c) * channel_ +
                        static_cast<std::ptrdiff_t>(i / feeds_) * input_ +
                        static_cast<std::ptrdiff_t>(i % feeds_) * feed_,
                    bytes);
}

}  // namespace rimetree::correlator
