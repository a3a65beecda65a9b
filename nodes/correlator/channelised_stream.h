// The F-engine: samples of inputs become samples of channels, delays are taken out, and numbers become integers again.
#pragma once

#include <atomic>
#include <memory>
#include <string>
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

class ChannelisedStream final : public SampleStream {
 public:
  /// Throws Error where options and samples do not fit each other.
  ChannelisedStream(std::unique_ptr<SampleStream> samples, const StreamShape& shape, const Channelisation& options);
  ~ChannelisedStream() override;
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) override;
  std::string report() const override;

 private:
  static constexpr std::size_t kInputs = 16;  ///< together: their samples are side by side
  struct Workspace;

  void decode(const SampleBlock& block, std::size_t group, std::int64_t first, std::size_t n, Workspace& work) const;
  void spectra(const SampleBlock& block, std::size_t group, std::size_t begin, std::size_t end, Workspace& work);
  /// Codes by channel of one input's spectrum, times its phases; returns how many numbers were cut off.
  std::size_t quantise(const float* bins, std::size_t input, std::uint16_t* codes) const;
  const SampleMask* mask_of(const SampleBlock& block);

  std::unique_ptr<SampleStream> samples_;
  StreamShape in_;
  Channelisation options_;
  FilterBank bank_;
  std::vector<std::int64_t> shift_;  ///< [input] samples
  std::int64_t least_shift_ = 0, most_shift_ = 0;
  std::vector<float> phases_;  ///< [input][channel] re, im with the gain in them; empty: the gain alone
  std::vector<float> table_;   ///< re, im of each code where there are few; else empty
  std::int64_t first_ = 0;     ///< spectrum that the block begins with
  std::size_t n_time_ = 0;
  std::vector<std::uint8_t> codes_;  ///< [channel][time][input]
  SampleMask mask_{0, 0};
  std::vector<std::unique_ptr<Workspace>> workspaces_;  ///< by worker
  std::atomic<std::uint64_t> cut_off_{0}, numbers_{0};
};

}  // namespace rimetree::correlator
