#include "nodes/psv/device/solve.h"

#include <algorithm>
#include <cstdio>

#include "nodes/psv/device/launch.h"
#include "nodes/psv/device/pipeline.h"
#include "nodes/psv/device/sky.h"
#include "nodes/psv/planner.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv {
namespace {

DeviceRow device_row(const Rows& rows, const JonesChains& jones, std::size_t r) {
  DeviceRow row{rows.u[r], rows.v[r], rows.w[r], 0, 0, 0, 0, 0, 0, 0};
  if (rows.du != nullptr) row.du = rows.du[r], row.dv = rows.dv[r], row.dw = rows.dw[r];
  if (rows.exposure_s != nullptr) row.exposure = rows.exposure_s[r] / kSpeedOfLight_m_s;
  if (jones.empty()) return row;
  const auto baseline = static_cast<std::size_t>(rows.baseline[r]);
  row.left = jones.left_of[baseline];
  row.right = jones.right_of[baseline];
  row.time = rows.time[r];
  return row;
}

/// The direct sum: a launch for points and one for Gaussians, each in chunks of sources that add to each other.
template <class T>
class DirectMethod final : public DeviceMethod {
 public:
  DirectMethod(const DeviceProblem& problem, ThreadPool& threads)
      : p_(problem),
        threads_(threads),
        packed_(problem, device_channels(problem.channels, reach_of(problem.sky, problem.rows))) {}

  DeviceCosts costs() const override {
    DeviceCosts costs = packed_.costs<T>(p_);
    costs.row = sizeof(DeviceRow);
    costs.rows_per_block = static_cast<std::size_t>(DeviceShape::kThreads / packed_.channels.tiles);
    return costs;
  }
  std::span<const DeviceRun> runs() const override { return packed_.channels.runs; }
  void open(std::span<const std::unique_ptr<DeviceContext>> devices, const DeviceChunks& chunks,
            bool channels_are_cut) override;
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override;
  bool regular() const { return packed_.channels.regular; }

 private:
  void launch_sources(DeviceSky<T>& sky, DeviceSlot& slot, std::size_t begin, std::size_t end, bool accumulate);

