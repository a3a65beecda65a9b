#include "nodes/correlator/device/device_products.h"

#include <algorithm>
#include <cstring>

#include "nodes/correlator/device/copied_codes.h"
#include "nodes/correlator/device/product_launch.h"
#include "runtime/core/error.h"
#include "runtime/device/job_launch.h"

namespace rimetree::correlator {

namespace {

using Handle = memory::ResidentArrays::Handle;
/// Portions are whole words of masks, and whole stages of tiles.
constexpr std::size_t kGrain = 64;
/// Long enough that adding registers to sums in memory costs little, short enough for sums of 32 bits.
constexpr std::size_t kMostTimes = 16384, kMostProductsBytes = std::size_t{512} << 20;

std::size_t rounded_up(std::size_t n, std::size_t to) { return (n + to - 1) / to * to; }

}  // namespace

/// A device's part: codes of two portions on their way, samples as the kernels read them, and sums.
class DeviceProducts::Lane {
 public:
  Lane(DeviceContext& context, const DeviceKernel& kernel, const SampleFormat& format, const ProductSums& sums,
       std::span<const PairSums::Pair> pairs, std::size_t portion)
      : context_(context), kernel_(kernel), portion_(portion), n_product_(n_products(sums.n_input) * sums.n_channel) {
    auto& arrays = context.arrays();
    d_pairs_ = arrays.scratch(pairs.size_bytes());
    for (Handle* d_sums : {&d_re_, &d_im_}) *d_sums = arrays.scratch(n_product_ * sizeof(std::int64_t));
    job_.turned = kernel.turned;
    job_.from.n_channel = static_cast<std::int32_t>(sums.n_channel);
    job_.from.n_input = static_cast<std::int32_t>(sums.n_input);
    set_times(portion);
    d_turned_ = arrays.scratch(turned_bytes(job_));
    job_.fragment = d_turned_.as<std::uint32_t>();
    job_.pair = d_turned_.as<std::uint16_t>();
    job_.nibble = d_turned_.as<std::uint8_t>();
    if (kernel.turned == Turned::nibbles)
      d_input_sum_ = arrays.scratch(2 * sums.n_channel * sums.n_input * sizeof(std::int32_t));
    const std::size_t codes = portion * sums.n_channel * sums.n_input * static_cast<std::size_t>(format.bytes),
                      mask = portion / kGrain * sums.n_input * sizeof(std::uint64_t);
    for (Slot& slot : slots_) {
      slot.d_codes = arrays.scratch(codes), slot.codes = context.staging().take(codes);
      slot.d_mask = arrays.scratch(mask), slot.mask = context.staging().take(mask);
    }
    sums_.pair = d_pairs_.as<PairSums::Pair>();
    sums_.re = d_re_.as<std::int64_t>();
    sums_.im = d_im_.as<std::int64_t>();
    sums_.n_pair = static_cast<std::int32_t>(pairs.size());
    sums_.n_input = job_.from.n_input;
    sums_.n_channel = job_.from.n_channel;
    memory::copy_staged(context.compute(), d_pairs_.data(), std::as_bytes(pairs));
    clear();
    // The memory is there, and no longer in use by whoever had it before, once the computing queue gets here.
    context.up().wait_for(context.compute().record());
  }
  // Staging memory must not be given back before the device is done with it, whatever went wrong.
  ~Lane() {
    for (memory::Queue* queue : {&context_.up(), &context_.compute()}) try {
        queue->synchronize();
      } catch (...) {
        continue;  // it has been, or will be, told by another call
      }
  }

