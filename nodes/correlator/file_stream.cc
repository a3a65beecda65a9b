#include "nodes/correlator/file_stream.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

/// The same of floats: one that is not finite would be in all products for good.
void check_numbers(const SampleBlock& block, const std::string& source) {
  const SampleView& view = block.view;
  for (std::size_t t = 0; t < view.n_time; ++t)
    for (std::size_t c = 0; c < view.n_channel; ++c)
      for (std::size_t i = 0; i < view.n_input; ++i) {
        const Complex<float> x = view.value(t, c, i);
        if (std::isfinite(x.re) && std::isfinite(x.im)) continue;
        throw Error(source + ": sample " + std::to_string(block.first + static_cast<std::int64_t>(t)) + ", channel " +
                    std::to_string(c) + ", input " + std::to_string(i) + " is not finite: " + std::to_string(x.re) +
                    " + " + std::to_string(x.im) + " i; is it the right format and order?");
      }
}

}  // namespace

void check_codes(const SampleBlock& block, const std::string& source) {
  const SampleView& view = block.view;
  if (view.format.is_float) return check_numbers(block, source);
  const std::uint16_t unused = view.format.unused_bits();
  if (unused == 0) return;
  const bool words = view.input_stride == 2 && view.format.bytes == 2;  // side by side, so that vectors take them
  for (std::size_t t = 0; t < view.n_time; ++t)
    for (std::size_t c = 0; c < view.n_channel; ++c) {
      std::uint16_t any = 0;
      const std::uint8_t* at = view.bytes + static_cast<std::ptrdiff_t>(t) * view.time_stride +
                               static_cast<std::ptrdiff_t>(c) * view.channel_stride;
      for (std::size_t i = 0; i < view.n_input; ++i) {
        std::uint16_t code;
        if (words)
          std::memcpy(&code, at + 2 * i, 2);
        else
          code = view.code(t, c, i);
        any = static_cast<std::uint16_t>(any | code);
      }
      if ((any & unused) == 0) continue;
      std::size_t i = 0;
      while ((view.code(t, c, i) & unused) == 0) ++i;
      char code[8];
      std::snprintf(code, sizeof code, "0x%04x", static_cast<unsigned>(view.code(t, c, i)));
      throw Error(source + ": sample " + std::to_string(block.first + static_cast<std::int64_t>(t)) + ", channel " +
                  std::to_string(c) + ", input " + std::to_string(i) + " has the code " + code +
                  ", which is impossible in format \"" + view.format.name +
                  "\": bits are set that belong to no number; is it the right format and order?");
    }
}

namespace {

/// Times in a file; throws Error where it holds no whole number of them.
std::size_t times_of(const MappedFile& file, const std::string& name, const StreamShape& shape) {
  const std::size_t step = static_cast<std::size_t>(shape.format.bytes) * shape.n_channel * shape.n_input;
  if (file.size() % step != 0)
    throw Error("\"" + name + "\" has " + std::to_string(file.size()) + " bytes, which is no multiple of the " +
                std::to_string(step) + " that all channels and inputs take at one time");
  return file.size() / step;
}

}  // namespace

FileStream::FileStream(const std::string& file, const StreamShape& shape, const SampleOrder& order)
    : file_(file),
      name_(file),
      shape_(shape),
      n_time_(times_of(file_, file, shape)),
      places_(order, shape.format, n_time_, shape.n_channel, shape.n_input) {}

SampleBlock FileStream::read(std::int64_t first, std::size_t n, ThreadPool& /*threads*/,
                             Cancellation& /*cancellation*/) {
  const auto end = static_cast<std::int64_t>(n_time_);
  const std::int64_t from = std::clamp<std::int64_t>(first, 0, end),
                     to = std::clamp<std::int64_t>(first + static_cast<std::int64_t>(n), from, end);
  const auto begin = static_cast<std::size_t>(from), many = static_cast<std::size_t>(to - from);
  SampleBlock block{{}, from, nullptr};
  if (places_.is_a_view()) {
    block.view = places_.view(file_.bytes());
    block.view.n_time = many;
    block.view.bytes += static_cast<std::ptrdiff_t>(from) * block.view.time_stride;
  } else {
    copied_.resize(many * shape_.n_channel * shape_.n_input * static_cast<std::size_t>(shape_.format.bytes));
    places_.copy(file_.bytes(), begin, many, copied_.data());
    block.view = input_fastest(copied_.data(), shape_.format, many, shape_.n_channel, shape_.n_input);
  }
  check_codes(block, "\"" + name_ + "\"");
  return block;
}

