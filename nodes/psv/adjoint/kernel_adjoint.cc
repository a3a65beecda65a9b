// The adjoint of the PSV kernel, once per instruction set, and how it is shared out among threads.
#include "runtime/core/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "nodes/psv/adjoint/kernel_adjoint.cc"
#include "hwy/foreach_target.h"  // must come before highway.h
#include "hwy/highway.h"
#include "nodes/psv/adjoint/adjoint_rows-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {

void pull_back_target(const AdjointJob& job, const AdjointPart& part, Workspace<double>& workspace,
                      SourceAdjoints& out) {
  pull_part(job, part, workspace, out);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace rimetree::psv {

HWY_EXPORT(pull_back_target);

void pull_back_part(const AdjointJob& job, const AdjointPart& part, Workspace<double>& workspace, SourceAdjoints& out) {
  HWY_DYNAMIC_DISPATCH(pull_back_target)(job, part, workspace, out);
}

}  // namespace rimetree::psv
#endif  // HWY_ONCE
