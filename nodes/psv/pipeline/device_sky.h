// The sky of a problem on a device: sources with their weights, or with the products of their Jones terms, in chunks
// that stay there between evaluations for as long as there is room.
#pragma once

#include <map>
#include <span>
#include <string>

#include "nodes/psv/pipeline/jones_chains.h"
#include "nodes/psv/pipeline/pack.h"
#include "nodes/psv/pipeline/pipeline.h"
#include "nodes/psv/summed.h"
#include "runtime/core/fingerprint.h"

namespace rimetree::psv::pipeline {

/// What an array of a sky, or of a method's own, is; with the owner and the chunk it makes the key.
enum class DeviceRole : std::uint64_t { kSources, kWeights, kRuns, kChannels, kLeft, kRight, kBrightness };

/// The parts of a problem that are the same for all rows, on the host.
struct PackedProblem {
  PackedProblem(const Summed& of, DeviceChannels channels_as_cut);
  bool jones_vary() const { return left_axes.n_channel > 1 || jones.right.axes.n_channel > 1; }
  /// Those of the products of one side, of the left ones with the brightness.
  const JonesAxes& axes_of(bool right) const { return right ? jones.right.axes : left_axes; }
  /// Whether the brightness is a factor by itself: terms that vary along channels would need one product more for each.
  bool brightness_apart() const { return !jones.empty() && !jones_vary() && !brightness_in_products; }
  /// What sources, runs and channels take.
  template <class T>
  DeviceCosts costs(const Summed& of) const;

  JonesChains jones;
  bool brightness_in_products = false;  ///< in any case: the method knows no other factor
  std::size_t weights_per_source;
  DeviceChannels channels;
  JonesAxes left_axes;
};
/// Largest path difference of any source and row.
double reach_of(const Sky<double>& sky, const Rows& rows);

/// A chunk of sources on a device.
template <class T>
struct SourceArrays {
  memory::ResidentArrays::Handle sources, weights, left_values, right_values, brightness;
  DeviceJones<T> left, right;
};

/// What one device has of the sky.
template <class T>
class DeviceSky {
 public:
  using Handle = memory::ResidentArrays::Handle;
  /// `keep`: all sources fit at a time.
  DeviceSky(const Summed& of, const PackedProblem& packed, DeviceContext& context, ThreadPool& threads, bool keep)
      : of_(of), packed_(packed), context_(context), threads_(threads), keep_(keep) {
    runs_ = resident(DeviceRole::kRuns, 0, packed.channels.runs);
    channels_ = resident(DeviceRole::kChannels, 0, packed.channels.channels);
  }
  /// Sources on the device. They stay in use there if all fit, else until the next ones are asked for; what the queue
  /// still does with the last ones comes before their memory is used again.
  const SourceArrays<T>& sources(const ProductRange& range);
  /// What all methods' launches say of sources [begin, end) and these channels. `jones_planes`: where Jones terms are.
  const SourceArrays<T>& fill(SumJob<T>& job, std::size_t begin, std::size_t end, const RunRange& channels,
                              std::int32_t jones_planes);
  /// An array that stays for as long as there is room.
  template <class U>
  Handle resident(DeviceRole role, std::size_t begin, const std::vector<U>& values) {
    const std::uint64_t version = fingerprint(std::as_bytes(std::span(values)));
    return resident(role, version, begin, 0, [&]() -> const std::vector<U>& { return values; });
  }
  memory::Queue& queue() const { return context_.compute(); }
  /// Work that is queued from now on finds the sources there.
  void bring_to(memory::Queue& queue) const {
    if (&queue != &this->queue()) queue.wait_for(this->queue().record());
  }
  const Summed& summed() const { return of_; }
  const PackedProblem& packed() const { return packed_; }
  DeviceContext& context() const { return context_; }
  ThreadPool& threads() const { return threads_; }
  bool keeps() const { return keep_; }

 private:
  DeviceJones<T> jones_side(bool right, const ProductRange& range, Handle& handle);
  /// An array of sources [begin, end), or of something else that `version` and these numbers tell from others; made by
  /// make() if it is not there.
  template <class F>
  Handle resident(DeviceRole role, std::uint64_t version, std::size_t begin, std::size_t end, F&& make) {
    memory::ResidentArrays& arrays = context_.arrays();
    // Directions, runs and channels are the same in both precisions.
    const bool in_double = role == DeviceRole::kSources || role == DeviceRole::kRuns || role == DeviceRole::kChannels;
    const std::uint64_t owner = mix(mix(mix(of_.owner, static_cast<std::uint64_t>(role)), std::uint64_t{begin}),
                                    in_double ? sizeof(double) : sizeof(T));
    const memory::ArrayKey key{owner, mix(version, std::uint64_t{end})};
    if (Handle there = arrays.get_if_there(key)) return there;
    const auto& values = make();
    return arrays.get(key, std::as_bytes(std::span(values)));
  }

  const Summed& of_;
  const PackedProblem& packed_;
  DeviceContext& context_;
  ThreadPool& threads_;
  bool keep_;
  Handle runs_, channels_;
  // By first source and, where Jones terms vary along channels, first channel; all of them where there is room.
  std::map<std::pair<std::size_t, std::int32_t>, SourceArrays<T>> sources_;
};

/// A method that sums over one sky, which it has on every device. T: of weights and visibilities' sums.
template <class T>
class SkyMethod : public DeviceMethod {
 public:
  std::span<const DeviceRun> runs() const override { return packed_.channels.runs; }
  void open(DeviceSpan devices, const DeviceChunks& chunks, bool channels_are_cut) override;
  bool regular() const { return packed_.channels.regular; }

 protected:
  SkyMethod(const Summed& of, DeviceChannels channels, ThreadPool& threads)
      : of_(of), threads_(threads), packed_(of, std::move(channels)) {}
  DeviceSky<T>& sky(std::size_t device) const { return *skies_[device]; }
  std::size_t chunk_sources() const { return chunk_sources_; }

  const Summed& of_;
  ThreadPool& threads_;
  PackedProblem packed_;

 private:
  std::vector<std::unique_ptr<DeviceSky<T>>> skies_;  // [device]
  std::size_t chunk_sources_ = 0;
};

}  // namespace rimetree::psv::pipeline