void check_groups(const StreamShape& shape, std::size_t n_file) {
  if (shape.n_input % n_file != 0 || shape.n_channel != 1 || shape.format.bytes != 2)
    throw Error("groups are of one channel, of words of 16 bits, and all receivers have as many inputs; there are " +
                std::to_string(shape.n_channel) + " channels, " + std::to_string(shape.format.bytes) +
                " bytes in a sample, and " + std::to_string(shape.n_input) + " inputs in " + std::to_string(n_file) +
                " files");
}

GroupStream::GroupStream(const std::vector<std::string>& files, const StreamShape& shape, bool lost_are_masked)
    : shape_(shape), lost_are_masked_(lost_are_masked), inputs_(shape.n_input / files.size()) {
  check_groups(shape, files.size());
  group_bytes_ = 2 * (1 + inputs_);
  for (const std::string& name : files) {
    Receiver receiver;
    receiver.name = name;
    receiver.file = std::make_unique<MappedFile>(name);
    const std::size_t size = receiver.file->size();
    receiver.n_group = size / group_bytes_;
    if (const std::size_t rest = size % group_bytes_; rest != 0 && !lost_are_masked)
      throw Error("\"" + name + "\" ends in the middle of group " + std::to_string(receiver.n_group) + ": of its " +
                  std::to_string(group_bytes_) + " bytes there are " + std::to_string(rest) +
                  "; cut them off, or say that lost groups are to be masked");
    receivers_.push_back(std::move(receiver));
  }
  // The receivers may have begun at different times; what only some of them have is not looked at.
  for (Receiver& receiver : receivers_)
    if (receiver.n_group > 0 && receivers_.front().n_group > 0)
      receiver.start =
          static_cast<std::int16_t>(static_cast<std::uint16_t>(counter(receiver, 0) - counter(receivers_.front(), 0)));
  std::int64_t latest = 0;
  for (const Receiver& receiver : receivers_) latest = std::max(latest, receiver.start);
  for (Receiver& receiver : receivers_) {
    receiver.start -= latest;
    receiver.now.number = receiver.start - 1;
  }
}

std::uint16_t GroupStream::counter(const Receiver& receiver, std::size_t group) const {
  const std::uint8_t* at = receiver.file->bytes() + group * group_bytes_;
  return static_cast<std::uint16_t>(at[0] | at[1] << 8);
}

