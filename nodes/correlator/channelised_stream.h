// The F-engine: samples of inputs become samples of channels, delays are taken out, and numbers become integers again.
#pragma once

#include <memory>
#include <string>

#include "nodes/correlator/channel_plan.h"

namespace rimetree::correlator {

class ChannelisedStream final : public SampleStream {
 public:
  /// Throws Error where options and samples do not fit each other.
  ChannelisedStream(std::unique_ptr<SampleStream> samples, const StreamShape& shape, const Channelisation& options);
  ~ChannelisedStream() override;
  SampleBlock read(std::int64_t first, std::size_t n, ThreadPool& threads, Cancellation& cancellation) override;
  std::string report() const override;
  std::string warning() const override;
  void work_on(DeviceContext* device) override;

 private:
  const SampleMask* mask_of(const SampleBlock& block, std::int64_t first, std::size_t n);
  SampleView make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation);

  std::unique_ptr<SampleStream> samples_;
  ChannelPlan plan_;
  std::unique_ptr<SpectraMaker> on_host_, on_device_;
  SampleMask mask_{0, 0};
  std::uint64_t cut_off_ = 0, numbers_ = 0;
  std::string why_not_there_;  ///< why the host did what a device should have done
};

}  // namespace rimetree::correlator
