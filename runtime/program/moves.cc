// Numbers from and to memory, and sums of them.
#include "runtime/math/simd_targets.h"
#include "runtime/program/kernels.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "runtime/program/moves.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::program {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using D = hn::CappedTag<double, kStep>;
using V = hn::Vec<D>;

void split(const double* pairs, double* re, double* im, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V a, b;
    hn::LoadInterleaved2(d, pairs + 2 * i, a, b);
    hn::StoreU(a, d, re + i);
    hn::StoreU(b, d, im + i);
  }
  for (; i < n; ++i) re[i] = pairs[2 * i], im[i] = pairs[2 * i + 1];
}
void join(const double* re, const double* im, double* pairs, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes)
    hn::StoreInterleaved2(hn::LoadU(d, re + i), hn::LoadU(d, im + i), d, pairs + 2 * i);
  for (; i < n; ++i) pairs[2 * i] = re[i], pairs[2 * i + 1] = im[i];
}

void fill(double number, double* to, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  const V all = hn::Set(d, number);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(all, d, to + i);
  for (; i < n; ++i) to[i] = number;
}
void add(const double* numbers, double* to, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) hn::StoreU(hn::Add(hn::LoadU(d, to + i), hn::LoadU(d, numbers + i)), d, to + i);
  for (; i < n; ++i) to[i] += numbers[i];
}
void add_joined(const double* re, const double* im, double* pairs, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  std::size_t i = 0;
  for (; i + lanes <= n; i += lanes) {
    V a, b;
    hn::LoadInterleaved2(d, pairs + 2 * i, a, b);
    hn::StoreInterleaved2(hn::Add(a, hn::LoadU(d, re + i)), hn::Add(b, hn::LoadU(d, im + i)), d, pairs + 2 * i);
  }
  for (; i < n; ++i) pairs[2 * i] += re[i], pairs[2 * i + 1] += im[i];
}
// In kStep sums, whatever the length of vectors is.
double sum(const double* numbers, std::size_t n) {
  const D d;
  const std::size_t lanes = hn::Lanes(d);
  HWY_ALIGN double sums[kStep] = {};
  std::size_t i = 0;
  if (n >= kStep) {
    constexpr std::size_t kMost = kStep / 2;  // vectors of at least two
    V parts[kMost];
    const std::size_t vectors = kStep / lanes;
    if (vectors <= kMost) {
      for (std::size_t k = 0; k < vectors; ++k) parts[k] = hn::Zero(d);
      for (; i + kStep <= n; i += kStep)
        for (std::size_t k = 0; k < vectors; ++k) parts[k] = hn::Add(parts[k], hn::LoadU(d, numbers + i + k * lanes));
      for (std::size_t k = 0; k < vectors; ++k) hn::Store(parts[k], d, sums + k * lanes);
    }
  }
  for (; i < n; ++i) sums[i % kStep] += numbers[i];
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::program
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::program {

HWY_EXPORT(split);
HWY_EXPORT(join);
HWY_EXPORT(fill);
HWY_EXPORT(add);
HWY_EXPORT(add_joined);
HWY_EXPORT(sum);

void split_complex(const double* pairs, double* re, double* im, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(split)(pairs, re, im, n);
}
void join_complex(const double* re, const double* im, double* pairs, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(join)(re, im, pairs, n);
}

void fill_numbers(double number, double* to, std::size_t n) { HWY_DYNAMIC_DISPATCH(fill)(number, to, n); }
void add_numbers(const double* numbers, double* to, std::size_t n) { HWY_DYNAMIC_DISPATCH(add)(numbers, to, n); }
void add_complex(const double* re, const double* im, double* pairs, std::size_t n) {
  HWY_DYNAMIC_DISPATCH(add_joined)(re, im, pairs, n);
}
double sum_numbers(const double* numbers, std::size_t n) { return HWY_DYNAMIC_DISPATCH(sum)(numbers, n); }

}  // namespace rimetree::program
#endif  // HWY_ONCE
