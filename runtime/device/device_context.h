// A device that evaluations may use: its queues, what stays on it between evaluations, and what that has cost.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "memory/device.h"
#include "memory/device_block.h"

namespace rimetree {

class Forest;

/// What a device has been used for since the evaluator was made.
struct DeviceReport {
  std::string name;
  std::uint64_t budget_bytes = 0;
  memory::ResidencyStatistics arrays;
  std::uint64_t bytes_to_device = 0, bytes_to_host = 0;
  double copy_seconds = 0;
};

class DeviceContext {
 public:
  /// `budget_bytes`: what may be taken of the device's memory; 0: four fifths of what is free now.
  explicit DeviceContext(std::shared_ptr<memory::Device> device, std::size_t budget_bytes = 0);
  ~DeviceContext();

  memory::Device& device() const { return *shared_->device_; }
  /// Kernels, and the memory and copies of resident arrays.
  memory::Queue& compute() { return *shared_->compute_; }
  /// Copies to and from the device while other work is computed.
  memory::Queue& up() { return *up_; }
  memory::Queue& down() { return *down_; }
  /// So many queues beside each other.
  static constexpr std::size_t kBeside = 3;
  /// For kernels that may run at the same time as others: what begins fills the multiprocessors that what ends leaves.
  memory::Queue& beside(std::size_t i) { return *beside_[i % kBeside]; }
  memory::ResidentArrays& arrays() { return *shared_->arrays_; }
  memory::StagingPool& staging() { return shared_->staging_; }
  /// Results that were made here: they may outlive the context.
  std::shared_ptr<memory::DeviceBlock> make_block(std::size_t bytes) {
    return std::make_shared<memory::DeviceBlock>(shared_, bytes);
  }
  DeviceReport report() const;

 private:
  /// What results on the device need as long as somebody has them.
  struct Shared final : memory::BlockSource {
    explicit Shared(std::shared_ptr<memory::Device> device);
    memory::ResidentArrays& arrays() override { return *arrays_; }
    memory::StagingPool& staging() override { return staging_; }
    std::shared_ptr<memory::Device> device_;
    memory::StagingPool staging_;
    std::unique_ptr<memory::Queue> compute_;
    std::unique_ptr<memory::ResidentArrays> arrays_;
  };
  memory::DeviceStatistics before_;  // what others had done to the device
  std::shared_ptr<Shared> shared_;
  std::unique_ptr<memory::Queue> up_, down_, beside_[kBeside];
};
using DeviceContexts = std::vector<std::unique_ptr<DeviceContext>>;

/// Which devices to use: names as of memory::open_device with commas between them, "auto" (all real ones), or "" or
/// "none" (the host only).
struct DeviceChoice {
  std::string devices;
  std::size_t budget_bytes = 0;  ///< on each; 0: four fifths of what is free
  friend bool operator==(const DeviceChoice&, const DeviceChoice&) = default;
};

/// What the forest's DeviceMemory node says; without one, `otherwise`; if that is empty, the environment variable
/// RIMETREE_DEVICE. Throws Error if several DeviceMemory nodes disagree.
DeviceChoice device_choice(const Forest& forest, const DeviceChoice& otherwise);

/// Throws Error naming the devices that there are.
DeviceContexts open_devices(const DeviceChoice& choice);

}  // namespace rimetree
