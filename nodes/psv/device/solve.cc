#include "nodes/psv/device/solve.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>
#include <span>

#include "nodes/psv/device/chunks.h"
#include "nodes/psv/device/jones.h"
#include "nodes/psv/device/launch.h"
#include "nodes/psv/device/pack.h"
#include "nodes/psv/planner.h"
#include "runtime/error.h"
#include "runtime/fingerprint.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv {
namespace {

using Handle = memory::ResidentArrays::Handle;

/// What an array of a sky is; with the owner and the chunk it makes the key.
enum Role : std::uint64_t { kSources, kWeights, kRuns, kChannels, kLeft, kRight };

double reach_of(const Sky<double>& sky, const Rows& rows) {
  double reach = 0;
  for (std::size_t r = 0; r < rows.n_row; ++r)
    reach = std::max(reach, sky.extent.bound(rows.u[r], rows.v[r], rows.w[r]));
  return reach;
}

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

/// The parts of a problem that are the same for all rows, on the host.
template <class T>
struct Packed {
  explicit Packed(const DeviceProblem& p)
      : jones(jones_chains(p.jones, p.rows, p.channels.frequency_hz.size())),
        weights_per_source(jones.empty() ? p.sky.n_weight_channel * p.sky.planes.size() : 0),
        channels(device_channels(p.channels, reach_of(p.sky, p.rows))),
        left(jones.empty() ? JonesAxes() : left_axes(jones, p.sky)) {}

  JonesChains jones;
  std::size_t weights_per_source;
  DeviceChannels channels;
  JonesAxes left;
};

template <class T>
DeviceCosts costs_of(const DeviceProblem& p, const Packed<T>& packed) {
  DeviceCosts costs;
  costs.n_source = p.sky.n_source;
  costs.n_row = p.rows.n_row;
  costs.n_channel = packed.channels.channels.size();
  costs.fixed = packed.channels.runs.size() * sizeof(DeviceRun) + costs.n_channel * sizeof(DeviceChannel);
  costs.source = sizeof(DeviceSource) + packed.weights_per_source * sizeof(T);
  const auto add_jones = [&](std::size_t n_chain, const JonesAxes& axes) {
    (axes.n_channel > 1 ? costs.source_channel : costs.source) +=
        n_chain * static_cast<std::size_t>(axes.n_time) * 4 * sizeof(Complex<T>);
  };
  add_jones(packed.jones.left.size(), packed.left);
  add_jones(packed.jones.right.size(), packed.jones.right_axes);
  costs.row = sizeof(DeviceRow);
  costs.visibility = 4 * sizeof(Complex<double>);
  for (const DeviceRun& run : packed.channels.runs)
    costs.longest_run = std::max(costs.longest_run, static_cast<std::size_t>(run.count));
  costs.rows_per_block = static_cast<std::size_t>(DeviceShape::kThreads / packed.channels.tiles);
  return costs;
}

/// Consecutive runs, of at most so many channels together.
struct RunRange {
  std::size_t begin, end;             ///< runs
  std::int32_t first_channel, count;  ///< channels
};
std::vector<RunRange> run_ranges(const std::vector<DeviceRun>& runs, std::size_t most_channels) {
  std::vector<RunRange> ranges;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (ranges.empty() || static_cast<std::size_t>(ranges.back().count + runs[i].count) > most_channels)
      ranges.push_back({i, i, runs[i].first, 0});
    ranges.back().end = i + 1;
    ranges.back().count += runs[i].count;
  }
  return ranges;
}

/// A part of the rows and channels on its way: up, through the kernel, and down again.
struct Slot {
  Handle d_rows, d_out;
  std::shared_ptr<void> rows, out;  // staging memory
  memory::EventPtr down;            // its visibilities have arrived
  std::size_t first_row = 0, n_row = 0;
  const RunRange* range = nullptr;
};

/// A chunk of sources on a device.
template <class T>
struct SourceArrays {
  Handle sources, weights, left_values, right_values;
  DeviceJones<T> left, right;
};

