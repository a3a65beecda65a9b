#include "nodes/psv/pipeline/device_sky.h"

#include <algorithm>

namespace rimetree::psv::pipeline {

double reach_of(const Sky<double>& sky, const Rows& rows) {
  double reach = 0;
  for (std::size_t r = 0; r < rows.n_row; ++r)
    reach = std::max(reach, sky.extent.bound(rows.u[r], rows.v[r], rows.w[r]));
  return reach;
}

PackedProblem::PackedProblem(const Summed& of, DeviceChannels channels_as_cut)
    : jones(jones_chains(of.jones, of.rows, of.n_channel())),
      weights_per_source(jones.empty() ? of.sky.n_weight_channel * of.sky.planes.size() : 0),
      channels(std::move(channels_as_cut)),
      left_axes(jones.left.axes) {
  if (!jones.empty())
    left_axes.n_channel = std::max(left_axes.n_channel, static_cast<std::int32_t>(of.sky.n_weight_channel));
}

template <class T>
DeviceCosts PackedProblem::costs(const Summed& of) const {
  DeviceCosts costs;
  costs.n_source = of.sky.n_source;
  costs.n_row = of.rows.n_row;
  costs.n_channel = channels.channels.size();
  costs.fixed = channels.runs.size() * sizeof(DeviceRun) + costs.n_channel * sizeof(DeviceChannel);
  costs.source = sizeof(DeviceSource) + weights_per_source * sizeof(T);
  if (brightness_apart()) costs.source += 4 * sizeof(Complex<T>);
  for (const bool right : {false, true})
    (axes_of(right).n_channel > 1 ? costs.source_channel : costs.source) +=
        jones.of(right).chains.size() * static_cast<std::size_t>(axes_of(right).n_time) * 4 * sizeof(Complex<T>);
  costs.visibility = 4 * sizeof(Complex<double>);
  for (const DeviceRun& run : channels.runs)
    costs.longest_run = std::max(costs.longest_run, static_cast<std::size_t>(run.count));
  return costs;
}

template <class T>
DeviceJones<T> DeviceSky<T>::jones_side(bool right, const ProductRange& range, Handle& handle) {
  const JonesAxes& axes = packed_.axes_of(right);
  const std::vector<Complex<T>> values =
      products_of<T>(packed_.jones, right, !right && !packed_.brightness_apart(), axes, of_.sky, range, threads_);
  handle = resident(right ? DeviceRole::kRight : DeviceRole::kLeft, range.source_begin, values);
  DeviceJones<T> side;
  side.value = handle.template as<const Complex<T>>();
  side.count = static_cast<std::int64_t>(values.size());
  const auto channel = static_cast<std::int64_t>(4 * (range.source_end - range.source_begin));
  const std::int64_t time = axes.n_channel > 1 ? channel * range.n_channel : channel;
  side.channel = axes.n_channel > 1 ? channel : 0;
  side.time = axes.n_time > 1 ? time : 0;
  side.product = time * axes.n_time;
  return side;
}

template <class T>
const SourceArrays<T>& DeviceSky<T>::sources(const ProductRange& range) {
  const std::size_t begin = range.source_begin, end = range.source_end;
  const std::pair name(begin, packed_.jones_vary() ? range.first_channel : 0);
  const auto known = sources_.find(name);
  if (known != sources_.end()) return known->second;
  if (!keep_) sources_.clear();
  SourceArrays<T> arrays;
  arrays.sources = resident(DeviceRole::kSources, of_.version.places, begin, end,
                            [&] { return device_sources(of_.sky, begin, end); });
  if (packed_.jones.empty()) {
    arrays.weights = resident(DeviceRole::kWeights, of_.version.fluxes, begin, end,
                              [&] { return device_weights<T>(of_.sky, begin, end); });
  } else {
    arrays.left = jones_side(false, range, arrays.left_values);
    arrays.right = jones_side(true, range, arrays.right_values);
    if (packed_.brightness_apart())
      arrays.brightness = resident(DeviceRole::kBrightness, of_.version.fluxes, begin, end,
                                   [&] { return device_brightness<T>(of_.sky, begin, end); });
  }
  return sources_.emplace(name, std::move(arrays)).first->second;
}

template <class T>
const SourceArrays<T>& DeviceSky<T>::fill(SumJob<T>& job, std::size_t begin, std::size_t end, const RunRange& channels,
                                          std::int32_t jones_planes) {
  const SourceArrays<T>& arrays = sources({begin, end, channels.first_channel, channels.count});
  const bool jones = !packed_.jones.empty();
  job.source = arrays.sources.template as<const DeviceSource>();
  if (arrays.weights) job.weight = arrays.weights.template as<const T>();
  job.left = arrays.left, job.right = arrays.right;
  job.run = runs_.template as<const DeviceRun>() + channels.begin;
  job.channel = channels_.template as<const DeviceChannel>();
  job.n_source = static_cast<std::int32_t>(end - begin);
  job.n_run = static_cast<std::int32_t>(channels.end - channels.begin);
  job.n_channel = static_cast<std::int32_t>(packed_.channels.channels.size());
  job.first_channel = channels.first_channel, job.n_out_channel = channels.count;
  job.n_weight_channel = jones ? 1 : static_cast<std::int32_t>(of_.sky.n_weight_channel);
  job.n_plane = job.n_weight_plane = jones ? jones_planes : static_cast<std::int32_t>(of_.sky.planes.size());
  if (!jones && job.n_plane <= 4) std::copy(of_.sky.planes.begin(), of_.sky.planes.end(), job.plane);
  return arrays;
}

template <class T>
void SkyMethod<T>::open(DeviceSpan devices, const DeviceChunks& chunks, bool channels_are_cut) {
  chunk_sources_ = chunks.sources;
  const bool keep = chunks.sources >= of_.sky.n_source && !(channels_are_cut && packed_.jones_vary());
  skies_.clear();
  for (const auto& device : devices)
    skies_.push_back(std::make_unique<DeviceSky<T>>(of_, packed_, *device, threads_, keep));
}

template DeviceCosts PackedProblem::costs<float>(const Summed&) const;
template DeviceCosts PackedProblem::costs<double>(const Summed&) const;
template class DeviceSky<float>;
template class DeviceSky<double>;
template class SkyMethod<float>;
template class SkyMethod<double>;

}  // namespace rimetree::psv::pipeline
