// The matrix product on the host, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/matrix/kernel_sides.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/matrix/sides_tile-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {

void run_window(const SidesSum& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch) {
  SidesForward(job, tile, window, scratch).run();
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv::matrix {

HWY_EXPORT(run_window);

void evaluate_sides(const SidesSum& job, const SidesTile& tile, std::size_t window, const SidesScratch& scratch) {
  HWY_DYNAMIC_DISPATCH(run_window)(job, tile, window, scratch);
}

}  // namespace rimetree::psv::matrix
#endif  // HWY_ONCE