/// One device with its slots.
template <class T>
struct Lane {
  explicit Lane(DeviceContext& device) : context(device) {}
  // Staging memory must not be given back before the device is done with it, whatever went wrong.
  ~Lane() {
    for (memory::Queue* queue : {&context.up(), &context.compute(), &context.down()}) try {
        queue->synchronize();
      } catch (...) {
        continue;  // it has been, or will be, told by another call
      }
  }
  DeviceContext& context;
  Handle runs, channels;
  // By first source and, where Jones terms vary along channels, first channel; all of them where there is room.
  std::map<std::pair<std::size_t, std::int32_t>, SourceArrays<T>> sources;
  Slot slots[kSlots];
};

template <class T>
class Solve {
 public:
  Solve(const DeviceProblem& problem, std::span<const std::unique_ptr<DeviceContext>> devices, ThreadPool& threads,
        Cancellation& cancellation)
      : p_(problem), devices_(devices), threads_(threads), cancellation_(cancellation), packed_(problem) {}

  std::string go() {
    std::size_t budget = static_cast<std::size_t>(-1);
    for (const auto& device : devices_) budget = std::min(budget, device->arrays().budget_bytes());
    const DeviceCosts costs = costs_of(p_, packed_);
    // Half the memory each time that an allocation fails: others use the device too, or it is fragmented. Rows that are
    // done stay done.
    for (;; budget /= 2) {
      const auto chunks = device_chunks(costs, budget);
      if (!chunks) throw memory::OutOfMemory(devices_.front()->device().name(), budget);
      try {
        run(*chunks);
        return report(*chunks);
      } catch (const memory::OutOfMemory&) {
        ++n_retry_;
      }
    }
  }

 private:
  void run(const DeviceChunks& chunks);
  void open(Lane<T>& lane, const DeviceChunks& chunks, const std::vector<RunRange>& ranges);
  void start(Lane<T>& lane, Slot& slot, std::size_t first_row, std::size_t n_row, const RunRange& range);
  void compute(Lane<T>& lane, Slot& slot);
  const SourceArrays<T>& arrays_of(Lane<T>& lane, const ProductRange& range);
  void launch_sources(Lane<T>& lane, Slot& slot, std::size_t begin, std::size_t end, bool accumulate);
  DeviceJones<T> jones_side(Lane<T>& lane, Role role, const ProductRange& range, Handle& handle);
  void finish(Slot& slot);
  std::string report(const DeviceChunks& chunks) const;

  bool jones_vary() const { return packed_.left.n_channel > 1 || packed_.jones.right_axes.n_channel > 1; }
  /// An array of sources [begin, end), or of something else that `version` and these numbers tell from others; made by
  /// make() if it is not there.
  template <class F>
  Handle resident(Lane<T>& lane, Role role, std::uint64_t version, std::size_t begin, std::size_t end, F&& make) {
    memory::ResidentArrays& arrays = lane.context.arrays();
    const std::uint64_t owner = mix(mix(mix(p_.owner, std::uint64_t{role}), std::uint64_t{begin}), sizeof(T));
    const memory::ArrayKey key{owner, mix(version, std::uint64_t{end})};
    if (Handle there = arrays.get_if_there(key)) return there;
    const auto& values = make();
    return arrays.get(key, std::as_bytes(std::span(values)));
  }
  template <class U>
  Handle resident(Lane<T>& lane, Role role, std::size_t begin, const std::vector<U>& values) {
    const std::uint64_t version = fingerprint(std::as_bytes(std::span(values)));
    return resident(lane, role, version, begin, 0, [&]() -> const std::vector<U>& { return values; });
  }

  const DeviceProblem& p_;
  std::span<const std::unique_ptr<DeviceContext>> devices_;
  ThreadPool& threads_;
  Cancellation& cancellation_;
  Packed<T> packed_;
  std::size_t chunk_sources_ = 0;
  bool keep_sources_ = false;  // all of them are on the device at a time
  std::size_t rows_done_ = 0, n_launch_ = 0, n_retry_ = 0;
};