std::int64_t GroupStream::take(std::size_t index, std::int64_t first, std::size_t n, SampleMask& there) {
  Receiver& receiver = receivers_[index];
  Place& now = receiver.now;
  if (now.number >= first) now = first >= receiver.asked ? receiver.before : Place{0, receiver.start - 1};
  receiver.asked = first;
  receiver.before = now;
  const std::int64_t end = first + static_cast<std::int64_t>(n);
  for (; now.next < receiver.n_group; ++now.next) {
    const auto before =
        static_cast<std::uint16_t>(now.next > 0 ? counter(receiver, 0) + (now.number - receiver.start) : 0);
    const std::uint16_t found = counter(receiver, now.next);
    const int step = now.next > 0 ? static_cast<std::int16_t>(static_cast<std::uint16_t>(found - before)) : 1;
    if (step != 1 && !lost_are_masked_)
      throw Error("\"" + receiver.name + "\": the counter of group " + std::to_string(now.next) + " (at byte " +
                  std::to_string(now.next * group_bytes_) + ") is " + std::to_string(found) + ", expected " +
                  std::to_string(static_cast<std::uint16_t>(before + 1)) + ": " +
                  (step > 1 ? std::to_string(step - 1) + " groups are missing" : "groups come again") +
                  "; is it a file of groups? Say that lost groups are to be masked to go on all the same");
    if (step <= 0) {  // again, or a receiver that began anew
      ++now.repeated;
      continue;
    }
    const std::int64_t number = now.number + step;
    if (number >= end) break;
    now.lost += static_cast<std::uint64_t>(step - 1);
    now.number = number;
    if (number < first) {
      receiver.before = {now.next + 1, now.number, now.lost, now.repeated};
      continue;
    }
    const auto t = static_cast<std::size_t>(number - first);
    std::uint8_t* to = samples_.data() + 2 * (t * shape_.n_input + index * inputs_);
    const std::uint8_t* from = receiver.file->bytes() + now.next * group_bytes_ + 2;
    if (inputs_ == 16)
      std::memcpy(to, from, 2 * 16);  // the MWA's, of a size that the compiler knows
    else
      std::memcpy(to, from, 2 * inputs_);
    there.take_in(index, t);
  }
  return std::min(end, now.number + 1);
}

const SampleMask* GroupStream::mask_of(const SampleMask& there) {
  if (there.is_full()) return nullptr;
  mask_ = SampleMask(shape_.n_input, there.n_time());
  for (std::size_t index = 0; index < receivers_.size(); ++index) {
    for (std::size_t i = 0; i < inputs_; ++i) mask_.copy(index * inputs_ + i, there, index);
    for (std::size_t t = 0; t < there.n_time(); ++t)
      if (!there.counts(index, t))
        std::fill_n(samples_.begin() + static_cast<std::ptrdiff_t>(2 * (t * shape_.n_input + index * inputs_)),
                    2 * inputs_, std::uint8_t{0});
  }
  return &mask_;
}

SampleBlock GroupStream::read(std::int64_t first, std::size_t n, ThreadPool& /*threads*/,
                              Cancellation& /*cancellation*/) {
  const std::int64_t from = std::max<std::int64_t>(first, 0), wanted_end = first + static_cast<std::int64_t>(n);
  if (wanted_end <= from) return {input_fastest(nullptr, shape_.format, 0, 1, shape_.n_input), from, nullptr};
  const auto wanted = static_cast<std::size_t>(wanted_end - from);
  samples_.resize(2 * wanted * shape_.n_input);
  SampleMask there(receivers_.size(), wanted);
  there.clear();
  // Where all must be there the shortest file ends; where lost ones are masked the longest does.
  std::int64_t shortest = wanted_end, longest = from;
  for (std::size_t index = 0; index < receivers_.size(); ++index) {
    const std::int64_t end = std::max(from, take(index, from, wanted, there));
    shortest = std::min(shortest, end);
    longest = std::max(longest, end);
  }
  const auto n_time = static_cast<std::size_t>((lost_are_masked_ ? longest : shortest) - from);
  if (n_time < wanted) there = there.part(0, n_time);
  SampleBlock block{input_fastest(samples_.data(), shape_.format, n_time, 1, shape_.n_input), from, mask_of(there)};
  check_codes(block, "\"" + receivers_.front().name + "\" and its like");
  return block;
}

std::string GroupStream::report() const {
  std::string text;
  const auto say = [&](const Receiver& receiver, const std::string& what) {
    text += (text.empty() ? "" : "; ") + receiver.name + ": " + what;
  };
  for (const Receiver& receiver : receivers_) {
    if (receiver.start < 0)
      say(receiver, "its first " + std::to_string(-receiver.start) +
                        " groups are left out, since the counter of another file begins there, with the first sample");
    if (receiver.now.lost + receiver.now.repeated > 0)
      say(receiver,
          std::to_string(receiver.now.lost) + " groups lost, " + std::to_string(receiver.now.repeated) + " repeated");
  }
  return text;
}

}  // namespace rimetree::correlator
