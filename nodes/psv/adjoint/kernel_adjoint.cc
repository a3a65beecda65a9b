// The adjoint of the PSV kernel, once per instruction set, and how it is shared out among threads.
#include "runtime/math/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/adjoint/kernel_adjoint.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/adjoint/adjoint_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {

void pull_back_target(const ReverseSum& job, const AdjointPortion& portion, Workspace<double>& workspace,
                      SourceAdjoints& out) {
  pull_portion(job, portion, workspace, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv::adjoint {

HWY_EXPORT(pull_back_target);

void pull_back_portion(const ReverseSum& job, const AdjointPortion& portion, Workspace<double>& workspace,
                       SourceAdjoints& out) {
  HWY_DYNAMIC_DISPATCH(pull_back_target)(job, portion, workspace, out);
}

}  // namespace rimetree::psv::adjoint
#endif  // HWY_ONCE
