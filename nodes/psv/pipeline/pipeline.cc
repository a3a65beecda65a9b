#include "nodes/psv/pipeline/pipeline.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"
#include "runtime/device/block_kernel.h"

namespace rimetree::psv::pipeline {

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

std::string DeviceOutcome::text() const {
  return "in chunks of " + std::to_string(chunks.sources) + " sources, " + std::to_string(chunks.rows) + " rows and " +
         std::to_string(chunks.channels) + " channels" + (n_retry > 0 ? "; memory was short" : "");
}

namespace {

/// One device with its slots.
struct SlotsOfDevice {
  SlotsOfDevice(DeviceContext& device, const DeviceCosts& costs, const DeviceChunks& chunks, std::size_t widest,
                bool comes_down)
      : context(device) {
    const std::size_t rows = chunks.rows * (costs.row + costs.visibility_up * widest),
                      out = chunks.rows * costs.visibility * widest,
                      scratch = chunks.rows * (costs.row_scratch + costs.visibility_scratch * widest);
    for (DeviceSlot& slot : slots) {
      if (rows > 0) slot.d_rows = context.arrays().scratch(rows), slot.rows = context.staging().take(rows);
      if (out > 0) slot.d_out = context.arrays().scratch(out);
      if (scratch > 0) slot.d_scratch = context.arrays().scratch(scratch);
      if (out > 0 && comes_down) slot.out = context.staging().take(out);
    }
    // The memory is there, and no longer in use by whoever had it before, once the computing queue gets here.
    const auto ready = context.compute().record();
    context.up().wait_for(ready);
    context.down().wait_for(ready);
  }
  // Staging memory must not be given back before the device is done with it, whatever went wrong.
  ~SlotsOfDevice() {
    const auto synchronize = [](memory::Queue& queue) {
      try {
        queue.synchronize();
      } catch (...) {
        return;  // it has been, or will be, told by another call
      }
    };
    for (memory::Queue* queue : {&context.up(), &context.compute(), &context.down()}) synchronize(*queue);
    for (const DeviceSlot& slot : slots)
      if (slot.queue != nullptr) synchronize(*slot.queue);
  }
  DeviceContext& context;
  DeviceSlot slots[kSlots];
};

static_assert(kSlots <= DeviceContext::kBeside, "chunks that are computed at the same time need a queue each");

class Pipeline {
 public:
  Pipeline(DeviceMethod& method, const DeviceOutput& output, std::size_t n_channel, const Machine& machine)
      : method_(method), output_(output), n_channel_(n_channel), machine_(machine), costs_(method.costs()) {}

  DeviceOutcome go() {
    std::size_t budget = static_cast<std::size_t>(-1), n_retry = 0;
    for (const auto& device : machine_.devices) budget = std::min(budget, device->arrays().budget_bytes());
    const std::size_t whole_budget = budget;
    if (output_.device != nullptr && machine_.devices.size() == 1) budget -= hold_target(budget);
    // Half the memory each time that an allocation fails: others use the device too, or it is fragmented. Rows that are
    // done stay done.
    for (;; budget /= 2) {
      const auto chunks = device_chunks(costs_, budget);
      if (!chunks && d_target_ && rows_done_ == 0) {
        let_target_go();
        budget = 2 * whole_budget;  // which the loop halves
        continue;
      }
      if (!chunks) throw memory::OutOfMemory(machine_.first().device().name(), budget);
      try {
        run(*chunks);
        if (d_target_) output_.device->is_filled = true;
        return {*chunks, n_retry};
      } catch (const memory::OutOfMemory&) {
        if (!method_.gives_visibilities()) rows_done_ = 0;
        ++n_retry;
      }
    }
  }

 private:
  std::size_t hold_target(std::size_t budget);
  void let_target_go();
  void run(const DeviceChunks& chunks);
  void leave(DeviceSlot& slot);
  void start(std::size_t device, SlotsOfDevice& on, DeviceSlot& slot);
  void finish(DeviceSlot& slot);

