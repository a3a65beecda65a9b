// The X-engine on devices: codes go up as they are, are turned there, and products are added to sums that stay there
// until they are asked for. The same integers as on the host.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "memory/staging.h"
#include "nodes/correlator/cross_products.h"
#include "nodes/correlator/device/tile_job.h"
#include "runtime/device/device_context.h"

namespace rimetree::correlator {

/// What does the work on a device, by strategy and number of inputs.
struct DeviceKernel {
  Turned turned = Turned::fragments;
  TileVariant variant;     ///< of fragments
  std::int32_t group = 1;  ///< of channels: inputs of a block
  bool is_shared = false;  ///< of channels: group parallel
  std::string name;        ///< for reports
  /// Blocks of inputs i >= j that hold all products, each once.
  std::vector<PairSums::Pair> pairs(std::size_t n_input) const;
};
DeviceKernel device_kernel(Strategy strategy, std::size_t n_input);

/// Whether products are worth a device, and why or why not. `on_device`: the samples are there already.
struct DeviceVerdict {
  bool is_worth_it = false;
  std::string reason;
};
DeviceVerdict judge_device(const memory::Device& device, const SampleFormat& format, std::size_t n_channel,
                           std::size_t n_input, double n_time, std::size_t n_thread);

class DeviceProducts final : public SummedProducts {
 public:
  /// Each device forms a part of the products. Throws memory::OutOfMemory where not even a few samples fit, and Error
  /// where the strategy cannot take the format or the number of inputs.
  DeviceProducts(std::span<DeviceContext* const> devices, const SampleFormat& format, std::size_t n_channel,
                 std::size_t n_input, Strategy strategy, ThreadPool& threads);
  ~DeviceProducts() override;

  /// Samples on a device are taken where that is the only one.
  void add(const SampleView& samples, const SampleMask* mask = nullptr, DeviceContext* where = nullptr) override;
  const ProductSums& sums() override;
  void clear() override;
  /// Times that go to a device together.
  std::size_t portion() const { return portion_; }

 private:
  class Lane;
  SampleFormat format_;
  DeviceKernel kernel_;
  ThreadPool& threads_;
  ProductSums sums_;
  std::size_t portion_ = 0;
  std::vector<std::unique_ptr<Lane>> lanes_;
  bool are_down_ = true;  ///< the sums of all devices
};

}  // namespace rimetree::correlator
