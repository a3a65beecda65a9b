#include "runtime/device/device_rates.h"

#include <array>

namespace rimetree {
namespace {

DeviceRates (*rates_of_gpu)(const memory::Device&) = nullptr;

/// Multiply-adds per clock and multiprocessor: CUDA C++ Programming Guide, "Arithmetic instructions", for plain ones;
/// NVIDIA's architecture white papers for dense products on matrix units. Where matrix units do not support a type the
/// rate is 0; where they emulate it, it is that of plain multiply-adds.
struct PerClock {
  int major, minor;
  double double_plain, single_plain, double_tensor, tf32_tensor;
};
constexpr std::array<PerClock, 8> kPerClock = {{{7, 5, 2, 64, 0, 0},
                                                {8, 0, 32, 64, 64, 512},
                                                {8, 6, 2, 128, 2, 128},
                                                {8, 9, 2, 128, 2, 128},
                                                {9, 0, 64, 128, 128, 1024},
                                                {10, 0, 64, 128, 64, 1024},
                                                {10, 3, 2, 128, 2, 1024},
                                                {12, 0, 2, 128, 2, 128}}};

}  // namespace

DeviceRates gpu_rates(int major, int minor, int multiprocessors, double clock_hz) {
  // The newest known one that is not newer.
  const PerClock* found = &kPerClock.front();
  for (const PerClock& one : kPerClock)
    if (one.major < major || (one.major == major && one.minor <= minor)) found = &one;
  const double clocks = multiprocessors * clock_hz;
  return {clocks * found->double_plain, clocks * found->single_plain, clocks * found->double_tensor,
          clocks * found->tf32_tensor};
}

DeviceRates rates_of(const memory::Device& device) {
  constexpr int kMultiprocessors = 132;
  constexpr double kClock_hz = 1.98e9;
  if (device.is_emulated() || rates_of_gpu == nullptr) return gpu_rates(9, 0, kMultiprocessors, kClock_hz);
  return rates_of_gpu(device);
}

void set_gpu_rates(DeviceRates (*rates)(const memory::Device&)) { rates_of_gpu = rates; }

}  // namespace rimetree
