// In which order a source has its samples.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "nodes/correlator/sample_view.h"

namespace rimetree::correlator {

/// Axes from the slowest to the fastest: time, channel and input in any order, or instead of input antenna and feed,
/// apart, with two feeds of an antenna. Or groups: one file for each receiver, of a 16-bit counter and a 16-bit word
/// for each of the receiver's inputs, again and again (Wayth, Greenhill & Briggs 2009: 17 words); inputs of the first
/// receiver come first; one channel.
struct SampleOrder {
  enum class Axis : std::uint8_t { time, channel, input, antenna, feed };
  static constexpr std::size_t kFeeds = 2;
  bool are_groups = false;
  std::vector<Axis> axes;

  /// Time slowest and input fastest.
  bool is_plain() const;
};

/// "time,channel,input" and the like, "antenna,channel,time,feed" and the like, or "groups"; throws Error for anything
/// else.
SampleOrder sample_order(const std::string& name);

/// Where samples of some times lie, in bytes from the first one.
class SamplePlaces {
 public:
  /// Throws Error where antennas and feeds do not divide the inputs.
  SamplePlaces(const SampleOrder& order, const SampleFormat& format, std::size_t n_time, std::size_t n_channel,
               std::size_t n_input);
  /// Whether inputs lie at equal distances, so that a view can do without copying.
  bool is_a_view() const { return feeds_ == 1; }
  SampleView view(const std::uint8_t* bytes) const;
  /// Copies times [first, first + n) to [time][channel][input].
  void copy(const std::uint8_t* from, std::size_t first, std::size_t n, std::uint8_t* to) const;

 private:
  SampleFormat format_;
  std::size_t n_time_, n_channel_, n_input_, feeds_ = 1;
  std::ptrdiff_t time_ = 0, channel_ = 0, input_ = 0, feed_ = 0;  ///< strides; input_: of antennas where feeds_ is 2
};

}  // namespace rimetree::correlator
