// Instruction sets that kernels are built for: AVX-512, AVX2, SSE4 (two doubles at a time, for older machines)
// and what the compiler may assume anyway (on 64-bit Arm that is NEON). The others would cost compile time and serve
// few machines; vectors of unknown length (SVE, RVV) cannot be held in arrays, as the kernel's accumulators are. To be
// included before hwy/highway.h.
#pragma once

#define HWY_DISABLED_TARGETS (HWY_SSSE3 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | HWY_RVV)
