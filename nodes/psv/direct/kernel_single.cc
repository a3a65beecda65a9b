// The PSV kernel in single precision, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/direct/kernel_single.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/direct/rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {

void evaluate_single(const RowsJob<float>& job, std::size_t row_begin, std::size_t row_end, const Output& out) {
  evaluate_range(job, row_begin, row_end, out);
}

std::size_t lanes_single() { return hn::Lanes(hn::ScalableTag<float>()); }

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv {

HWY_EXPORT(evaluate_single);
HWY_EXPORT(lanes_single);

template <>
void evaluate_rows<float>(const Sky<float>& sky, const Channels& channels, const Rows& rows, const JonesTerms& jones,
                          std::size_t row_begin, std::size_t row_end, Workspace<float>& workspace, const Output& out) {
  const RowsJob<float> job{sky, channels, rows, jones, workspace.scratch()};
  HWY_DYNAMIC_DISPATCH(evaluate_single)(job, row_begin, row_end, out);
}

template <>
std::size_t rows_per_block<float>() {
  return HWY_DYNAMIC_DISPATCH(lanes_single)();
}

}  // namespace rimetree::psv
#endif  // HWY_ONCE
