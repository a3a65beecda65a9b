// Where batches are evaluated: on a device if they can be and it is worth it, else on the host; see placement.cc.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "runtime/device/device_context.h"
#include "runtime/device/device_path.h"
#include "runtime/evaluate/plan.h"

namespace rimetree {

/// When a batch whose inputs are all on the host is evaluated on a device all the same, if its class can be. One that
/// has an input on a device is evaluated there in any case. What decides is the same in every run: so are the bits.
struct PlacementRule {
  /// Fewer numbers than this are computed on the host faster than a launch and its copies are on their way.
  std::size_t least_values = 16384;
  /// Only where the inputs take no more memory than the results.
  bool weigh_bytes = true;
};

class Placement {
 public:
  /// Nothing: PlacementRule's defaults on devices, and whatever can be on emulated ones, which are there for tests.
  explicit Placement(std::optional<PlacementRule> rule) : rule_(rule) {}

  /// Opens devices; those that were open are closed before. Throws Error naming the devices that there are.
  void open(const DeviceChoice& choice);
  const DeviceChoice& choice() const { return choice_; }
  const DeviceContexts& devices() const { return devices_; }
  bool has_devices() const { return !devices_.empty(); }
  PlacementRule rule(const DeviceContext& device) const;

  /// The device for evaluations of one batch, and what its nodes do there; nullptr: the host. `wanted`: whether
  /// somebody wants the results there, or has asked for them.
  DeviceContext* choose(std::span<Evaluation* const> batch, bool wanted, std::vector<DevicePlan>& plans) const;
  /// As choose(), for evaluations of which is known what they would do there, by recorded programs.
  DeviceContext* choose_for(std::span<Evaluation* const> batch, bool wanted, std::span<const DevicePlan> plans) const;
  /// Whether a batch would be evaluated on a device for its size, if all its inputs were on the host.
  bool is_expected_on_device(const Forest& forest, const Plan& plan, const Batch& batch, const CellShape& cells) const;

 private:
  DeviceContext* device_for(std::span<Evaluation* const> batch, bool wanted, std::span<const DevicePlan> plans) const;
  bool is_worth_a_launch(const DeviceContext& device, std::span<Evaluation* const> batch,
                         std::span<const DevicePlan> plans) const;

  std::optional<PlacementRule> rule_;
  DeviceChoice choice_;
  DeviceContexts devices_;
};

/// Whether some consumer of some of the nodes can read their results on a device.
bool feed_devices(const Plan& plan, std::span<const int> nodes);

}  // namespace rimetree
