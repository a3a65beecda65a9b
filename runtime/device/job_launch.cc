#include "runtime/device/job_launch.h"

#include <map>
#include <mutex>
#include <string>

namespace rimetree::job_detail {

namespace {

std::mutex mutex;
std::map<std::type_index, AnyLauncher>& launchers() {
  static std::map<std::type_index, AnyLauncher> all;
  return all;
}

}  // namespace

void add_launcher(std::type_index job, AnyLauncher launcher) {
  const std::lock_guard lock(mutex);
  launchers()[job] = launcher;
}

AnyLauncher find_launcher(std::type_index job) {
  const std::lock_guard lock(mutex);
  const auto it = launchers().find(job);
  return it == launchers().end() ? nullptr : it->second;
}

void throw_no_launcher(const memory::Device& device, std::type_index job) {
  throw std::logic_error("no kernel for " + device.name() + " (" + job.name() + ")");
}

}  // namespace rimetree::job_detail