  DeviceMethod& method_;
  const DeviceOutput& output_;
  std::size_t n_channel_;
  const Machine& machine_;
  DeviceCosts costs_;
  std::size_t rows_done_ = 0;
  DeviceSlot::Handle d_target_, d_offset_;  // of what stays on the device: results, and where each row is among them
};

/// Where rows are to stay on the device, if there is room; returns what that takes.
std::size_t Pipeline::hold_target(std::size_t budget) {
  const DeviceTarget& target = *output_.device;
  std::vector<std::int64_t> offset;
  for (std::size_t r = 0; r < costs_.n_row; ++r) offset.push_back(target.row_offset[method_.row_number(r)]);
  const auto bytes = std::as_bytes(std::span(offset));
  memory::ResidentArrays& arrays = machine_.first().arrays();
  try {
    d_target_ = target.block->on_device();
    d_offset_ = arrays.get({mix(target.owner, std::string_view("row offset")), fingerprint(bytes)}, bytes);
    if (d_target_.bytes() + d_offset_.bytes() < budget) return d_target_.bytes() + d_offset_.bytes();
  } catch (const memory::OutOfMemory&) {
    // They come to the host, chunk by chunk.
  }
  let_target_go();
  return 0;
}

void Pipeline::let_target_go() {
  d_target_ = {};
  d_offset_ = {};
  output_.device->block = nullptr;
}

void Pipeline::run(const DeviceChunks& chunks) {
  const std::vector<RunRange> ranges = run_ranges(method_.runs(), chunks.channels);
  std::int32_t widest = 0;
  for (const RunRange& range : ranges) widest = std::max(widest, range.count);
  method_.open(machine_.devices, chunks, ranges.size() > 1);
  std::vector<std::unique_ptr<SlotsOfDevice>> all;
  for (const auto& device : machine_.devices)
    all.push_back(std::make_unique<SlotsOfDevice>(*device, costs_, chunks, static_cast<std::size_t>(widest),
                                                  method_.gives_visibilities() && !d_target_));
  // Chunks go round the devices, and on each round its slots; a slot is emptied just before it is filled again.
  std::size_t turn = 0;
  const auto place = [&](std::size_t k) { return std::pair(k % all.size(), k / all.size() % kSlots); };
  for (std::size_t begin = rows_done_, end = begin; begin < costs_.n_row; begin = end) {
    end = method_.chunk_end(begin, std::min(begin + chunks.rows, costs_.n_row));
    for (const RunRange& range : ranges) {
      if (machine_.cancellation.check()) throw Cancelled();
      const auto [device, number] = place(turn++);
      DeviceSlot& slot = all[device]->slots[number];
      finish(slot);
      slot.first_row = begin, slot.n_row = end - begin, slot.range = &range;
      start(device, *all[device], slot);
    }
  }
  for (std::size_t k = 0; k < kSlots * all.size(); ++k) {
    const auto [device, number] = place(turn + k);
    finish(all[device]->slots[number]);
  }
}

void Pipeline::start(std::size_t device, SlotsOfDevice& on, DeviceSlot& slot) {
  const std::size_t bytes = method_.fill(slot);
  DeviceContext& c = on.context;
  slot.queue = method_.chunks_are_independent() ? &c.beside(static_cast<std::size_t>(&slot - on.slots)) : &c.compute();
  if (bytes > 0) c.up().copy_to_device(slot.d_rows.data(), slot.rows.get(), bytes);
  slot.queue->wait_for(c.up().record());
  method_.compute(device, slot);
  if (d_target_) return leave(slot);
  c.down().wait_for(slot.queue->record());
  if (method_.gives_visibilities())
    c.down().copy_to_host(slot.out.get(), slot.d_out.data(),
                          slot.n_row * costs_.visibility * static_cast<std::size_t>(slot.range->count));
  slot.down = c.down().record();
}

/// Moves a slot's visibilities to where they stay.
void Pipeline::leave(DeviceSlot& slot) {
  const DeviceTarget& target = *output_.device;
  MoveJob job;
  job.from = slot.d_out.as<const Complex<double>>();
  job.to = d_target_.as<Complex<double>>();
  job.offset = d_offset_.as<const std::int64_t>() + slot.first_row;
  job.plane = target.plane;
  job.n_to = static_cast<std::int64_t>(d_target_.bytes() / sizeof(Complex<double>));
  job.n_row = static_cast<std::int32_t>(slot.n_row);
  job.n_channel = slot.range->count;
  job.first_channel = slot.range->first_channel;
  launch_threads(*slot.queue, job);
  slot.down = slot.queue->record();
}

/// Waits for a slot's visibilities and puts them where they belong.
void Pipeline::finish(DeviceSlot& slot) {
  if (!slot.down) return;
  slot.down->wait();
  slot.down = nullptr;
  const auto count = static_cast<std::size_t>(slot.range->count),
             first = static_cast<std::size_t>(slot.range->first_channel);
  const bool last_range = first + count == n_channel_;
  if (last_range) rows_done_ = slot.first_row + slot.n_row;
  if (!method_.gives_visibilities() || d_target_) return;
  const auto* from = static_cast<const Complex<double>*>(slot.out.get());
  const auto plane = static_cast<std::size_t>(output_.host.plane_stride);
  machine_.threads.parallel_for(slot.n_row, 256, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t r = begin; r < end; ++r)
      for (std::size_t i = 0; i < 4; ++i)
        std::memcpy(output_.host.row[method_.row_number(slot.first_row + r)] + i * plane + first,
                    from + (r * 4 + i) * count, count * sizeof(Complex<double>));
  });
}

}  // namespace

DeviceOutcome run_on_devices(DeviceMethod& method, const DeviceOutput& output, std::size_t n_channel,
                             const Machine& machine) {
  return Pipeline(method, output, n_channel, machine).go();
}

}  // namespace rimetree::psv::pipeline