template <class T>
void Solve<T>::open(Lane<T>& lane, const DeviceChunks& chunks, const std::vector<RunRange>& ranges) {
  lane.runs = resident(lane, kRuns, 0, packed_.channels.runs);
  lane.channels = resident(lane, kChannels, 0, packed_.channels.channels);
  std::int32_t widest = 0;
  for (const RunRange& range : ranges) widest = std::max(widest, range.count);
  const std::size_t rows = chunks.rows * sizeof(DeviceRow);
  const std::size_t out = chunks.rows * 4 * static_cast<std::size_t>(widest) * sizeof(Complex<double>);
  for (Slot& slot : lane.slots) {
    slot.d_rows = lane.context.arrays().scratch(rows);
    slot.d_out = lane.context.arrays().scratch(out);
    slot.rows = lane.context.staging().take(rows);
    slot.out = lane.context.staging().take(out);
  }
  // The memory is there, and no longer in use by whoever had it before, once the computing queue gets here.
  const auto ready = lane.context.compute().record();
  lane.context.up().wait_for(ready);
  lane.context.down().wait_for(ready);
}

template <class T>
void Solve<T>::run(const DeviceChunks& chunks) {
  chunk_sources_ = chunks.sources;
  const std::vector<RunRange> ranges = run_ranges(packed_.channels.runs, chunks.channels);
  keep_sources_ = chunks.sources >= p_.sky.n_source && (ranges.size() == 1 || !jones_vary());
  std::vector<std::unique_ptr<Lane<T>>> lanes;
  for (const auto& device : devices_) {
    lanes.push_back(std::make_unique<Lane<T>>(*device));
    open(*lanes.back(), chunks, ranges);
  }
  // Chunks go round the devices, and on each round its slots; a slot is emptied just before it is filled again.
  std::size_t turn = 0;
  const auto slot_at = [&](std::size_t k) -> std::pair<Lane<T>&, Slot&> {
    Lane<T>& lane = *lanes[k % lanes.size()];
    return {lane, lane.slots[k / lanes.size() % kSlots]};
  };
  std::size_t begin = rows_done_;
  for (; begin < p_.rows.n_row; begin += std::min(chunks.rows, p_.rows.n_row - begin))
    for (const RunRange& range : ranges) {
      if (cancellation_.check()) throw Cancelled();
      auto [lane, slot] = slot_at(turn++);
      finish(slot);
      start(lane, slot, begin, std::min(chunks.rows, p_.rows.n_row - begin), range);
    }
  for (std::size_t k = 0; k < kSlots * lanes.size(); ++k) finish(slot_at(turn + k).second);
}

template <class T>
void Solve<T>::start(Lane<T>& lane, Slot& slot, std::size_t first_row, std::size_t n_row, const RunRange& range) {
  slot.first_row = first_row, slot.n_row = n_row, slot.range = &range;
  auto* rows = static_cast<DeviceRow*>(slot.rows.get());
  for (std::size_t r = 0; r < n_row; ++r) rows[r] = device_row(p_.rows, packed_.jones, first_row + r);
  DeviceContext& c = lane.context;
  c.up().copy_to_device(slot.d_rows.data(), rows, n_row * sizeof(DeviceRow));
  c.compute().wait_for(c.up().record());
  compute(lane, slot);
  c.down().wait_for(c.compute().record());
  c.down().copy_to_host(slot.out.get(), slot.d_out.data(),
                        n_row * 4 * static_cast<std::size_t>(range.count) * sizeof(Complex<double>));
  slot.down = c.down().record();
}

/// Points and Gaussians in launches of their own, and each in chunks of sources that add to each other.
template <class T>
void Solve<T>::compute(Lane<T>& lane, Slot& slot) {
  bool accumulate = false;
  const auto launch_range = [&](std::size_t from, std::size_t to) {
    for (std::size_t begin = from; begin < to; begin += std::min(chunk_sources_, to - begin)) {
      launch_sources(lane, slot, begin, std::min(begin + chunk_sources_, to), accumulate);
      accumulate = true;
    }
  };
  launch_range(0, p_.sky.n_point);
  launch_range(p_.sky.n_point, p_.sky.n_source);
  if (!accumulate) launch_sources(lane, slot, 0, 0, false);  // an empty sky has visibilities too: zeros
}

