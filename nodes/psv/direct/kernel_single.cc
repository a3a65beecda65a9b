// The PSV kernel in single precision, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/direct/kernel_single.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/direct/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {

void evaluate_single(const HostSum<float>& job, std::size_t row_begin, std::size_t row_end, const Output& out) {
  direct::HWY_NAMESPACE::evaluate_range(job, row_begin, row_end, out);
}

std::size_t lanes_single() { return hn::Lanes(hn::ScalableTag<float>()); }

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv {

HWY_EXPORT(evaluate_single);
HWY_EXPORT(lanes_single);

void evaluate_rows(const HostSum<float>& sum, std::size_t row_begin, std::size_t row_end, const Output& out) {
  HWY_DYNAMIC_DISPATCH(evaluate_single)(sum, row_begin, row_end, out);
}

std::size_t lanes_of(float) { return HWY_DYNAMIC_DISPATCH(lanes_single)(); }

}  // namespace rimetree::psv
#endif  // HWY_ONCE
