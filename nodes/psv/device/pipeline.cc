#include "nodes/psv/device/pipeline.h"

#include <algorithm>
#include <cstring>

#include "runtime/error.h"

namespace rimetree::psv {
namespace {

std::vector<RunRange> run_ranges(std::span<const DeviceRun> runs, std::size_t most_channels) {
  std::vector<RunRange> ranges;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (ranges.empty() || static_cast<std::size_t>(ranges.back().count + runs[i].count) > most_channels)
      ranges.push_back({i, i, runs[i].first, 0});
    ranges.back().end = i + 1;
    ranges.back().count += runs[i].count;
  }
  return ranges;
}

/// One device with its slots.
struct Lane {
  Lane(DeviceContext& device, const DeviceCosts& costs, const DeviceChunks& chunks, std::size_t widest)
      : context(device) {
    const std::size_t rows = chunks.rows * costs.row, out = chunks.rows * costs.visibility * widest;
    for (DeviceSlot& slot : slots) {
      slot.d_rows = context.arrays().scratch(rows);
      slot.d_out = context.arrays().scratch(out);
      slot.rows = context.staging().take(rows);
      slot.out = context.staging().take(out);
    }
    // The memory is there, and no longer in use by whoever had it before, once the computing queue gets here.
    const auto ready = context.compute().record();
    context.up().wait_for(ready);
    context.down().wait_for(ready);
  }
  // Staging memory must not be given back before the device is done with it, whatever went wrong.
  ~Lane() {
    for (memory::Queue* queue : {&context.up(), &context.compute(), &context.down()}) try {
        queue->synchronize();
      } catch (...) {
        continue;  // it has been, or will be, told by another call
      }
  }
  DeviceContext& context;
  DeviceSlot slots[kSlots];
};

class Pipeline {
 public:
  Pipeline(DeviceMethod& method, const Output& output, std::size_t n_channel,
           std::span<const std::unique_ptr<DeviceContext>> devices, ThreadPool& threads, Cancellation& cancellation)
      : method_(method),
        output_(output),
        n_channel_(n_channel),
        devices_(devices),
        threads_(threads),
        cancellation_(cancellation),
        costs_(method.costs()) {}

  DeviceOutcome go() {
    std::size_t budget = static_cast<std::size_t>(-1), n_retry = 0;
    for (const auto& device : devices_) budget = std::min(budget, device->arrays().budget_bytes());
    // Half the memory each time that an allocation fails: others use the device too, or it is fragmented. Rows that are
    // done stay done.
    for (;; budget /= 2) {
      const auto chunks = device_chunks(costs_, budget);
      if (!chunks) throw memory::OutOfMemory(devices_.front()->device().name(), budget);
      try {
        run(*chunks);
        return {*chunks, n_retry};
      } catch (const memory::OutOfMemory&) {
        ++n_retry;
      }
    }
  }

 private:
  void run(const DeviceChunks& chunks);
  void start(std::size_t device, Lane& lane, DeviceSlot& slot);
  void finish(DeviceSlot& slot);

  DeviceMethod& method_;
  const Output& output_;
  std::size_t n_channel_;
  std::span<const std::unique_ptr<DeviceContext>> devices_;
  ThreadPool& threads_;
  Cancellation& cancellation_;
  DeviceCosts costs_;
  std::size_t rows_done_ = 0;
};

void Pipeline::run(const DeviceChunks& chunks) {
  const std::vector<RunRange> ranges = run_ranges(method_.runs(), chunks.channels);
  std::int32_t widest = 0;
  for (const RunRange& range : ranges) widest = std::max(widest, range.count);
  method_.open(devices_, chunks, ranges.size() > 1);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (const auto& device : devices_)
    lanes.push_back(std::make_unique<Lane>(*device, costs_, chunks, static_cast<std::size_t>(widest)));
  // Chunks go round the devices, and on each round its slots; a slot is emptied just before it is filled again.
  std::size_t turn = 0;
  const auto place = [&](std::size_t k) { return std::pair(k % lanes.size(), k / lanes.size() % kSlots); };
  for (std::size_t begin = rows_done_, end = begin; begin < costs_.n_row; begin = end) {
    end = method_.chunk_end(begin, std::min(begin + chunks.rows, costs_.n_row));
    for (const RunRange& range : ranges) {
      if (cancellation_.check()) throw Cancelled();
      const auto [device, number] = place(turn++);
      DeviceSlot& slot = lanes[device]->slots[number];
      finish(slot);
      slot.first_row = begin, slot.n_row = end - begin, slot.range = &range;
      start(device, *lanes[device], slot);
    }
  }
  for (std::size_t k = 0; k < kSlots * lanes.size(); ++k) {
    const auto [device, number] = place(turn + k);
    finish(lanes[device]->slots[number]);
  }
}

void Pipeline::start(std::size_t device, Lane& lane, DeviceSlot& slot) {
  const std::size_t bytes = method_.fill(slot);
  DeviceContext& c = lane.context;
  c.up().copy_to_device(slot.d_rows.data(), slot.rows.get(), bytes);
  c.compute().wait_for(c.up().record());
  method_.compute(device, slot);
  c.down().wait_for(c.compute().record());
  c.down().copy_to_host(slot.out.get(), slot.d_out.data(),
                        slot.n_row * costs_.visibility * static_cast<std::size_t>(slot.range->count));
  slot.down = c.down().record();
}

/// Waits for a slot's visibilities and puts them where they belong.
void Pipeline::finish(DeviceSlot& slot) {
  if (!slot.down) return;
  slot.down->wait();
  slot.down = nullptr;
  const auto* from = static_cast<const Complex<double>*>(slot.out.get());
  const auto count = static_cast<std::size_t>(slot.range->count),
             first = static_cast<std::size_t>(slot.range->first_channel);
  const auto plane = static_cast<std::size_t>(output_.plane_stride);
  threads_.parallel_for(slot.n_row, 256, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r)
      for (std::size_t i = 0; i < 4; ++i)
        std::memcpy(output_.row[method_.row_number(slot.first_row + r)] + i * plane + first, from + (r * 4 + i) * count,
                    count * sizeof(Complex<double>));
  });
  const bool last_range = first + count == n_channel_;
  if (last_range) rows_done_ = slot.first_row + slot.n_row;
}

}  // namespace

DeviceOutcome run_on_devices(DeviceMethod& method, const Output& output, std::size_t n_channel,
                             std::span<const std::unique_ptr<DeviceContext>> devices, ThreadPool& threads,
                             Cancellation& cancellation) {
  return Pipeline(method, output, n_channel, devices, threads, cancellation).go();
}

}  // namespace rimetree::psv
