#include "runtime/device/device_context.h"

#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "memory/devices.h"
#include "runtime/core/error.h"
#include "runtime/core/forest/forest.h"

namespace rimetree {

DeviceContext::Shared::Shared(std::shared_ptr<memory::Device> device)
    : device_(std::move(device)), staging_(*device_), compute_(device_->make_queue()) {}

DeviceContext::DeviceContext(std::shared_ptr<memory::Device> device, std::size_t budget_bytes)
    : before_(device->statistics()),
      shared_(std::make_shared<Shared>(device)),
      up_(device->make_queue()),
      down_(device->make_queue()) {
  for (auto& queue : beside_) queue = device->make_queue();
  if (budget_bytes == 0) budget_bytes = device->free_bytes() / 5 * 4;
  shared_->arrays_ = std::make_unique<memory::ResidentArrays>(compute(), budget_bytes);
}

DeviceContext::~DeviceContext() = default;

DeviceReport DeviceContext::report() const {
  const memory::DeviceStatistics now = shared_->device_->statistics();
  return {shared_->device_->name(),
          shared_->arrays_->budget_bytes(),
          shared_->arrays_->statistics(),
          now.bytes_to_device - before_.bytes_to_device,
          now.bytes_to_host - before_.bytes_to_host,
          now.copy_seconds - before_.copy_seconds};
}

DeviceChoice device_choice(const Forest& forest, const DeviceChoice& otherwise) {
  const Node* found = nullptr;
  DeviceChoice choice;
  for (std::size_t i = 0; i < forest.size(); ++i) {
    const Node& node = forest.node(static_cast<int>(i));
    const DeviceChoice* said = node.capabilities().devices;
    if (said == nullptr) continue;
    if (found != nullptr && !(*said == choice))
      throw Error("DeviceMemory nodes \"" + found->name() + "\" (" + found->origin() + ") and \"" + node.name() +
                  "\" (" + node.origin() + ") say different things; a forest needs only one");
    found = &node;
    choice = *said;
  }
  if (found != nullptr) return choice;
  if (!otherwise.devices.empty()) return otherwise;
  const char* environment = std::getenv("RIMETREE_DEVICE");
  return {environment != nullptr ? environment : "", otherwise.budget_bytes};
}

DeviceContexts open_devices(const DeviceChoice& choice) {
  DeviceContexts contexts;
  if (choice.devices.empty() || choice.devices == "none") return contexts;
  std::vector<std::string> names;
  if (choice.devices == "auto") {
    names = memory::device_names();
  } else {
    std::istringstream list(choice.devices);
    for (std::string name; std::getline(list, name, ',');) names.push_back(name);
  }
  for (const std::string& name : names) try {
      contexts.push_back(std::make_unique<DeviceContext>(memory::open_device(name), choice.budget_bytes));
    } catch (const std::exception& error) {
      throw Error("device \"" + name + "\" cannot be used: " + error.what());
    }
  return contexts;
}

}  // namespace rimetree
