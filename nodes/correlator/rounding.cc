#include "nodes/correlator/rounding.h"

#include <algorithm>
#include <cmath>

#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/correlator/rounding.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::correlator {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

#if HWY_TARGET == HWY_SCALAR

/// One number after the other, where vectors hold no pair.
std::size_t round_one_by_one(const float* numbers, std::size_t n, const float* phases, float scale,
                             const SampleFormat& format, std::uint16_t* codes) {
  const auto low = float(format.lowest()), high = float(format.highest());
  std::size_t cut = 0;
  std::uint64_t saturated = 0;
  for (std::size_t k = 0; k < n; ++k) {
    const float *x = numbers + 2 * k, *y = phases == nullptr ? nullptr : phases + 2 * k;
    const float re = y == nullptr ? x[0] * scale : x[0] * y[0] - x[1] * y[1],
                im = y == nullptr ? x[1] * scale : x[0] * y[1] + x[1] * y[0];
    for (const float one : {re, im}) cut += one < low - 0.5f || one > high + 0.5f ? 1 : 0;
    codes[k] = format.encode(static_cast<int>(std::nearbyint(std::clamp(re, low, high))),
                             static_cast<int>(std::nearbyint(std::clamp(im, low, high))), saturated);
  }
  return cut;
}
std::size_t round_scaled(const float* numbers, std::size_t n, float scale, const SampleFormat& format,
                         std::uint16_t* codes) {
  return round_one_by_one(numbers, n, nullptr, scale, format, codes);
}
std::size_t round_turned(const float* numbers, std::size_t n, const float* phases, const SampleFormat& format,
                         std::uint16_t* codes) {
  return round_one_by_one(numbers, n, phases, 0, format, codes);
}

#else

using Floats = hn::ScalableTag<float>;
using V = hn::Vec<Floats>;

/// Codes of a vector's numbers, and how many were cut off.
struct Coder {
  const hn::RebindToSigned<Floats> d32{};
  const hn::Repartition<std::uint64_t, Floats> d64{};
  const hn::Rebind<std::uint16_t, decltype(d64)> d16{};
  V low, high, lower, higher;
  hn::Vec<decltype(d32)> mask, offset, re_factor_im_factor;

  explicit Coder(const SampleFormat& format) {
    const Floats d;
    low = hn::Set(d, float(format.lowest()));
    high = hn::Set(d, float(format.highest()));
    lower = hn::Set(d, float(format.lowest()) - 0.5f);
    higher = hn::Set(d, float(format.highest()) + 0.5f);
    mask = hn::Set(d32, (1 << format.bits) - 1);
    offset = hn::Set(d32, format.coding == Coding::excess ? 1 << (format.bits - 1) : 0);
    re_factor_im_factor = hn::OddEven(hn::Set(d32, 1 << format.im_shift), hn::Set(d32, 1 << format.re_shift));
  }
  /// Codes of as many complex numbers as `x` has, in the lower halves of 32 bits each.
  std::size_t code(V x, std::uint16_t* to) const {
    const Floats d;
    const std::size_t cut = hn::CountTrue(d, hn::Or(hn::Lt(x, lower), hn::Gt(x, higher)));
    const auto whole = hn::NearestInt(hn::Min(hn::Max(x, low), high));
    const auto parts = hn::Mul(hn::And(hn::Add(whole, offset), mask), re_factor_im_factor);
    const auto pairs = hn::BitCast(d64, parts);
    hn::StoreU(hn::TruncateTo(d16, hn::Or(pairs, hn::ShiftRight<32>(pairs))), d16, to);
    return cut;
  }
};

/// `scaled`: the vector of numbers from `at` on of two arrays of them.
template <class Scaled>
std::size_t round_all(const float* numbers, const float* phases, std::size_t n, const SampleFormat& format,
                      std::uint16_t* codes, const Scaled& scaled) {
  const Coder coder(format);
  constexpr std::size_t kMost = hn::MaxLanes(Floats());
  const std::size_t together = hn::Lanes(Floats()) / 2;
  std::size_t cut = 0, k = 0;
  for (; k + together <= n; k += together) cut += coder.code(scaled(numbers + 2 * k, phases + 2 * k), codes + k);
  if (k == n) return cut;
  // The last ones, filled up with zeros.
  HWY_ALIGN float last[kMost] = {}, last_phases[kMost] = {};
  HWY_ALIGN std::uint16_t last_codes[kMost];
  std::copy_n(numbers + 2 * k, 2 * (n - k), last);
  if (phases != nullptr) std::copy_n(phases + 2 * k, 2 * (n - k), last_phases);
  cut += coder.code(scaled(last, last_phases), last_codes);
  std::copy_n(last_codes, n - k, codes + k);
  return cut;
}

std::size_t round_scaled(const float* numbers, std::size_t n, float scale, const SampleFormat& format,
                         std::uint16_t* codes) {
  const Floats d;
  const V factor = hn::Set(d, scale);
  return round_all(numbers, nullptr, n, format, codes,
                   [&](const float* x, const float*) { return hn::Mul(hn::LoadU(d, x), factor); });
}

std::size_t round_turned(const float* numbers, std::size_t n, const float* phases, const SampleFormat& format,
                         std::uint16_t* codes) {
  const Floats d;
  return round_all(numbers, phases, n, format, codes, [&](const float* at, const float* phase) {
    const V x = hn::LoadU(d, at), y = hn::LoadU(d, phase);
    const V a = hn::Mul(hn::DupEven(x), y), b = hn::Mul(hn::DupOdd(x), hn::Reverse2(d, y));
    return hn::OddEven(hn::Add(a, b), hn::Sub(a, b));
  });
}

#endif

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::correlator
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::correlator {

HWY_EXPORT(round_scaled);
HWY_EXPORT(round_turned);

std::size_t round_to_codes(const float* numbers, std::size_t n, float scale, const SampleFormat& format,
                           std::uint16_t* codes) {
  return HWY_DYNAMIC_DISPATCH(round_scaled)(numbers, n, scale, format, codes);
}
std::size_t round_to_codes(const float* numbers, std::size_t n, const float* phases, const SampleFormat& format,
                           std::uint16_t* codes) {
  return HWY_DYNAMIC_DISPATCH(round_turned)(numbers, n, phases, format, codes);
}

void scale_numbers(const float* numbers, std::size_t n, float scale, const float* phases, float* to) {
  if (phases == nullptr) {
    for (std::size_t k = 0; k < 2 * n; ++k) to[k] = scale * numbers[k];
    return;
  }
  for (std::size_t k = 0; k < 2 * n; k += 2) {
    const float re = numbers[k] * phases[k] - numbers[k + 1] * phases[k + 1];
    to[k + 1] = numbers[k] * phases[k + 1] + numbers[k + 1] * phases[k];
    to[k] = re;
  }
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
