#include "nodes/correlator/cross_products.h"

#include <algorithm>
#include <map>

#include "nodes/correlator/group_products.h"
#include "nodes/correlator/one_product.h"
#include "nodes/correlator/packed_nibbles.h"
#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

const std::map<std::string, Strategy>& strategies() {
  static const std::map<std::string, Strategy> names{{"automatic", Strategy::automatic}, {"bytes", Strategy::bytes},
                                                     {"groups2", Strategy::groups2},     {"groups4", Strategy::groups4},
                                                     {"hybrid2", Strategy::hybrid2},     {"hybrid4", Strategy::hybrid4},
                                                     {"packed", Strategy::packed},       {"pairs", Strategy::pairs}};
  return names;
}

}  // namespace

Strategy strategy(const std::string& name) {
  if (const auto found = strategies().find(name); found != strategies().end()) return found->second;
  std::string known;
  for (const std::string& one : strategy_names()) known += (known.empty() ? "" : ", ") + one;
  throw Error("unknown strategy \"" + name + "\"; known are " + known);
}

std::vector<std::string> strategy_names() {
  std::vector<std::string> names;
  for (const auto& [name, strategy] : strategies()) names.push_back(name);
  return names;
}

void check_strategy(Strategy strategy, const SampleFormat& format, std::size_t n_input) {
  if (format.is_float && (strategy == Strategy::packed || strategy == Strategy::bytes))
    throw Error("strategy \"" + std::string(strategy == Strategy::packed ? "packed" : "bytes") +
                "\" takes whole numbers, not those of format \"" + format.name + "\"");
  if (strategy == Strategy::packed && format.bits > 4)
    throw Error("strategy \"packed\" takes samples of at most 4 bits, not those of format \"" + format.name +
                "\" with " + std::to_string(format.bits));
  if (n_input % group_of(strategy) != 0)
    throw Error("groups of " + std::to_string(group_of(strategy)) + " inputs do not divide " + std::to_string(n_input) +
                " inputs");
}

std::size_t group_of(Strategy strategy) {
  if (strategy == Strategy::groups4 || strategy == Strategy::hybrid4) return 4;
  return strategy == Strategy::groups2 || strategy == Strategy::hybrid2 ? 2 : 1;
}

void check_shape(const ProductSums& sums, const SampleView& samples) {
  if (sums.n_channel != samples.n_channel || sums.n_input != samples.n_input)
    throw Error("samples of " + std::to_string(samples.n_channel) + " channels and " + std::to_string(samples.n_input) +
                " inputs, expected " + std::to_string(sums.n_channel) + " and " + std::to_string(sums.n_input));
}

void add_counts(ProductSums& sums, std::size_t n_time, const SampleMask* mask) {
  for (std::size_t i = 0; i < sums.n_input; ++i)
    for (std::size_t j = 0; j <= i; ++j)
      sums.count[product_of(i, j)] += mask == nullptr ? static_cast<std::int64_t>(n_time) : mask->common(i, j);
}

CrossProducts::CrossProducts(std::size_t n_channel, std::size_t n_input, Strategy strategy, ThreadPool& threads)
    : strategy_(strategy), threads_(threads), sums_(n_channel, n_input), blocks_(threads.size()) {}

void CrossProducts::clear() { sums_.clear(); }

void CrossProducts::add(const SampleView& samples, const SampleMask* mask, DeviceContext* where) {
  if (where != nullptr) throw Error("the samples are on a device, and the products are formed on the host");
  if (samples.format.is_float) throw Error("the samples are floats, and the sums those of whole numbers");
  check_shape(sums_, samples);
  check_strategy(strategy_, samples.format, samples.n_input);
  switch (strategy_) {
    case Strategy::automatic:
    case Strategy::bytes:
      add_bytes(samples, mask);
      break;
    case Strategy::packed:
      add_packed_nibbles(samples, mask, threads_, sums_);
      break;
    case Strategy::groups2:
    case Strategy::groups4:
      add_by_groups(samples, mask, Sharing::groups, strategy_ == Strategy::groups2 ? 2 : 4, sums_);
      break;
    case Strategy::hybrid2:
    case Strategy::hybrid4:
      add_by_groups(samples, mask, Sharing::hybrid, strategy_ == Strategy::hybrid2 ? 2 : 4, sums_);
      break;
    case Strategy::pairs:
      add_pairs(samples, mask);
      break;
  }
  add_counts(sums_, samples.n_time, mask);
}

void CrossProducts::add_bytes(const SampleView& samples, const SampleMask* mask) {
  const ByteProducts& products = byte_products();
  const std::size_t n_product = n_products(samples.n_input), step = products.block_time;
  const auto filled = [&](std::size_t channel, std::size_t first, int worker) -> const BlockProducts& {
    auto& block = blocks_[static_cast<std::size_t>(worker)];
    if (!block) block = products.make(samples.n_input, step);
    block->fill(samples, channel, first, std::min(step, samples.n_time - first), mask);
    return *block;
  };
  const auto add_part = [&](const BlockProducts& block, std::size_t channel, std::size_t part) {
    block.add_part(part, sums_.re.data() + channel * n_product, sums_.im.data() + channel * n_product);
  };
  // Channels side by side, each thread with a block of its own; of few channels the parts of one block.
  if (samples.n_channel >= static_cast<std::size_t>(threads_.size())) {
    threads_.parallel_for(samples.n_channel, 1, [&](std::size_t begin, std::size_t end, int worker) {
      for (std::size_t channel = begin; channel < end; ++channel)
        for (std::size_t first = 0; first < samples.n_time; first += step) {
          const BlockProducts& block = filled(channel, first, worker);
          for (std::size_t part = 0; part < block.n_part(); ++part) add_part(block, channel, part);
        }
    });
    return;
  }
  for (std::size_t channel = 0; channel < samples.n_channel; ++channel)
    for (std::size_t first = 0; first < samples.n_time; first += step) {
      const BlockProducts& block = filled(channel, first, 0);
      threads_.parallel_for(block.n_part(), 1, [&](std::size_t begin, std::size_t end, int) {
        for (std::size_t part = begin; part < end; ++part) add_part(block, channel, part);
      });
    }
}

void CrossProducts::add_pairs(const SampleView& samples, const SampleMask* mask) {
  const std::size_t n_product = n_products(samples.n_input);
  threads_.parallel_for(samples.n_channel * samples.n_input, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t channel = part / samples.n_input, i = part % samples.n_input;
      for (std::size_t j = 0; j <= i; ++j) {
        std::int64_t re = 0, im = 0;
        for (std::size_t t = 0; t < samples.n_time; ++t) {
          if (mask != nullptr && !(mask->counts(i, t) && mask->counts(j, t))) continue;
          add_product(samples.sample(t, channel, i), samples.sample(t, channel, j), re, im);
        }
        sums_.re[channel * n_product + product_of(i, j)] += re;
        sums_.im[channel * n_product + product_of(i, j)] += im;
      }
    }
  });
}

}  // namespace rimetree::correlator
