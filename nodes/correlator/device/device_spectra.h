// The F-engine on a device: samples go up as they are, and codes of channels stay there for their products.
#pragma once

#include <memory>

#include "nodes/correlator/channel_plan.h"
#include "nodes/correlator/device/spectra_job.h"
#include "runtime/device/device_context.h"

namespace rimetree::correlator {

/// Whether the device has the kernels.
bool can_make_spectra(const memory::Device& device);

class DeviceSpectra final : public SpectraMaker {
 public:
  /// The plan must outlive it. `own_transform`: not by a library, even where there is one.
  DeviceSpectra(const ChannelPlan& plan, DeviceContext& device, bool own_transform = false);
  ~DeviceSpectra() override;
  /// Throws memory::OutOfMemory.
  SampleView make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) override;
  DeviceContext* where() const override { return &device_; }
  std::uint64_t take_cut_off() override;

 private:
  using Handle = memory::ResidentArrays::Handle;
  struct Room;

  void bring_tables();
  /// Memory for some spectra at a time, and for the codes of all of them.
  void make_room(const SpectraWanted& wanted);
  void transform(std::int64_t batch);

  const ChannelPlan& plan_;
  DeviceContext& device_;
  bool own_transform_;
  Handle d_weights_, d_phases_, d_roots_;
  std::unique_ptr<Room> room_;
  std::uint64_t cut_off_ = 0;  ///< that were counted in rooms of before
};

}  // namespace rimetree::correlator
