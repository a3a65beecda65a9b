#include "nodes/psv/part_of_sky.h"

#include <algorithm>

namespace rimetree::psv {

Sky<double> part_of_sky(const Sky<double>& sky, std::size_t begin, std::size_t end) {
  Sky<double> part;
  part.n_source = end - begin;
  part.n_point = std::clamp(sky.n_point, begin, end) - begin;
  part.planes = sky.planes;
  part.n_weight_channel = sky.n_weight_channel;
  part.total_flux = sky.total_flux;
  const auto copy = [](const auto& from, std::size_t first, std::size_t last, auto& to) {
    to.assign(from.begin() + static_cast<std::ptrdiff_t>(first), from.begin() + static_cast<std::ptrdiff_t>(last));
  };
  copy(sky.l, begin, end, part.l), copy(sky.m, begin, end, part.m);
  copy(sky.n_high, begin, end, part.n_high), copy(sky.n_low, begin, end, part.n_low);
  copy(sky.order, begin, end, part.order);
  const auto first_shape = std::max(begin, sky.n_point) - sky.n_point;
  copy(sky.axes, first_shape, first_shape + part.n_source - part.n_point, part.axes);
  const std::size_t n_plane = sky.planes.size(), each = n_plane * sky.n_weight_channel;
  copy(sky.weights, begin * each, end * each, part.weights);
  part.weights.resize(part.weights.size() + kTileChannels * n_plane, 0.0);  // as pack_sky does
  if (!sky.tangent_weights.empty()) copy(sky.tangent_weights, begin * each, end * each, part.tangent_weights);
  if (!sky.relative_weights.empty()) copy(sky.relative_weights, begin * n_plane, end * n_plane, part.relative_weights);
  for (SourceBlock block : sky.blocks) {
    block.begin = std::clamp(block.begin, begin, end) - begin;
    block.end = std::clamp(block.end, begin, end) - begin;
    if (block.begin < block.end) part.blocks.push_back(block);
  }
  for (std::size_t s = 0; s < part.n_source; ++s) part.extent.include(part.l[s], part.m[s], part.n_high[s]);
  return part;
}

Sky<double> part_of_band(const Sky<double>& sky, std::size_t begin, std::size_t end) {
  if (sky.n_weight_channel == 1) return sky;
  const std::size_t n_plane = sky.planes.size(), n_channel = end - begin;
  const auto copy = [&](const std::vector<double>& from, std::vector<double>& to, std::size_t padding) {
    if (from.empty()) return;
    to.reserve(sky.n_source * n_channel * n_plane + padding);
    for (std::size_t s = 0; s < sky.n_source; ++s) {
      const double* const first = from.data() + (s * sky.n_weight_channel + begin) * n_plane;
      to.insert(to.end(), first, first + n_channel * n_plane);
    }
    to.resize(to.size() + padding, 0.0);
  };
  Sky<double> part;
  part.n_source = sky.n_source, part.n_point = sky.n_point;
  part.l = sky.l, part.m = sky.m, part.n_high = sky.n_high, part.n_low = sky.n_low;
  part.axes = sky.axes, part.order = sky.order, part.blocks = sky.blocks, part.planes = sky.planes;
  part.extent = sky.extent, part.total_flux = sky.total_flux;
  part.n_weight_channel = n_channel;
  copy(sky.weights, part.weights, kTileChannels * n_plane);  // as pack_sky does
  copy(sky.tangent_weights, part.tangent_weights, 0);
  return part;
}

}  // namespace rimetree::psv
