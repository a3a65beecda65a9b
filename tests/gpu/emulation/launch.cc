// Launches are held to CUDA's limits (CUDA C++ programming guide, technical specifications per compute capability) and
// counted: RIMETREE_EMULATION_REPORT names a file that a line with the numbers of launches and of kernels is added to.
#include "tests/gpu/emulation/launch.h"

#include <cstdio>
#include <cstdlib>
#include <map>

#include "tests/gpu/emulation/block.h"
#include "tests/gpu/emulation/device_memory.h"
#include "tests/gpu/emulation/settings.h"
#include "tests/gpu/emulation/streams.h"

namespace rimetree::emulation {

namespace {

constexpr std::size_t kSharedUnasked = std::size_t{48} << 10;
constexpr std::size_t kMostParameters = 32764;  // of CUDA 12.1 and later, on sm_70 and newer
constexpr std::size_t kMostThreads = 1024;
constexpr unsigned kMostBlocksAlongX = 2147483647, kMostBlocksElsewhere = 65535, kMostThreadsAlongZ = 64;

/// How often each kernel was launched. Written down when the program ends.
class Counts {
 public:
  ~Counts() {
    const char* const name = std::getenv("RIMETREE_EMULATION_REPORT");
    if (name == nullptr) return;
    std::FILE* const report = std::fopen(name, "a");
    if (report == nullptr) return;
    long total = 0;
    for (const auto& [kernel, count] : counts_) total += count;
    std::fprintf(report, "%ld launches of %zu kernels\n", total, counts_.size());
    std::fclose(report);
  }
  void add(const void* kernel) { ++counts_[kernel]; }

 private:
  std::map<const void*, long> counts_;
};

/// Dynamic shared memory that kernels were allowed by cudaFuncSetAttribute().
std::map<const void*, std::size_t>& allowed_shared() {
  static std::map<const void*, std::size_t> bytes;
  return bytes;
}

/// What is wrong with a launch; null if nothing is.
const char* why_not(const Launch& launch, const Stream* stream) {
  const auto& [grid, block, shared_bytes, handle] = launch.shape;
  const std::size_t threads = std::size_t{block.x} * block.y * block.z;
  if (grid.x == 0 || grid.y == 0 || grid.z == 0 || threads == 0) return "a launch of no blocks or threads";
  if (grid.x > kMostBlocksAlongX || grid.y > kMostBlocksElsewhere || grid.z > kMostBlocksElsewhere)
    return "a launch of too many blocks";
  if (threads > kMostThreads || block.z > kMostThreadsAlongZ) return "a launch of too many threads in a block";
  if (shared_bytes > kSharedUnasked && shared_bytes > allowed_shared()[launch.kernel])
    return "a launch with more shared memory than was asked for";
  if (launch.parameter_bytes > kMostParameters) return "a launch with too many parameters";
  if (stream == nullptr) return "a launch on the default stream, or on none";
  if (stream->device() != current_device()) return "a launch on a stream of another device";
  return nullptr;
}

}  // namespace

void enqueue(Launch launch) {
  const std::lock_guard lock(device_mutex());
  static Counts counts;
  Stream* const stream = find_stream(launch.shape.stream);
  if (const char* const why = why_not(launch, stream)) {
    refuse(cudaErrorInvalidConfiguration, why);
    return;
  }
  counts.add(launch.kernel);
  stream->add([launch = std::move(launch)] {
    const DeviceMemory::Open open;
    run_blocks(launch);
  });
}

}  // namespace rimetree::emulation

/// Of all attributes only the one that allows a kernel more dynamic shared memory.
extern "C" cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  using namespace rimetree::emulation;
  const std::lock_guard lock(device_mutex());
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      static_cast<std::size_t>(value) > settings().shared_bytes)
    return refuse(cudaErrorInvalidValue, "cudaFuncSetAttribute");
  allowed_shared()[kernel] = static_cast<std::size_t>(value);
  return cudaSuccess;
}
