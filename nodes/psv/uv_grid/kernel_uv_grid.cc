// Sources to cells, and visibilities from modes, once per instruction set; the best that the machine has is chosen at
// run time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/uv_grid/kernel_uv_grid.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/uv_grid/degrid-inl.h"
#include "nodes/psv/uv_grid/strips-inl.h"

#if HWY_ONCE
namespace rimetree::psv::uv_grid {

HWY_EXPORT(spread_sources);
HWY_EXPORT(degrid_row);

void spread_strip(const Strip& strip) { HWY_DYNAMIC_DISPATCH(spread_sources)(strip); }
void add_samples(const SampledRow& row) { HWY_DYNAMIC_DISPATCH(degrid_row)(row); }

}  // namespace rimetree::psv::uv_grid
#endif  // HWY_ONCE
