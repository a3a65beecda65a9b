#include "runtime/python/multiply_add_peak.h"

#include <algorithm>
#include <ctime>

#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/python/multiply_add_peak.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Runs `count` rounds of independent multiply-adds; returns how many single ones that were, and a result to keep.
template <class T>
double chains(std::size_t count, double& result) {
  const hn::ScalableTag<T> d;
  using V = hn::Vec<decltype(d)>;
  // Enough chains to hide the latency of two units of five cycles, few enough for 16 registers.
  constexpr int kChains = 12;
  V a[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) a[i] = hn::Set(d, T(i));
  const V x = hn::Set(d, T(0.999)), y = hn::Set(d, T(1e-3));
  for (std::size_t k = 0; k < count; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) a[i] = hn::MulAdd(a[i], x, y);
  }
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) result += hn::GetLane(a[i]);
  return double(count) * kChains * double(hn::Lanes(d));
}

/// The same of pairs of 16-bit numbers.
double chains_short(std::size_t count, double& result) {
#if HWY_TARGET == HWY_SCALAR
  return chains<float>(count, result);
#else
  const hn::ScalableTag<std::int16_t> d;
  const hn::RepartitionToWide<decltype(d)> d32;
  constexpr int kChains = 12;
  hn::Vec<decltype(d32)> a[kChains], rest[kChains];
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) a[i] = rest[i] = hn::Zero(d32);
  const auto x = hn::Set(d, 1);
  for (std::size_t k = 0; k < count; ++k) {
#pragma GCC unroll 12
    for (int i = 0; i < kChains; ++i) a[i] = hn::ReorderWidenMulAccumulate(d32, x, x, a[i], rest[i]);
  }
#pragma GCC unroll 12
  for (int i = 0; i < kChains; ++i) result += double(hn::GetLane(a[i]) & 1);
  return double(count) * kChains * double(hn::Lanes(d));
#endif
}

double chains_single(std::size_t count, double& result) { return chains<float>(count, result); }
double chains_double(std::size_t count, double& result) { return chains<double>(count, result); }
const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace rimetree
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree {

HWY_EXPORT(chains_single);
HWY_EXPORT(chains_double);
HWY_EXPORT(chains_short);
HWY_EXPORT(target_name);

namespace {

template <class F>
double best_rate(F&& run) {
  double best = 0, sink = 0;
  for (int repetition = 0; repetition < 10; ++repetition) {
    const std::clock_t start = std::clock();
    const double work = run(sink);
    best = std::max(best, work * CLOCKS_PER_SEC / double(std::clock() - start));
  }
  return sink < 0 ? 0 : best;  // never negative: the chains converge to 1
}

constexpr std::size_t kRounds = 4000000;

#if defined(__x86_64__)
/// Dot products of four bytes (AVX-512 VNNI), in registers that are named: compilers copy those of arrays about.
__attribute__((target("avx512f,avx512vnni"))) double chains_bytes(std::size_t count) {
  for (std::size_t k = 0; k < count; ++k)
    asm volatile(
        "vpdpbusd %%zmm30, %%zmm31, %%zmm16\n\tvpdpbusd %%zmm30, %%zmm31, %%zmm17\n\t"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm18\n\tvpdpbusd %%zmm30, %%zmm31, %%zmm19\n\t"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm20\n\tvpdpbusd %%zmm30, %%zmm31, %%zmm21\n\t"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm22\n\tvpdpbusd %%zmm30, %%zmm31, %%zmm23\n\t"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm24\n\tvpdpbusd %%zmm30, %%zmm31, %%zmm25\n\t"
        "vpdpbusd %%zmm30, %%zmm31, %%zmm26\n\tvpdpbusd %%zmm30, %%zmm31, %%zmm27"
        :
        :
        : "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26", "xmm27");
  return double(count) * 12 * 64;
}
#endif

double best_rate_of_bytes() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx512vnni")) return best_rate([](double&) { return chains_bytes(kRounds); });
#endif
  return best_rate([](double& sink) { return HWY_DYNAMIC_DISPATCH(chains_short)(kRounds, sink); });
}

}  // namespace

MultiplyAddPeak multiply_add_peak() {
  return {best_rate([](double& sink) { return HWY_DYNAMIC_DISPATCH(chains_single)(kRounds, sink); }),
          best_rate([](double& sink) { return HWY_DYNAMIC_DISPATCH(chains_double)(kRounds, sink); }),
          best_rate_of_bytes(), HWY_DYNAMIC_DISPATCH(target_name)()};
}

}  // namespace rimetree
#endif  // HWY_ONCE
