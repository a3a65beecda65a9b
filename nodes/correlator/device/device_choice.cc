// What of the correlator runs on a device, and by which kernel.
#include <cstdio>

#include "nodes/correlator/device/device_products.h"
#include "nodes/correlator/device/product_launch.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {

namespace {

/// Blocks of `down` inputs i by `across` inputs j of which some product is wanted.
std::vector<PairSums::Pair> blocks(std::size_t n_input, std::size_t down, std::size_t across) {
  std::vector<PairSums::Pair> found;
  for (std::size_t i = 0; i * down < n_input; ++i)
    for (std::size_t j = 0; j * across < std::min(n_input, (i + 1) * down); ++j)
      found.push_back({static_cast<std::int32_t>(i), static_cast<std::int32_t>(j)});
  return found;
}

/// Small tiles waste little of few inputs; large ones read each sample less often, which many inputs need.
TileVariant tile_variant(std::size_t n_input) {
  if (n_input <= 32) return kTileVariants[0];
  return n_input < 512 ? kTileVariants[1] : kTileVariants[2];
}

}  // namespace

std::vector<PairSums::Pair> DeviceKernel::pairs(std::size_t n_input) const {
  if (turned == Turned::nibbles) return blocks(n_input, kPackedTile, kPackedTile);
  if (turned == Turned::channels)
    return blocks(n_input, static_cast<std::size_t>(group), static_cast<std::size_t>(group));
  return blocks(n_input, std::size_t{32} * static_cast<std::size_t>(variant.down),
                std::size_t{32} * static_cast<std::size_t>(variant.across));
}

DeviceKernel device_kernel(Strategy strategy, std::size_t n_input) {
  DeviceKernel kernel;
  kernel.group = static_cast<std::int32_t>(group_of(strategy));
  switch (strategy) {
    case Strategy::automatic:
    case Strategy::bytes:
      kernel.variant = tile_variant(n_input);
      kernel.name = "8-bit matrix units, tiles of " + std::to_string(32 * kernel.variant.down) + " by " +
                    std::to_string(32 * kernel.variant.across) + " inputs";
      break;
    case Strategy::packed:
      kernel.turned = Turned::nibbles;
      kernel.name = "two products in one word";
      break;
    case Strategy::groups2:
    case Strategy::groups4:
      kernel.turned = Turned::channels;
      kernel.is_shared = true;
      kernel.name = "groups of " + std::to_string(kernel.group);
      break;
    case Strategy::hybrid2:
    case Strategy::hybrid4:
      kernel.turned = Turned::channels;
      kernel.name = "hybrid groups of " + std::to_string(kernel.group);
      break;
    case Strategy::pairs:
      kernel.turned = Turned::channels;
      kernel.name = "pairs";
      break;
  }
  return kernel;
}

DeviceVerdict judge_device(const memory::Device& device, const SampleFormat& format, std::size_t n_channel,
                           std::size_t n_input, double n_time, std::size_t n_thread) {
  if (!has_launcher<TileJob>(device)) return {false, "the plugin for GPUs has no correlator"};
  if (device.is_emulated()) return {true, "emulated devices take what they are given"};
  // Fixed numbers, so that the same input takes the same way on every run: a core of the host with 16-bit products; a
  // connection that a device is fed through; what a launch and a copy take at the least.
  constexpr double kCoreOperations = 1e11, kFedBytes = 2e10, kLeast_s = 1e-4;
  const double inputs = double(n_input), samples = double(n_channel) * n_time,
               host_s = 4 * inputs * (inputs + 1) * samples / kCoreOperations / double(n_thread),
               device_s = kLeast_s + samples * inputs * format.bytes / kFedBytes;
  char text[160];
  std::snprintf(text, sizeof text, "an integration is expected to take %.2g s there and %.2g s on the host", device_s,
                host_s);
  return {device_s < host_s, text};
}

}  // namespace rimetree::correlator
