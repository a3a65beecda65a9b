#include "nodes/correlator/device/device_spectra.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>

#include "memory/staging.h"
#include "nodes/correlator/device/copied_codes.h"
#include "nodes/correlator/device/fourier_job.h"
#include "runtime/core/error.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kMostSpectraBytes = std::size_t{512} << 20;
constexpr std::int64_t kMostBlocks = std::int64_t{1} << 22;  ///< of threads, in one launch

template <class Job, class Shared, class First, class Second>
void run_blocks(std::int64_t n_block, std::int64_t n_input, std::int64_t n_along, const Job& job, First first,
                Second second) {
  const auto shared = std::make_unique<Shared>();
  for (std::int64_t block = 0; block < n_block; ++block) {
    std::memset(static_cast<void*>(shared.get()), 0xff, sizeof(Shared));
    const SpectraPlace at = spectra_place(block, n_input, n_along);
    for (int thread = 0; thread < kSpectraThreads; ++thread) first(job, at, thread, *shared);
    for (int thread = 0; thread < kSpectraThreads; ++thread) second(job, at, block, thread, *shared);
  }
}

void launch(memory::Queue& queue, const FoldJob& job) {
  launch_job(queue, job, [](const FoldJob& on_host) {
    run_blocks<FoldJob, FoldShared>(on_host.n_spectrum * tiles(on_host.from.n_input) * tiles(on_host.step),
                                    on_host.from.n_input, on_host.step, on_host, fold,
                                    [](const FoldJob& job, const SpectraPlace& at, std::int64_t, int thread,
                                       FoldShared& shared) { store_folded(job, at, thread, shared); });
  });
}
void launch(memory::Queue& queue, const QuantiseJob& job) {
  launch_job(queue, job, [](const QuantiseJob& on_host) {
    run_blocks<QuantiseJob, QuantiseShared>(on_host.n_block(), on_host.n_input, on_host.n_channel, on_host, quantise,
                                            store_codes);
  });
}

}  // namespace

bool can_make_spectra(const memory::Device& device) {
  return has_launcher<FoldJob>(device) && has_launcher<QuantiseJob>(device) && has_launcher<FourierStepJob>(device);
}

/// What depends on how many spectra are wanted.
struct DeviceSpectra::Room {
  std::size_t wanted = 0, samples = 0;  ///< spectra of a block, and its samples
  std::int64_t portion = 0;             ///< spectra that are made together
  Handle d_codes, d_start, d_signal, d_bins, d_out, d_cut_off;
  std::shared_ptr<void> codes;  ///< staging memory
  memory::EventPtr is_up;
};

DeviceSpectra::DeviceSpectra(const ChannelPlan& plan, DeviceContext& device, bool own_transform)
    : plan_(plan), device_(device), own_transform_(own_transform || !has_fourier_library(device.device())) {}

DeviceSpectra::~DeviceSpectra() {
  // Staging memory must not be given back before the device is done with it.
  for (memory::Queue* queue : {&device_.up(), &device_.compute()}) try {
      queue->synchronize();
    } catch (...) {
      continue;  // it has been, or will be, told by another call
    }
}

void DeviceSpectra::bring_tables() {
  if (d_weights_) return;
  memory::Queue& queue = device_.compute();
  const auto bring = [&](Handle& to, std::span<const std::byte> from) {
    if (from.empty()) return;
    to = device_.arrays().scratch(from.size());
    memory::copy_staged(queue, to.data(), from);
  };
  bring(d_phases_, std::as_bytes(std::span(plan_.phases)));
  if (own_transform_) {
    std::vector<Complex<float>> roots;
    for (std::size_t k = 0; k < plan_.bank.step(); ++k) {
      const double angle = -2 * std::numbers::pi * double(k) / double(plan_.bank.step());
      roots.emplace_back(float(std::cos(angle)), float(std::sin(angle)));
    }
    bring(d_roots_, std::as_bytes(std::span(roots)));
  }
  bring(d_weights_, std::as_bytes(std::span(plan_.bank.weights())));
}

void DeviceSpectra::make_room(const SpectraWanted& wanted) {
  const std::size_t samples = wanted.block.view.n_time;
  if (room_ && room_->wanted >= wanted.n && room_->samples >= samples) {
    room_->is_up->wait();
    return;
  }
  room_.reset();
  auto room = std::make_unique<Room>();
  auto& arrays = device_.arrays();
  const std::size_t inputs = plan_.in.n_input, step = plan_.bank.step(),
                    of_spectrum = inputs * step * sizeof(Complex<float>),
                    codes = samples * inputs * static_cast<std::size_t>(plan_.in.format.bytes);
  room->wanted = wanted.n;
  room->samples = samples;
  room->d_out =
      arrays.scratch(wanted.n * inputs * plan_.n_channel() * static_cast<std::size_t>(plan_.options.format.bytes));
  room->d_codes = arrays.scratch(codes);
  room->codes = device_.staging().take(codes);
  room->d_start = arrays.scratch(inputs * sizeof(std::int64_t));
  std::size_t portion =
      std::clamp<std::size_t>(std::min(kMostSpectraBytes, arrays.budget_bytes() / 8) / of_spectrum, 1, wanted.n);
  const auto in_one = static_cast<std::size_t>(
      kMostBlocks / (tiles(static_cast<std::int64_t>(inputs)) * tiles(static_cast<std::int64_t>(step))));
  portion = std::clamp<std::size_t>(in_one, 1, portion);
  room->portion = static_cast<std::int64_t>(portion);
  room->d_signal = arrays.scratch(portion * of_spectrum);
  room->d_bins = arrays.scratch(portion * of_spectrum);
  const std::size_t counts = portion * static_cast<std::size_t>(tiles(static_cast<std::int64_t>(inputs)) *
                                                                tiles(static_cast<std::int64_t>(plan_.n_channel())));
  room->d_cut_off = arrays.scratch(counts * sizeof(std::uint32_t));
  device_.compute().zero(room->d_cut_off.data(), room->d_cut_off.bytes());
  device_.up().wait_for(device_.compute().record());
  room_ = std::move(room);
}

