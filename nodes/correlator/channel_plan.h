// What an F-engine does with samples, wherever it does it: which of them make a spectrum, and what its channels are
// multiplied with.
#pragma once

#include <cstdint>
#include <vector>

#include "nodes/correlator/filter_bank.h"
#include "nodes/correlator/sample_stream.h"

namespace rimetree::correlator {

struct Channelisation {
  std::size_t n_channel = 1, taps = 1;
  Window window = Window::rectangular;
  SampleFormat format;          ///< of the channels' samples
  double gain = 1;              ///< noise of s least significant bits at the input has `gain` s at the output
  std::vector<double> delay_s;  ///< [input] by which a signal comes late; empty: none
  double centre_hz = 0;         ///< frequency that was mixed to zero: delays turn phases there, too
};

/// The shape of what comes out of a channeliser.
StreamShape channelised(const StreamShape& samples, const Channelisation& options, const FilterBank& bank);

/// Throws Error where options and samples do not fit each other.
void check_channelisation(const StreamShape& samples, const Channelisation& options);

struct ChannelPlan {
  /// Throws Error where options and samples do not fit each other.
  ChannelPlan(const StreamShape& shape, const Channelisation& options);

  StreamShape in;
  Channelisation options;
  FilterBank bank;
  std::vector<std::int64_t> shift;  ///< [input] samples
  std::int64_t least_shift = 0, most_shift = 0;
  float scale = 1;            ///< of all channels, where there are no phases
  std::vector<float> phases;  ///< [input][channel] re, im with the scale in them; empty: the scale alone

  std::size_t n_channel() const { return bank.n_channel(); }
  /// Number of the sample that a spectrum's window begins with, before an input's shift.
  std::int64_t first_sample(std::int64_t spectrum) const {
    return spectrum * static_cast<std::int64_t>(bank.step()) - static_cast<std::int64_t>(bank.lead());
  }
};

/// Consecutive spectra, [first, first + n), to be made of a block that has all samples of their windows.
struct SpectraWanted {
  const SampleBlock& block;
  std::int64_t first;
  std::size_t n;
};

/// Makes codes of channels.
class SpectraMaker {
 public:
  virtual ~SpectraMaker() = default;
  /// Valid until the next call.
  virtual SampleView make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) = 0;
  /// Whose memory the samples are; nullptr: the host's.
  virtual DeviceContext* where() const { return nullptr; }
  /// Numbers that were cut off at the format's range since this was last asked. May wait.
  virtual std::uint64_t take_cut_off() = 0;
};

}  // namespace rimetree::correlator