  DeviceContext& context() { return context_; }
  void clear() {
    for (const Handle* d_sums : {&d_re_, &d_im_})
      context_.compute().zero(d_sums->data(), n_product_ * sizeof(std::int64_t));
  }
  /// Times [first, first + n) of samples on the host, at most a portion.
  void add(const SampleView& samples, std::size_t first, std::size_t n, const SampleMask* mask, ThreadPool& threads) {
    Slot& slot = next_slot();
    auto* codes = static_cast<std::uint8_t*>(slot.codes.get());
    CodeView view = copy_codes(samples, first, n, codes, threads);
    view.bytes = slot.d_codes.as<std::uint8_t>();
    context_.up().copy_to_device(slot.d_codes.data(), codes, static_cast<std::size_t>(view.n_byte));
    add_view(view, slot, mask, first);
  }
  /// The same of samples on this device.
  void add_there(const SampleView& samples, std::size_t first, std::size_t n, const SampleMask* mask) {
    SampleView part = samples;
    part.bytes += static_cast<std::ptrdiff_t>(first) * samples.time_stride;
    part.n_time = n;
    CodeView view;
    view.bytes = part.bytes;
    view.n_byte = span_of(part);
    view.bits = CodeBits(samples.format);
    view.time_stride = samples.time_stride;
    view.channel_stride = samples.channel_stride;
    view.input_stride = samples.input_stride;
    view.n_time = static_cast<std::int32_t>(n);
    add_view(view, next_slot(), mask, first);
  }
  /// Adds to sums on the host; waits.
  void take_down(ProductSums& sums) {
    const std::size_t bytes = n_product_ * sizeof(std::int64_t);
    for (const auto& [d_sums, to] : {std::pair(&d_re_, &sums.re), {&d_im_, &sums.im}}) {
      std::vector<std::int64_t> own(n_product_);
      context_.compute().copy_to_host(own.data(), d_sums->data(), bytes);
      context_.compute().synchronize();
      for (std::size_t k = 0; k < n_product_; ++k) (*to)[k] += own[k];
    }
  }

 private:
  struct Slot {
    Handle d_codes, d_mask;
    std::shared_ptr<void> codes, mask;  ///< staging memory
    memory::EventPtr done;              ///< its codes have been turned
  };

  Slot& next_slot() {
    Slot& slot = slots_[next_++ % 2];
    if (slot.done) slot.done->wait();
    return slot;
  }
  static std::size_t turned_bytes(const UnpackJob& job) {
    return static_cast<std::size_t>(job.size(Turned::fragments)) * 4 +
           static_cast<std::size_t>(job.size(Turned::channels)) * 2 +
           static_cast<std::size_t>(job.size(Turned::nibbles));
  }
  void set_times(std::size_t n) {
    const std::size_t side = static_cast<std::size_t>(kernel_.variant.down) * 2;  // groups of 16 inputs
    job_.from.n_time = static_cast<std::int32_t>(n);
    job_.n_step = static_cast<std::int32_t>(rounded_up(n, kGrain) / kFragmentTimes);
    job_.n_group = static_cast<std::int32_t>(
        rounded_up((static_cast<std::size_t>(job_.from.n_input) + kFragmentInputs - 1) / kFragmentInputs, side));
  }
  /// Queues everything for codes that are there, or on their way.
  void add_view(CodeView view, Slot& slot, const SampleMask* mask, std::size_t first) {
    view.n_channel = job_.from.n_channel;
    view.n_input = job_.from.n_input;
    if (mask != nullptr) {
      const auto words = (static_cast<std::size_t>(view.n_time) + kGrain - 1) / kGrain,
                 inputs = static_cast<std::size_t>(view.n_input);
      auto* to = static_cast<std::uint64_t*>(slot.mask.get());
      for (std::size_t i = 0; i < inputs; ++i) std::copy_n(mask->bits(i) + first / kGrain, words, to + i * words);
      context_.up().copy_to_device(slot.d_mask.data(), to, inputs * words * sizeof(std::uint64_t));
      view.mask = slot.d_mask.as<std::uint64_t>();
      view.mask_words = static_cast<std::int32_t>(words);
    }
    memory::Queue& queue = context_.compute();
    queue.wait_for(context_.up().record());
    job_.from = view;
    set_times(static_cast<std::size_t>(view.n_time));
    launch(queue, job_);
    slot.done = queue.record();
    launch_products(queue);
  }
  void launch_products(memory::Queue& queue) {
    if (kernel_.turned == Turned::fragments)
      launch(queue, TileJob{job_.fragment, sums_, kernel_.variant, job_.n_step, job_.n_group, 0, job_.from.n_channel});
    else if (kernel_.turned == Turned::channels)
      launch(queue, PairJob{job_.pair, sums_, job_.from.n_time, kernel_.group, kernel_.is_shared ? 1 : 0});
    else
      launch(queue, NibbleJob{job_.nibble, d_input_sum_.as<std::int32_t>(), sums_, job_.from.n_time,
                              static_cast<std::int32_t>(job_.n_padded()), 0, job_.from.n_channel});
  }

