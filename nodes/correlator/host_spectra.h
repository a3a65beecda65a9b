// Spectra on the host, by FFTW: sixteen inputs at a time, whose samples stay in the caches.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "nodes/correlator/channel_plan.h"

namespace rimetree::correlator {

class HostSpectra final : public SpectraMaker {
 public:
  /// The plan must outlive it.
  explicit HostSpectra(const ChannelPlan& plan);
  ~HostSpectra() override;
  SampleView make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) override;
  std::uint64_t take_cut_off() override { return cut_off_.exchange(0); }

 private:
  static constexpr std::size_t kInputs = 16;  ///< together: their samples are side by side
  struct Workspace;

  void decode(const SampleBlock& block, std::size_t group, std::int64_t first, std::size_t n, Workspace& work) const;
  void spectra(const SpectraWanted& wanted, std::size_t group, std::size_t begin, std::size_t end, Workspace& work);
  /// Codes by channel of one input's spectrum, times its phases; returns how many numbers were cut off.
  std::size_t quantise(const float* bins, std::size_t input, std::uint16_t* codes) const;

  const ChannelPlan& plan_;
  std::vector<float> table_;                            ///< re, im of each code where there are few; else empty
  std::vector<std::uint8_t> codes_;                     ///< [channel][time][input]
  std::vector<std::unique_ptr<Workspace>> workspaces_;  ///< by worker
  std::atomic<std::uint64_t> cut_off_{0};
};

}  // namespace rimetree::correlator
