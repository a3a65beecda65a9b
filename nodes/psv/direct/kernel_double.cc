// The PSV kernel in double precision, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/direct/kernel_double.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/direct/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {

void evaluate_double(const RowsJob<double>& job, std::size_t row_begin, std::size_t row_end, const Output& out) {
  evaluate_range(job, row_begin, row_end, out);
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

template <>
void evaluate_rows<double>(const Sky<double>& sky, const Channels& channels, const Rows& rows, const JonesTerms& jones,
                           std::size_t row_begin, std::size_t row_end, Workspace<double>& workspace,
                           const Output& out) {
  const RowsJob<double> job{sky, channels, rows, jones, workspace.scratch()};
  HWY_DYNAMIC_DISPATCH(evaluate_double)(job, row_begin, row_end, out);
}

template <>
std::size_t rows_per_block<double>() {
  return HWY_DYNAMIC_DISPATCH(lanes_double)();
}

std::string instruction_set() { return HWY_DYNAMIC_DISPATCH(target_name)(); }

}  // namespace rimetree::psv
#endif  // HWY_ONCE
