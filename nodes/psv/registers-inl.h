// What keeps compilers from reading a vector again. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_REGISTERS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_REGISTERS_INL_H_
#undef RIMETREE_NODES_PSV_REGISTERS_INL_H_
#else
#define RIMETREE_NODES_PSV_REGISTERS_INL_H_
#endif

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv {
namespace HWY_NAMESPACE {

/// Keeps the compiler from reading v from memory again at each of its uses: the innermost loops would then be limited
/// by loads.
template <class V>
HWY_INLINE void keep_in_register([[maybe_unused]] V& v) {
#if HWY_ARCH_X86 && (HWY_COMPILER_GCC || HWY_COMPILER_CLANG)
  asm("" : "+v"(v.raw));
#endif
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_REGISTERS_INL_H_
