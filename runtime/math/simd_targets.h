// Instruction sets that kernels are built for: AVX-512, AVX2 and what the compiler may assume anyway (on 64-bit Arm
// that is NEON; x86 without AVX2, older than 2013, goes number by number). The others would cost compile time and serve
// few machines; vectors of unknown length (SVE, RVV) cannot be held in arrays, as the kernel's accumulators are. To be
// included before hwy/highway.h.
#pragma once

#define HWY_DISABLED_TARGETS \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
