#include "runtime/core/threads/thread_limit.h"

#include <sched.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <string_view>
#include <thread>

#include "runtime/core/error.h"

namespace rimetree {
namespace {

/// A positive number at the beginning of the text, up to its end or, of a list, up to a comma.
std::optional<int> positive_number(std::string_view text, bool list) {
  const auto first = text.find_first_not_of(" \t");
  if (first == text.npos) return std::nullopt;
  int value = 0;
  const auto [end, error] = std::from_chars(text.data() + first, text.data() + text.size(), value);
  if (error != std::errc() || value < 1) return std::nullopt;
  std::string_view rest(end, static_cast<std::size_t>(text.data() + text.size() - end));
  if (list) rest = rest.substr(0, rest.find(','));
  if (rest.find_first_not_of(" \t") != rest.npos) return std::nullopt;
  return value;
}

int affinity_cores() {
  // Sets of the default size end at 1024 processors; a larger machine says EINVAL until the set is large enough.
  for (int processors = CPU_SETSIZE; processors <= 1 << 18; processors *= 4) {
    cpu_set_t* set = CPU_ALLOC(static_cast<std::size_t>(processors));
    if (set == nullptr) break;
    const std::size_t bytes = CPU_ALLOC_SIZE(static_cast<std::size_t>(processors));
    const int cores = sched_getaffinity(0, bytes, set) == 0 ? CPU_COUNT_S(bytes, set) : 0;
    CPU_FREE(set);
    if (cores > 0) return cores;
  }
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

std::string first_line(const std::string& path) {
  std::ifstream stream(path);
  std::string line;
  std::getline(stream, line);
  return line;
}

/// Version 2: "max 100000" or "<quota> <period>".
std::optional<double> cores_of_max(const std::string& folder) {
  std::istringstream stream(first_line(folder + "/cpu.max"));
  double quota = 0, period = 0;
  if (!(stream >> quota >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// Version 1: a quota of -1 is none.
std::optional<double> cores_of_quota(const std::string& folder) {
  std::istringstream quota_text(first_line(folder + "/cpu.cfs_quota_us"));
  std::istringstream period_text(first_line(folder + "/cpu.cfs_period_us"));
  double quota = 0, period = 0;
  if (!(quota_text >> quota) || !(period_text >> period) || quota <= 0 || period <= 0) return std::nullopt;
  return quota / period;
}

/// The least along `path` and all groups above it, up to the mount point: a limit holds for all below. Inside a
/// container the path is often not there, but the mount point is then the container's own group.
template <class Read>
void take_least(std::optional<double>& least, const std::string& mount, std::string path, Read&& read) {
  for (;;) {
    if (const auto cores = read(mount + (path == "/" ? "" : path))) least = least ? std::min(*least, *cores) : *cores;
    if (path.empty() || path == "/") return;
    path.erase(path.find_last_of('/'));
  }
}

}  // namespace

std::optional<double> control_group_cores(const std::string& root) {
  std::optional<double> least;
  std::ifstream groups(root + "/proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {  // "number:controllers:path"
    const auto first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1), path = line.substr(second + 1);
    if (controllers.empty()) {
      take_least(least, root + "/sys/fs/cgroup", path, cores_of_max);
    } else if (("," + controllers + ",").find(",cpu,") != std::string::npos) {
      take_least(least, root + "/sys/fs/cgroup/" + controllers, path, cores_of_quota);
      take_least(least, root + "/sys/fs/cgroup/cpu", path, cores_of_quota);
    }
  }
  return least;
}

int available_cores() {
  const int cores = affinity_cores();
  const auto granted = control_group_cores();
  if (!granted || *granted >= cores) return cores;
  return std::max(1, static_cast<int>(std::ceil(*granted)));
}

int default_threads() {
  if (const char* text = std::getenv("RIMETREE_NUM_THREADS"); text != nullptr && *text != '\0') {
    if (const auto threads = positive_number(text, false)) return *threads;
    throw Error("the environment variable RIMETREE_NUM_THREADS is \"" + std::string(text) +
                "\"; expected a number of threads, 1 or more");
  }
  if (const char* text = std::getenv("OMP_NUM_THREADS"); text != nullptr)
    if (const auto threads = positive_number(text, true)) return *threads;
  return available_cores();
}

}  // namespace rimetree
