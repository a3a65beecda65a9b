#include "nodes/correlator/unpacking.h"

#include <cstring>

#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/correlator/unpacking.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::correlator {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Signed = hn::RebindToSigned<Floats>;
using Unsigned = hn::RebindToUnsigned<Floats>;

/// Numbers of a format as shifts of 32-bit words; two's complement is excess whose highest bit is turned.
struct Shifts {
  int re_up, im_up, down;
  std::uint32_t turned;
  explicit Shifts(const SampleFormat& format)
      : re_up(32 - format.bits - format.re_shift),
        im_up(format.is_real ? 0 : 32 - format.bits - format.im_shift),
        down(32 - format.bits),
        turned(format.coding == Coding::excess
                   ? 1u << (format.bits - 1 + format.re_shift) | 1u << (format.bits - 1 + format.im_shift)
                   : 0) {}
  hn::Vec<Floats> number(hn::Vec<Signed> code, int up) const {
    return hn::ConvertTo(Floats(), hn::ShiftRightSame(hn::ShiftLeftSame(code, up), down));
  }
};

template <class Code, bool kReal>
void unpack_rows(const std::uint8_t* codes, std::ptrdiff_t time_stride, std::size_t inputs, std::size_t n,
                 const SampleFormat& format, float* to, std::size_t row) {
  const Shifts shifts(format);
  const Floats d;
  const Unsigned du;
  const hn::Rebind<Code, Floats> d_code;
  constexpr std::size_t kLanes = hn::MaxLanes(Floats());
  const auto turned = hn::Set(du, shifts.turned);
  const auto put = [&](hn::Vec<decltype(d_code)> code, float* at) {
    const auto straight = hn::BitCast(Signed(), hn::Xor(hn::PromoteTo(du, code), turned));
    const auto re = shifts.number(straight, shifts.re_up);
    if constexpr (kReal)
      hn::StoreU(re, d, at);
    else
      hn::StoreInterleaved2(re, shifts.number(straight, shifts.im_up), d, at);
  };
  constexpr std::size_t kNumbers = kReal ? 1 : 2;
  for (std::size_t t = 0; t < n; ++t, codes += time_stride, to += row) {
    std::size_t i = 0;
    for (; i + kLanes <= inputs; i += kLanes) {
      HWY_ALIGN Code some[kLanes];
      std::memcpy(some, codes + i * sizeof(Code), sizeof some);
      put(hn::Load(d_code, some), to + kNumbers * i);
    }
    if (i == inputs) continue;
    HWY_ALIGN Code last[kLanes] = {};
    HWY_ALIGN float numbers[kNumbers * kLanes];
    std::memcpy(last, codes + i * sizeof(Code), (inputs - i) * sizeof(Code));
    put(hn::Load(d_code, last), numbers);
    std::memcpy(to + kNumbers * i, numbers, (inputs - i) * kNumbers * sizeof(float));
  }
}

void unpack_all(const std::uint8_t* codes, std::ptrdiff_t time_stride, std::size_t inputs, std::size_t n,
                const SampleFormat& format, float* to, std::size_t row) {
  if (format.is_real)
    unpack_rows<std::uint8_t, true>(codes, time_stride, inputs, n, format, to, row);
  else if (format.bytes == 1)
    unpack_rows<std::uint8_t, false>(codes, time_stride, inputs, n, format, to, row);
  else
    unpack_rows<std::uint16_t, false>(codes, time_stride, inputs, n, format, to, row);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::correlator
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::correlator {

HWY_EXPORT(unpack_all);

void unpack(const std::uint8_t* codes, std::ptrdiff_t time_stride, std::size_t inputs, std::size_t n,
            const SampleFormat& format, float* to, std::size_t row) {
  HWY_DYNAMIC_DISPATCH(unpack_all)(codes, time_stride, inputs, n, format, to, row);
}

}  // namespace rimetree::correlator
#endif  // HWY_ONCE
