// Rows through devices: what a method needs of them goes up, visibilities are computed and come down, in chunks of rows
// and channels of which three are on their way at a time. Chunks are dealt out to all devices in turn. Where an
// allocation fails they are cut smaller, until not even the smallest fits.
#pragma once

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "nodes/psv/kernel.h"
#include "nodes/psv/pipeline/arrays.h"
#include "nodes/psv/pipeline/chunks.h"
#include "nodes/psv/pipeline/device_target.h"
#include "runtime/core/threads/thread_pool.h"
#include "runtime/device/device_context.h"

namespace rimetree::psv::pipeline {

using DeviceSpan = std::span<const std::unique_ptr<DeviceContext>>;

/// What computes, and who may stop it.
struct Machine {
  DeviceSpan devices;
  ThreadPool& threads;
  Cancellation& cancellation;

  DeviceContext& first() const { return *devices.front(); }
};

/// Consecutive runs, of some channels together.
struct RunRange {
  std::size_t begin = 0, end = 0;             ///< runs
  std::int32_t first_channel = 0, count = 0;  ///< channels
};

std::vector<RunRange> run_ranges(std::span<const DeviceRun> runs, std::size_t most_channels);

/// A part of the rows and channels on its way: up, through the kernel, and down again.
struct DeviceSlot {
  using Handle = memory::ResidentArrays::Handle;
  Handle d_rows, d_out, d_scratch;
  std::shared_ptr<void> rows, out;  // staging memory
  memory::EventPtr down;            // its visibilities have arrived
  memory::Queue* queue = nullptr;   // of its kernels
  std::size_t first_row = 0, n_row = 0;
  const RunRange* range = nullptr;
  std::size_t offset[2] = {}, count[2] = {};  ///< of what the method has filled `rows` with: bytes before, elements
};

/// Where visibilities go: to the host, or to results that stay on the device if there is only one.
struct DeviceOutput {
  DeviceOutput(const Output& on_host, DeviceTarget* on_device = nullptr) : host(on_host), device(on_device) {}
  const Output& host;
  DeviceTarget* device;
};

/// How a method computes rows on a device. Rows are numbered in the order in which the method takes them.
class DeviceMethod {
 public:
  virtual ~DeviceMethod() = default;

  virtual DeviceCosts costs() const = 0;
  /// All runs of channels, which are not divided.
  virtual std::span<const DeviceRun> runs() const = 0;
  /// The caller's number of a row.
  virtual std::size_t row_number(std::size_t row) const { return row; }
  /// Where a chunk that begins at row `begin` had best end: at `end`, or before.
  virtual std::size_t chunk_end(std::size_t /*begin*/, std::size_t end) const { return end; }
  /// Prepares devices for chunks of this size, each one known by its number. What was there before is let go.
  virtual void open(DeviceSpan devices, const DeviceChunks& chunks, bool channels_are_cut) = 0;
  /// Whether visibilities come down. Where they do not, rows are no more done than the method is: all of them are
  /// computed anew when memory was short.
  virtual bool gives_visibilities() const { return true; }
  /// Whether compute() changes nothing but the slot's visibilities, so that chunks may be computed at the same time.
  virtual bool chunks_are_independent() const { return false; }
  /// Writes what the device needs of the slot's rows to its staging memory of costs().row bytes per row and
  /// costs().visibility_up per visibility; returns how many bytes it took.
  virtual std::size_t fill(DeviceSlot& slot) = 0;
  /// Queues what computes the slot's visibilities on the slot's queue, [row][XX XY YX YY][channel of the range].
  virtual void compute(std::size_t device, DeviceSlot& slot) = 0;
};

struct DeviceOutcome {
  DeviceChunks chunks;
  std::size_t n_retry = 0;  ///< how often memory was short

  /// In words: "in chunks of ..".
  std::string text() const;
};

/// Throws memory::OutOfMemory where not even the smallest chunk fits, and Cancelled. Same rows, devices and budget:
/// same bits.
DeviceOutcome run_on_devices(DeviceMethod& method, const DeviceOutput& output, std::size_t n_channel,
                             const Machine& machine);

}  // namespace rimetree::psv::pipeline