  DeviceContext& context_;
  DeviceKernel kernel_;
  std::size_t portion_, n_product_, next_ = 0;
  UnpackJob job_;
  PairSums sums_;
  Handle d_pairs_, d_re_, d_im_, d_turned_, d_input_sum_;
  Slot slots_[2];
};

DeviceProducts::DeviceProducts(std::span<DeviceContext* const> devices, const SampleFormat& format,
                               std::size_t n_channel, std::size_t n_input, Strategy strategy, ThreadPool& threads)
    : format_(format), kernel_(device_kernel(strategy, n_input)), threads_(threads), sums_(n_channel, n_input) {
  check_strategy(strategy, format, n_input);
  const std::vector<PairSums::Pair> pairs = kernel_.pairs(n_input);
  // Codes of two portions, and samples as the kernels read them, which take at most 2 bytes each.
  const std::size_t of_time = n_channel * (2 * static_cast<std::size_t>(format.bytes) * n_input +
                                           2 * rounded_up(n_input, std::size_t{32} * kTileVariants[2].down));
  std::size_t room = kMostProductsBytes;
  for (DeviceContext* device : devices) room = std::min(room, device->arrays().budget_bytes() / 2);
  portion_ = std::clamp(room / of_time / kGrain * kGrain, kGrain, kMostTimes);
  while (true) try {
      for (std::size_t k = 0; k < devices.size(); ++k) {
        const std::size_t begin = pairs.size() * k / devices.size(), end = pairs.size() * (k + 1) / devices.size();
        lanes_.push_back(std::make_unique<Lane>(*devices[k], kernel_, format, sums_,
                                                std::span(pairs).subspan(begin, end - begin), portion_));
      }
      return;
    } catch (const memory::OutOfMemory&) {
      lanes_.clear();
      if (portion_ == kGrain) throw;
      portion_ = std::max(kGrain, portion_ / 2 / kGrain * kGrain);
    }
}

DeviceProducts::~DeviceProducts() = default;

void DeviceProducts::add(const SampleView& samples, const SampleMask* mask, DeviceContext* where) {
  check_shape(sums_, samples);
  if (samples.format.bytes != format_.bytes || samples.format.bits > format_.bits)
    throw Error("samples of format \"" + samples.format.name + "\", expected \"" + format_.name + "\"");
  if (where != nullptr && (lanes_.size() != 1 || where != &lanes_.front()->context()))
    throw Error("the samples are on another device than their products");
  for (std::size_t first = 0; first < samples.n_time; first += portion_) {
    const std::size_t n = std::min(portion_, samples.n_time - first);
    for (const auto& lane : lanes_) {
      if (where != nullptr)
        lane->add_there(samples, first, n, mask);
      else
        lane->add(samples, first, n, mask, threads_);
    }
  }
  add_counts(sums_, samples.n_time, mask);
  are_down_ = false;
}

const ProductSums& DeviceProducts::sums() {
  if (are_down_) return sums_;
  for (auto* numbers : {&sums_.re, &sums_.im}) std::fill(numbers->begin(), numbers->end(), 0);
  for (const auto& lane : lanes_) lane->take_down(sums_);
  are_down_ = true;
  return sums_;
}

void DeviceProducts::clear() {
  for (auto* numbers : {&sums_.re, &sums_.im, &sums_.count}) std::fill(numbers->begin(), numbers->end(), 0);
  for (const auto& lane : lanes_) lane->clear();
  are_down_ = true;
}

}  // namespace rimetree::correlator
