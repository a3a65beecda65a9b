// The PSV kernel in double precision, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/direct/kernel_double.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/direct/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {

void evaluate_double(const HostSum<double>& job, std::size_t row_begin, std::size_t row_end, const Output& out) {
  direct::HWY_NAMESPACE::evaluate_range(job, row_begin, row_end, out);
}

std::size_t lanes_double() { return hn::Lanes(hn::ScalableTag<double>()); }

const char* target_name() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv {

HWY_EXPORT(evaluate_double);
HWY_EXPORT(lanes_double);
HWY_EXPORT(target_name);

void evaluate_rows(const HostSum<double>& sum, std::size_t row_begin, std::size_t row_end, const Output& out) {
  HWY_DYNAMIC_DISPATCH(evaluate_double)(sum, row_begin, row_end, out);
}

std::size_t lanes_of(double) { return HWY_DYNAMIC_DISPATCH(lanes_double)(); }

std::string instruction_set() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace rimetree::psv
#endif  // HWY_ONCE
