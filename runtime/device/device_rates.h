// What the arithmetic units of a device can do, for who plans work on it.
#pragma once

#include <string>

#include "memory/device.h"

namespace rimetree {

/// Multiply-adds per second at most; 0 where there are none.
struct DeviceRates {
  double double_plain = 0, single_plain = 0;
  double double_tensor = 0;  ///< matrix units
  double tf32_tensor = 0;    ///< m16n8k8, of which single precision takes three
};

/// Of a GPU by its compute capability, number of multiprocessors and clock.
DeviceRates gpu_rates(int major, int minor, int multiprocessors, double clock_hz);

/// Of the device; of an emulated one those of an H200, so that it takes what that would take.
DeviceRates rates_of(const memory::Device& device);
/// How rates_of() finds those of GPUs: brought by the plugin for them.
void set_gpu_rates(DeviceRates (*rates)(const memory::Device& device));

}  // namespace rimetree