void DeviceSpectra::transform(std::int64_t batch) {
  memory::Queue& queue = device_.compute();
  const auto n = static_cast<std::int32_t>(plan_.bank.step());
  auto *signal = room_->d_signal.as<Complex<float>>(), *bins = room_->d_bins.as<Complex<float>>();
  if (!own_transform_) return launch(queue, FourierJob{signal, bins, batch, n}, plan_.bank);
  std::int32_t stride = 1;
  for (const std::int32_t radix : fourier_radices(n)) {
    launch(queue, FourierStepJob{signal, bins, d_roots_.as<Complex<float>>(), batch, n, stride, radix});
    stride *= radix;
    std::swap(signal, bins);
  }
}

SampleView DeviceSpectra::make(const SpectraWanted& wanted, ThreadPool& threads, Cancellation& cancellation) {
  bring_tables();
  if (room_ && (room_->wanted < wanted.n || room_->samples < wanted.block.view.n_time)) cut_off_ += take_cut_off();
  make_room(wanted);
  Room& room = *room_;
  memory::Queue &up = device_.up(), &queue = device_.compute();
  auto* codes = static_cast<std::uint8_t*>(room.codes.get());
  FoldJob folded;
  // What has been queued before still reads the codes there.
  up.wait_for(queue.record());
  folded.from = copy_codes(wanted.block.view, 0, wanted.block.view.n_time, codes, threads);
  folded.from.bytes = room.d_codes.as<std::uint8_t>();
  up.copy_to_device(room.d_codes.data(), codes, static_cast<std::size_t>(folded.from.n_byte));
  room.is_up = up.record();
  queue.wait_for(room.is_up);
  folded.weight = d_weights_.as<float>();
  folded.start = room.d_start.as<std::int64_t>();
  folded.signal = room.d_signal.as<Complex<float>>();
  folded.step = static_cast<std::int32_t>(plan_.bank.step());
  folded.length = static_cast<std::int32_t>(plan_.bank.length());
  folded.turn = static_cast<std::int32_t>(plan_.bank.turn());
  folded.is_plain = plan_.bank.is_plain() ? 1 : 0;

  QuantiseJob rounded;
  rounded.bins = room.d_bins.as<Complex<float>>();
  rounded.phases = d_phases_ ? d_phases_.as<Complex<float>>() : nullptr;
  rounded.codes = room.d_out.as<std::uint8_t>();
  rounded.cut_off = room.d_cut_off.as<std::uint32_t>();
  rounded.bits = CodeBits(plan_.options.format);
  rounded.scale = plan_.scale;
  rounded.step = folded.step;
  rounded.n_channel = static_cast<std::int32_t>(plan_.n_channel());
  rounded.n_input = folded.from.n_input;
  rounded.zero = static_cast<std::int32_t>(plan_.bank.bin_of(0));
  rounded.n_time = static_cast<std::int32_t>(wanted.n);
  for (std::int64_t first = 0; first < rounded.n_time; first += room.portion) {
    if (cancellation.check()) throw Cancelled();
    std::vector<std::int64_t> start;
    for (const std::int64_t shift : plan_.shift)
      start.push_back(plan_.first_sample(wanted.first + first) + shift - wanted.block.first);
    memory::copy_staged(queue, room.d_start.data(), std::as_bytes(std::span(start)));
    folded.n_spectrum = rounded.n_spectrum = static_cast<std::int32_t>(std::min(room.portion, rounded.n_time - first));
    rounded.first = static_cast<std::int32_t>(first);
    launch(queue, folded);
    transform(std::int64_t{folded.from.n_input} * folded.n_spectrum);
    launch(queue, rounded);
  }
  return channel_rows(rounded.codes, plan_.options.format, wanted.n, plan_.n_channel(), plan_.in.n_input);
}

std::uint64_t DeviceSpectra::take_cut_off() {
  std::uint64_t all = std::exchange(cut_off_, 0);
  if (!room_) return all;
  std::vector<std::uint32_t> counts(room_->d_cut_off.bytes() / sizeof(std::uint32_t));
  memory::Queue& queue = device_.compute();
  queue.copy_to_host(counts.data(), room_->d_cut_off.data(), counts.size() * sizeof(counts[0]));
  queue.zero(room_->d_cut_off.data(), counts.size() * sizeof(counts[0]));
  queue.synchronize();
  for (const std::uint32_t count : counts) all += count;
  return all;
}

}  // namespace rimetree::correlator
