// Spectra on the host, by FFTW: some inputs side by side from their codes to the channels', so that nothing is turned.
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
  struct Workspace;

  /// Samples [first, first + n) of some inputs, [sample][input], into the workspace.
  void decode(const SampleBlock& block, std::size_t first_input, std::int64_t first, std::size_t n,
              Workspace& work) const;
  void spectra(const SpectraWanted& wanted, std::size_t group, std::size_t begin, std::size_t end, Workspace& work);
  /// Codes or floats [channel][input] of some inputs' spectra, times their phases; returns how many numbers were cut
  /// off.
  std::size_t quantise(const float* bins, std::size_t group, std::uint8_t* codes) const;

  const ChannelPlan& plan_;
  std::size_t together_;             ///< inputs whose samples are side by side: the filter bank's lanes
  std::vector<float> phases_;        ///< as the plan's, but [inputs together][channel][input]
  std::vector<std::uint8_t> codes_;  ///< [channel][time][input], row_bytes_ from one channel to the next
  std::size_t row_bytes_ = 0;
  std::vector<std::unique_ptr<Workspace>> workspaces_;  ///< by worker
  std::atomic<std::uint64_t> cut_off_{0};
};

}  // namespace rimetree::correlator
