// The matrix product in reverse, once per instruction set; the best that the machine has is chosen at run time.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/adjoint/kernel_sides_reverse.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/adjoint/sides_reverse-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {

void pull_window(const ReverseSides& job, const SidesTile& tile, std::size_t window, std::span<const SideBlock> blocks,
                 const SidesScratch& scratch, SourceAdjoints& to) {
  SidesReverse(job, tile, window, scratch, to).run(blocks);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv::adjoint {

HWY_EXPORT(pull_window);

void pull_back_window(const ReverseSides& job, const SidesTile& tile, std::size_t window,
                      std::span<const SideBlock> blocks, const SidesScratch& scratch, SourceAdjoints& to) {
  HWY_DYNAMIC_DISPATCH(pull_window)(job, tile, window, blocks, scratch, to);
}

}  // namespace rimetree::psv::adjoint
#endif  // HWY_ONCE
