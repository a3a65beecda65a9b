// The direct sum on devices: launches of each profile by itself, in chunks of sources, for whoever needs the sum, and
// as a method of the pipeline (pipeline/pipeline.h).
#pragma once

#include <algorithm>

#include "nodes/psv/antennas.h"
#include "nodes/psv/device/direct_job.h"
#include "nodes/psv/pipeline/device_sky.h"

namespace rimetree::psv::device {

DeviceRow device_row(const Rows& rows, const JonesChains& jones, std::size_t r);

/// Calls f(begin, end) for each chunk of so many sources at most; sources of different profiles never
/// share one.
template <class F>
void for_each_chunk(const Sky<double>& sky, std::size_t most, F&& f) {
  for (const AlikeSources& sources : sky.alike())
    for (std::size_t begin = sources.begin; begin < sources.end; begin += most)
      f(begin, std::min(begin + most, sources.end));
}

/// The antennas of rows on a device, and room for their seeds.
struct DirectAntennas {
  const DeviceAntenna* d_antennas = nullptr;  ///< null: rows make their own seeds
  std::size_t n_antenna = 0;
  void* d_seeds = nullptr;
  std::size_t bytes = 0;
};

/// Rows on a device, and the channels of which their visibilities are there.
struct DirectRows {
  const DeviceRow* d_rows = nullptr;
  std::size_t n_row = 0;
  const RunRange* range = nullptr;
  Complex<double>* d_out = nullptr;  ///< [row][XX XY YX YY][channel of the range]
  memory::Queue* queue = nullptr;    ///< of the launches; null: that of the sky
  DirectAntennas antennas = {};
};

/// A launch of sources [begin, end), which the sky has on the device until the next ones are asked for.
template <class T>
DirectJob<T> direct_job(DeviceSky<T>& sky, const DirectRows& rows, std::size_t begin, std::size_t end);

/// Queues the sum over all sources, in chunks of so many; `accumulate`: it is added to what is there.
template <class T>
void launch_sum(DeviceSky<T>& sky, const DirectRows& rows, std::size_t chunk_sources, bool accumulate);

/// Rows are taken in the order of their time slots where the seeds of antennas serve them, else as they come.
template <class T>
class DirectMethod final : public SkyMethod<T> {
 public:
  /// `antennas`: of which rows are differences; null: rows make their own seeds.
  DirectMethod(const Summed& of, const AntennaPlan* antennas, ThreadPool& threads);

  DeviceCosts costs() const override;
  std::size_t row_number(std::size_t row) const override { return antennas_ ? antennas_->by_layer[row] : row; }
  std::size_t fill(DeviceSlot& slot) override;
  void compute(std::size_t device, DeviceSlot& slot) override;
  bool chunks_are_independent() const override { return this->sky(0).keeps(); }
  bool by_antennas() const { return antennas_ != nullptr; }

 private:
  using SkyMethod<T>::of_, SkyMethod<T>::packed_;
  std::size_t fill_antennas(DeviceSlot& slot);

  const AntennaPlan* antennas_;
  std::vector<std::int32_t> number_;  // [antenna]: its number among those of the slot; kept for its memory
};

}  // namespace rimetree::psv::device
