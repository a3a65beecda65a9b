#include "nodes/psv/device/solve.h"

#include <algorithm>
#include <cstdio>

#include "nodes/psv/device/direct.h"
#include "nodes/psv/device/pipeline.h"
#include "nodes/psv/planner.h"

namespace rimetree::psv {
namespace {

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
  const DirectRows rows{slot.d_rows.template as<const DeviceRow>(), slot.n_row, slot.range,
                        slot.d_out.template as<Complex<double>>()};
  launch_sum(p_, packed_, *skies_[device], rows, chunk_sources_, false);
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
