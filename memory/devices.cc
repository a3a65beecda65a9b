#include "memory/devices.h"

#include <charconv>
#include <map>
#include <mutex>
#include <optional>
#include <stdexcept>

#include "memory/host_device.h"
#include "memory/simulated_device.h"

namespace rimetree::memory {

namespace {

constexpr std::size_t kSimulatedBytes = std::size_t{1} << 30;

std::mutex kinds_mutex;

std::map<std::string, DeviceKind>& kinds() {
  static std::map<std::string, DeviceKind> all;
  return all;
}

// The number after the colon; `otherwise` where there is none.
std::optional<std::size_t> number_in(const std::string& name, std::size_t colon, std::size_t otherwise) {
  if (colon == std::string::npos) return otherwise;
  std::size_t value = 0;
  const char *begin = name.data() + colon + 1, *end = name.data() + name.size();
  const auto [last, error] = std::from_chars(begin, end, value);
  if (error != std::errc() || last != end) return std::nullopt;
  return value;
}

std::vector<std::string> names_without_lock() {
  std::vector<std::string> names;
  for (const auto& [name, kind] : kinds())
    for (int i = 0, n = kind.count(); i < n; ++i) names.push_back(name + ":" + std::to_string(i));
  return names;
}

}  // namespace

void add_device_kind(DeviceKind kind) {
  const std::lock_guard lock(kinds_mutex);
  kinds()[kind.name] = std::move(kind);
}

std::vector<std::string> device_names() {
  const std::lock_guard lock(kinds_mutex);
  return names_without_lock();
}

std::shared_ptr<Device> open_device(const std::string& name) {
  const std::lock_guard lock(kinds_mutex);
  const std::size_t colon = name.find(':');
  const std::string kind = name.substr(0, colon);
  if (name == "host") return {&host(), [](Device*) {}};
  if (kind == "simulated")
    if (const auto bytes = number_in(name, colon, kSimulatedBytes)) return std::make_shared<SimulatedDevice>(*bytes);
  if (const auto it = kinds().find(kind); it != kinds().end()) {
    const auto number = number_in(name, colon, 0);
    if (number && *number < static_cast<std::size_t>(std::max(0, it->second.count())))
      return it->second.open(static_cast<int>(*number));
  }
  std::string known;
  for (const std::string& one : names_without_lock()) known += one + ", ";
  std::string why;
  for (const auto& [one, brought] : kinds())
    if (brought.why_none && brought.count() == 0) why += " (" + one + ": " + brought.why_none() + ")";
  throw std::invalid_argument("there is no device \"" + name + "\"; there are " + known +
                              "host, simulated and simulated:BYTES" + (known.empty() ? ", and no GPU" : "") + why);
}

}  // namespace rimetree::memory
