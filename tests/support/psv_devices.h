// Devices for tests of what PSV does on them.
#pragma once

#include <cstdlib>
#include <memory>
#include <vector>

#include "memory/simulated_device.h"
#include "runtime/device_context.h"
#include "runtime/thread_pool.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::testing {

struct PsvDevices {
  /// Those that RIMETREE_DEVICE names; without it a simulated one.
  static PsvDevices chosen() {
    test::registry();  // the plugin for GPUs
    const char* names = std::getenv("RIMETREE_DEVICE");
    PsvDevices devices(0, 0);
    if (names != nullptr) devices.contexts = open_devices({names, 0});
    if (devices.contexts.empty()) devices.contexts = open_devices({"simulated", 0});
    return devices;
  }
  /// `n` simulated ones.
  explicit PsvDevices(std::size_t capacity = std::size_t{1} << 28, std::size_t n = 1, std::size_t budget = 0) {
    for (std::size_t i = 0; i < n; ++i) {
      simulated.push_back(std::make_shared<memory::SimulatedDevice>(capacity));
      contexts.push_back(std::make_unique<DeviceContext>(simulated.back(), budget));
    }
  }
  std::vector<std::shared_ptr<memory::SimulatedDevice>> simulated;
  DeviceContexts contexts;
  std::unique_ptr<ThreadPool> threads = std::make_unique<ThreadPool>(1);
};

}  // namespace rimetree::testing