  const DeviceProblem& p_;
  ThreadPool& threads_;
  PackedProblem packed_;
  std::vector<std::unique_ptr<DeviceSky<T>>> skies_;  // [device]
  std::size_t chunk_sources_ = 0;
};

template <class T>
void DirectMethod<T>::open(std::span<const std::unique_ptr<DeviceContext>> devices, const DeviceChunks& chunks,
                           bool channels_are_cut) {
  chunk_sources_ = chunks.sources;
  const bool keep = chunks.sources >= p_.sky.n_source && !(channels_are_cut && packed_.jones_vary());
  skies_.clear();
  for (const auto& device : devices)
    skies_.push_back(std::make_unique<DeviceSky<T>>(p_, packed_, *device, threads_, keep));
}

template <class T>
std::size_t DirectMethod<T>::fill(DeviceSlot& slot) {
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  for (std::size_t r = 0; r < slot.n_row; ++r) rows[r] = device_row(p_.rows, packed_.jones, slot.first_row + r);
  return slot.n_row * sizeof(DeviceRow);
}

template <class T>
void DirectMethod<T>::compute(std::size_t device, DeviceSlot& slot) {
  DeviceSky<T>& sky = *skies_[device];
  bool accumulate = false;
  const auto launch_range = [&](std::size_t from, std::size_t to) {
    for (std::size_t begin = from; begin < to; begin += std::min(chunk_sources_, to - begin)) {
      launch_sources(sky, slot, begin, std::min(begin + chunk_sources_, to), accumulate);
      accumulate = true;
    }
  };
  launch_range(0, p_.sky.n_point);
  launch_range(p_.sky.n_point, p_.sky.n_source);
  if (!accumulate) launch_sources(sky, slot, 0, 0, false);  // an empty sky has visibilities too: zeros
}

template <class T>
void DirectMethod<T>::launch_sources(DeviceSky<T>& sky, DeviceSlot& slot, std::size_t begin, std::size_t end,
                                     bool accumulate) {
  const SourceArrays<T>& arrays = sky.sources({begin, end, slot.range->first_channel, slot.range->count});
  DeviceJob<T> job;
  job.source = arrays.sources.template as<const DeviceSource>();
  if (arrays.weights) job.weight = arrays.weights.template as<const T>();
  job.left = arrays.left;
  job.right = arrays.right;
  job.row = slot.d_rows.template as<const DeviceRow>();
  job.run = sky.runs() + slot.range->begin;
  job.channel = sky.channels();
  job.out = slot.d_out.template as<Complex<double>>();
  job.n_source = static_cast<std::int32_t>(end - begin);
  job.n_row = static_cast<std::int32_t>(slot.n_row);
  job.n_run = static_cast<std::int32_t>(slot.range->end - slot.range->begin);
  job.n_channel = static_cast<std::int32_t>(packed_.channels.channels.size());
  job.first_channel = slot.range->first_channel;
  job.n_out_channel = slot.range->count;
  job.n_weight_channel = packed_.jones.empty() ? static_cast<std::int32_t>(p_.sky.n_weight_channel) : 1;
  job.n_plane = packed_.jones.empty() ? static_cast<std::int32_t>(p_.sky.planes.size()) : 8;
  if (job.n_plane <= 4) std::copy(p_.sky.planes.begin(), p_.sky.planes.end(), job.plane);
  job.tiles = packed_.channels.tiles;
  job.regular = packed_.channels.regular;
  job.smear_time = p_.rows.du != nullptr && p_.rows.exposure_s != nullptr && p_.rows.smear_time;
  job.smear_frequency = p_.rows.du != nullptr && p_.rows.smear_frequency;
  job.taper = begin >= p_.sky.n_point && end > begin;
  job.residual = packed_.channels.residual;
  job.accumulate = accumulate;
  launch(sky.queue(), job);
}

std::string report(const DeviceProblem& p, const DeviceOutcome& done, const std::string& method, bool regular) {
  char text[400];
  std::snprintf(
      text, sizeof text,
      "%zu sources, %zu rows, %zu channels to %.3g of the total flux: %s, in chunks of %zu sources, %zu rows and "
      "%zu channels%s%s",
      p.sky.n_source, p.rows.n_row, p.channels.frequency_hz.size(), p.tolerance, method.c_str(), done.chunks.sources,
      done.chunks.rows, done.chunks.channels, regular ? "" : "; irregular channels",
      done.n_retry > 0 ? "; memory was short" : "");
  return text;
}

template <class T>
std::string solve_directly(const DeviceProblem& p, std::span<const std::unique_ptr<DeviceContext>> devices,
                           ThreadPool& threads, Cancellation& cancellation) {
  DirectMethod<T> method(p, threads);
  const DeviceOutcome done =
      run_on_devices(method, p.output, p.channels.frequency_hz.size(), devices, threads, cancellation);
  return report(p, done, method_on_devices(devices, p.tolerance), method.regular());
}

}  // namespace

std::string method_on_devices(std::span<const std::unique_ptr<DeviceContext>> devices, double tolerance) {
  const bool single = tolerance >= kSingleBound;
  std::string text = single ? "direct in single precision on " : "direct in double precision on ";
  text += devices.front()->device().name();
  if (devices.size() > 1) text += " and " + std::to_string(devices.size() - 1) + " more";
  return text + (single ? " (error below 1e-06)" : " (error below 1e-12)");
}

std::string solve_on_devices(const DeviceProblem& problem, std::span<const std::unique_ptr<DeviceContext>> devices,
                             ThreadPool& threads, Cancellation& cancellation) {
  if (problem.tolerance >= kSingleBound) return solve_directly<float>(problem, devices, threads, cancellation);
  return solve_directly<double>(problem, devices, threads, cancellation);
}

}  // namespace rimetree::psv
