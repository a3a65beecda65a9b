// Skies and channels as the kernel for devices reads them.
#pragma once

#include <vector>

#include "nodes/psv/pipeline/arrays.h"

namespace rimetree::psv::pipeline {

/// Sources [begin, end) of the packed sky.
std::vector<DeviceSource> device_sources(const Sky<double>& sky, std::size_t begin, std::size_t end);

/// Their weights as T, [source][channel or one][plane]. Eight planes come in the order of the correlations.
template <class T>
std::vector<T> device_weights(const Sky<double>& sky, std::size_t begin, std::size_t end);

/// Their brightness where Jones terms follow, [source][XX XY YX YY]; it must not vary along channels.
template <class T>
std::vector<Complex<T>> device_brightness(const Sky<double>& sky, std::size_t begin, std::size_t end);

struct DeviceChannels {
  std::vector<DeviceRun> runs;
  std::vector<DeviceChannel> channels;
  int tiles = 1;  ///< see DirectJob
  bool regular = true, residual = false;
};
/// Regular runs where the channels are regular enough for paths up to `reach_m` metres, else runs of any channels.
/// `smeared`: over their widths.
DeviceChannels device_channels(const Channels& channels, double reach_m, bool smeared);

}  // namespace rimetree::psv::pipeline