template <class T>
DeviceJones<T> Solve<T>::jones_side(Lane<T>& lane, Role role, const ProductRange& range, Handle& handle) {
  const bool left = role == kLeft;
  const JonesAxes& axes = left ? packed_.left : packed_.jones.right_axes;
  const std::vector<Complex<T>> values = left ? left_products<T>(packed_.jones, p_.sky, range, threads_)
                                              : right_products<T>(packed_.jones, p_.sky, range, threads_);
  handle = resident(lane, role, range.source_begin, values);
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

/// Sources on the device. They stay in use there if all fit, else until the next ones are asked for; what the queue
/// still does with the last ones comes before their memory is used again.
template <class T>
const SourceArrays<T>& Solve<T>::arrays_of(Lane<T>& lane, const ProductRange& range) {
  const std::size_t begin = range.source_begin, end = range.source_end;
  const std::pair name(begin, jones_vary() ? range.first_channel : 0);
  const auto known = lane.sources.find(name);
  if (known != lane.sources.end()) return known->second;
  if (!keep_sources_) lane.sources.clear();
  SourceArrays<T> arrays;
  arrays.sources =
      resident(lane, kSources, p_.version.places, begin, end, [&] { return device_sources(p_.sky, begin, end); });
  if (packed_.jones.empty()) {
    arrays.weights =
        resident(lane, kWeights, p_.version.fluxes, begin, end, [&] { return device_weights<T>(p_.sky, begin, end); });
  } else {
    arrays.left = jones_side(lane, kLeft, range, arrays.left_values);
    arrays.right = jones_side(lane, kRight, range, arrays.right_values);
  }
  return lane.sources.emplace(name, std::move(arrays)).first->second;
}

template <class T>
void Solve<T>::launch_sources(Lane<T>& lane, Slot& slot, std::size_t begin, std::size_t end, bool accumulate) {
  const SourceArrays<T>& arrays = arrays_of(lane, {begin, end, slot.range->first_channel, slot.range->count});
  DeviceJob<T> job;
  job.source = arrays.sources.template as<const DeviceSource>();
  if (arrays.weights) job.weight = arrays.weights.template as<const T>();
  job.left = arrays.left;
  job.right = arrays.right;
  job.row = slot.d_rows.template as<const DeviceRow>();
  job.run = lane.runs.template as<const DeviceRun>() + slot.range->begin;
  job.channel = lane.channels.template as<const DeviceChannel>();
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
  launch(lane.context.compute(), job);
  ++n_launch_;
}

/// Waits for a slot's visibilities and puts them where they belong.
template <class T>
void Solve<T>::finish(Slot& slot) {
  if (!slot.down) return;
  slot.down->wait();
  slot.down = nullptr;
  const auto* from = static_cast<const Complex<double>*>(slot.out.get());
  const auto count = static_cast<std::size_t>(slot.range->count),
             first = static_cast<std::size_t>(slot.range->first_channel);
  const auto plane = static_cast<std::size_t>(p_.output.plane_stride);
  threads_.parallel_for(slot.n_row, 256, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r)
      for (std::size_t i = 0; i < 4; ++i)
        std::memcpy(p_.output.row[slot.first_row + r] + i * plane + first, from + (r * 4 + i) * count,
                    count * sizeof(Complex<double>));
  });
  const bool last_range = first + count == packed_.channels.channels.size();
  if (last_range) rows_done_ = slot.first_row + slot.n_row;
}

template <class T>
std::string Solve<T>::report(const DeviceChunks& chunks) const {
  char text[400];
  std::snprintf(
      text, sizeof text,
      "%zu sources, %zu rows, %zu channels to %.3g of the total flux: %s, in chunks of %zu sources, %zu rows and "
      "%zu channels%s%s",
      p_.sky.n_source, p_.rows.n_row, packed_.channels.channels.size(), p_.tolerance,
      method_on_devices(devices_, p_.tolerance).c_str(), chunks.sources, chunks.rows, chunks.channels,
      packed_.channels.regular ? "" : "; irregular channels", n_retry_ > 0 ? "; memory was short" : "");
  return text;
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
  if (problem.tolerance >= kSingleBound) return Solve<float>(problem, devices, threads, cancellation).go();
  return Solve<double>(problem, devices, threads, cancellation).go();
}

}  // namespace rimetree::psv
