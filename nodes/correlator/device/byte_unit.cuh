// Matrix units of a GPU for 8-bit integers (see byte_unit.h), by the instructions themselves. They are volatile: all
// threads of a warp must come to each of them together.
#pragma once

#include "nodes/correlator/device/tile_job.h"

namespace rimetree::correlator {

/// m16n8k32 (sm_80 and newer), or four m8n8k16 (sm_75), whose fragments are the same words.
struct GpuByteUnit {
  static constexpr int kLanes = 32, kSums = 4;
  struct Left {
    Quad quad;
  };
  struct Right {
    Quad quad;
  };
  struct Sum {
    std::int32_t x[kSums];
  };
  template <class Side>
  RT_HD static void load(Side& to, const Quad (&from)[kFragmentWords / 4], int lane) {
    to.quad = from[lane];
  }

  template <int kHalf>
  RT_HD static void multiply_add([[maybe_unused]] Sum& sum, [[maybe_unused]] const Left& left,
                                 [[maybe_unused]] const Right& right) {
    [[maybe_unused]] const std::uint32_t(&a)[4] = left.quad.x, (&b)[4] = right.quad.x;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k32.row.col.s32.s8.s8.s32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+r"(sum.x[0]), "+r"(sum.x[1]), "+r"(sum.x[2]), "+r"(sum.x[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * kHalf]), "r"(b[2 * kHalf + 1]));
#elif defined(__CUDA_ARCH__)
    RT_UNROLL
    for (int word = 0; word < 4; ++word)
      asm volatile("mma.sync.aligned.m8n8k16.row.col.s32.s8.s8.s32 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+r"(sum.x[word % 2 * 2]), "+r"(sum.x[word % 2 * 2 + 1])
                   : "r"(a[word]), "r"(b[2 * kHalf + word / 2]));
#endif
  }
  /// Rows lane / 4 (+ 8), columns 2 (lane % 4) and the next.
  RT_HD static int row(int i, int lane) { return lane / 4 + i / 2 * 8; }
  RT_HD static int column(int i, int lane) { return lane % 4 * 2 + i % 2; }
};

}  // namespace rimetree::correlator
