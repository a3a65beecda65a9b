#include "nodes/correlator/float_products.h"

#include <algorithm>
#include <cstring>

#include "nodes/correlator/group_products.h"
#include "nodes/correlator/one_product.h"
#include "runtime/core/error.h"
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/correlator/float_products.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::correlator {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

constexpr std::size_t kGroup = 16;  ///< inputs of a line: their real parts, then their imaginary ones
using Floats = hn::CappedTag<float, kGroup>;
using V = hn::Vec<Floats>;
constexpr std::size_t kOfVector = hn::MaxLanes(Floats());

/// Products of inputs i and i + 1 with a vector of inputs j, over the block's times.
void tile(const float* block, std::size_t n_time, std::size_t n_input, std::size_t i, std::size_t j, double* re,
          double* im) {
  const Floats d;
  const float* many = block + (j / kGroup * kFloatTimes * 2) * kGroup + j % kGroup;
  const float* one = block + (i / kGroup * kFloatTimes * 2) * kGroup + i % kGroup;
  V sum_re[2] = {hn::Zero(d), hn::Zero(d)}, sum_im[2] = {hn::Zero(d), hn::Zero(d)};
  for (std::size_t t = 0; t < n_time; ++t, many += 2 * kGroup, one += 2 * kGroup) {
    const V x = hn::LoadU(d, many), y = hn::LoadU(d, many + kGroup);
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
      const V a = hn::Set(d, one[r]), b = hn::Set(d, one[kGroup + static_cast<std::size_t>(r)]);
      sum_re[r] = hn::MulAdd(b, y, hn::MulAdd(a, x, sum_re[r]));
      sum_im[r] = hn::NegMulAdd(a, y, hn::MulAdd(b, x, sum_im[r]));
    }
  }
  HWY_ALIGN float lane[2][kOfVector];
  for (std::size_t r = 0; r < 2; ++r) {
    if (i + r >= n_input || j > i + r) continue;
    hn::Store(sum_re[r], d, lane[0]);
    hn::Store(sum_im[r], d, lane[1]);
    const std::size_t at = product_of(i + r, j), n = std::min(kOfVector, i + r - j + 1);
    for (std::size_t k = 0; k < n; ++k) {
      re[at + k] += double(lane[0][k]);
      im[at + k] += double(lane[1][k]);
    }
  }
}

void add_float_block(const float* block, std::size_t n_time, std::size_t n_input, double* re, double* im) {
  for (std::size_t i = 0; i < n_input; i += 2)
    for (std::size_t j = 0; j <= std::min(i + 1, n_input - 1); j += kOfVector)
      tile(block, n_time, n_input, i, j, re, im);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::correlator
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::correlator {

HWY_EXPORT(add_float_block);

namespace {

constexpr std::size_t kLine = 16;

/// Times [first, first + n) of a channel as [16 inputs][time][re, im][16]; what does not count, or is not there, is 0.
void fill_floats(const SampleView& samples, std::size_t channel, std::size_t first, std::size_t n,
                 const SampleMask* mask, std::vector<float>& block) {
  const std::size_t groups = (samples.n_input + kLine - 1) / kLine;
  block.assign(groups * kFloatTimes * 2 * kLine, 0.0f);
  for (std::size_t t = 0; t < n; ++t)
    for (std::size_t i = 0; i < samples.n_input; ++i) {
      if (mask != nullptr && !mask->counts(i, first + t)) continue;
      const Complex<float> x = samples.value(first + t, channel, i);
      float* line = block.data() + (i / kLine * kFloatTimes + t) * 2 * kLine + i % kLine;
      line[0] = x.re;
      line[kLine] = x.im;
    }
}

}  // namespace

FloatProducts::FloatProducts(std::size_t n_channel, std::size_t n_input, Strategy strategy, ThreadPool& threads)
    : strategy_(strategy), threads_(threads), sums_(n_channel, n_input, true), blocks_(threads.size()) {}

void FloatProducts::add(const SampleView& samples, const SampleMask* mask, DeviceContext* where) {
  if (where != nullptr || !samples.format.is_float) throw Error("the samples are no floats in the host's memory");
  check_shape(sums_, samples);
  check_strategy(strategy_, samples.format, samples.n_input);
  if (strategy_ == Strategy::automatic)
    add_vectors(samples, mask);
  else if (strategy_ == Strategy::pairs)
    add_pairs(samples, mask);
  else
    add_by_groups(samples, mask,
                  strategy_ == Strategy::groups2 || strategy_ == Strategy::groups4 ? Sharing::groups : Sharing::hybrid,
                  group_of(strategy_), sums_);
  add_counts(sums_, samples.n_time, mask);
}

void FloatProducts::add_vectors(const SampleView& samples, const SampleMask* mask) {
  const std::size_t n_product = n_products(samples.n_input);
  threads_.parallel_for(samples.n_channel, 1, [&](std::size_t begin, std::size_t end, int worker) {
    std::vector<float>& block = blocks_[static_cast<std::size_t>(worker)];
    for (std::size_t channel = begin; channel < end; ++channel)
      for (std::size_t first = 0; first < samples.n_time; first += kFloatTimes) {
        const std::size_t n = std::min(kFloatTimes, samples.n_time - first);
        fill_floats(samples, channel, first, n, mask, block);
        HWY_DYNAMIC_DISPATCH(add_float_block)
        (block.data(), n, samples.n_input, sums_.float_re.data() + channel * n_product,
         sums_.float_im.data() + channel * n_product);
      }
  });
}

void FloatProducts::add_pairs(const SampleView& samples, const SampleMask* mask) {
  const std::size_t n_product = n_products(samples.n_input);
  threads_.parallel_for(samples.n_channel * samples.n_input, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t part = begin; part < end; ++part) {
      const std::size_t channel = part / samples.n_input, i = part % samples.n_input;
      const auto number = [&](std::size_t time, std::size_t input) {
        const Complex<float> x = samples.value(time, channel, input);
        return Complex<double>{double(x.re), double(x.im)};
      };
      for (std::size_t j = 0; j <= i; ++j) {
        double re = 0, im = 0;
        for (std::size_t t = 0; t < samples.n_time; ++t) {
          if (mask != nullptr && !(mask->counts(i, t) && mask->counts(j, t))) continue;
          add_product(number(t, i), number(t, j), re, im);
        }
        sums_.float_re[channel * n_product + product_of(i, j)] += re;
        sums_.float_im[channel * n_product + product_of(i, j)] += im;
      }
    }
  });
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
