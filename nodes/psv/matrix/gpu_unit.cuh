// Matrix units of a GPU (see unit.h), by the instructions themselves: the layout of their fragments is documented (PTX
// ISA, "Warp-level matrix instructions"), that of nvcuda::wmma is not, and without it planes could not be weighted, nor
// sums scattered to their rows, without a detour through shared memory. They are volatile: all threads of a warp must
// come to each of them together, and a compiler must not move one into a branch that only some of them take.
#pragma once

#include "nodes/psv/matrix/unit.h"

namespace rimetree::psv::matrix {

/// Where the sums of a thread are: rows lane / 4 (+ 8), columns 2 (lane % 4) and the next.
struct GpuSums {
  static constexpr int kLanes = 32;
  __host__ __device__ static int row(int i, int lane) { return lane / 4 + i / 2 * 8; }
  __host__ __device__ static int column(int i, int lane) { return lane % 4 * 2 + i % 2; }
};

/// Double precision matrix unit: m16n8k4, which sm_90 brought, or its two halves m8n8k4 (sm_80), whose fragments are
/// the same numbers. Whether sm_90 does the larger one faster is to be measured.
struct GpuDoubleUnit : GpuSums {
  static constexpr int kRows = 16, kColumns = 8, kDepth = 4, kSums = 4;
  struct Left {
    double x[2];
  };
  struct Right {
    double x;
  };
  struct Sum {
    double x[4] = {0, 0, 0, 0};
  };
  RT_HD static void load(Left& left, const double* from, int stride, int lane) {
    const double* at = from + lane % 4 * stride + lane / 4;
    left.x[0] = at[0], left.x[1] = at[8];
  }
  RT_HD static void load(Right& right, const double* from, int stride, int lane) {
    right.x = from[lane % 4 * stride + lane / 4];
  }
  RT_HD static Left scaled(const Left& left, const double* weight, int lane) {
    return {{left.x[0] * weight[lane % 4], left.x[1] * weight[lane % 4]}};
  }
  template <bool kMinus>
  RT_HD static void multiply_add([[maybe_unused]] Sum& sum, [[maybe_unused]] const Left& left,
                                 [[maybe_unused]] const Right& right) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
    asm volatile("mma.sync.aligned.m16n8k4.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5}, {%6}, {%0, %1, %2, %3};"
                 : "+d"(sum.x[0]), "+d"(sum.x[1]), "+d"(sum.x[2]), "+d"(sum.x[3])
                 : "d"(kMinus ? -left.x[0] : left.x[0]), "d"(kMinus ? -left.x[1] : left.x[1]), "d"(right.x));
#elif defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    RT_UNROLL
    for (int half = 0; half < 2; ++half)
      asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                   : "+d"(sum.x[2 * half]), "+d"(sum.x[2 * half + 1])
                   : "d"(kMinus ? -left.x[half] : left.x[half]), "d"(right.x));
#endif
  }
  RT_HD static double value(const Sum& sum, int i) { return sum.x[i]; }
};

/// Single precision by three products of TF32, m16n8k8 (sm_80 and newer).
struct GpuSingleUnit : GpuSums {
  static constexpr int kRows = 16, kColumns = 8, kDepth = 8, kSums = 4;
  struct Left {
    float x[4];
  };
  struct Right {
    float x[2];
  };
  struct Sum {
    float x[4] = {0, 0, 0, 0}, small[4] = {0, 0, 0, 0};
  };
  RT_HD static void load(Left& left, const float* from, int stride, int lane) {
    const float* at = from + lane % 4 * stride + lane / 4;
    left.x[0] = at[0], left.x[1] = at[8], left.x[2] = at[4 * stride], left.x[3] = at[4 * stride + 8];
  }
  RT_HD static void load(Right& right, const float* from, int stride, int lane) {
    const float* at = from + lane % 4 * stride + lane / 4;
    right.x[0] = at[0], right.x[1] = at[4 * stride];
  }
  RT_HD static Left scaled(const Left& left, const float* weight, int lane) {
    const float near = weight[lane % 4], far = weight[lane % 4 + 4];
    return {{left.x[0] * near, left.x[1] * near, left.x[2] * far, left.x[3] * far}};
  }
  template <bool kMinus>
  RT_HD static void multiply_add(Sum& sum, const Left& left, const Right& right) {
    std::uint32_t high[4], low[4], right_high[2], right_low[2];
    RT_UNROLL
    for (int i = 0; i < 4; ++i) split(kMinus ? -left.x[i] : left.x[i], high[i], low[i]);
    RT_UNROLL
    for (int i = 0; i < 2; ++i) split(right.x[i], right_high[i], right_low[i]);
    product(sum.small, low, right_high);
    product(sum.small, high, right_low);
    product(sum.x, high, right_high);
  }
  RT_HD static float value(const Sum& sum, int i) { return sum.x[i] + sum.small[i]; }

 private:
  RT_HD static void split([[maybe_unused]] float x, [[maybe_unused]] std::uint32_t& high,
                          [[maybe_unused]] std::uint32_t& low) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(high) : "f"(x));
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(low) : "f"(x - __uint_as_float(high)));
#endif
  }
  RT_HD static void product([[maybe_unused]] float (&c)[4], [[maybe_unused]] const std::uint32_t (&a)[4],
                            [[maybe_unused]] const std::uint32_t (&b)[2]) {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 800
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
        "{%0, %1, %2, %3};"
        : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
        : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
#endif
  }
};

/// Multiply-adds of each thread by itself: every architecture has them, and cards with few matrix units of this kind
/// have nothing faster.
template <class T>
struct GpuPlainUnit : GpuSums {
  static constexpr int kRows = 16, kColumns = 8, kDepth = 2, kSums = kRows * kColumns / 32;
  static constexpr int kOwnRows = kRows / 8;
  struct Left {
    T x[kDepth][kOwnRows];
  };
  struct Right {
    T x[kDepth][2];
  };
  struct Sum {
    T x[kSums] = {};
  };
  RT_HD static void load(Left& left, const T* from, int stride, int lane) {
    RT_UNROLL
    for (int k = 0; k < kDepth; ++k)
      for (int i = 0; i < kOwnRows; ++i) left.x[k][i] = from[k * stride + lane / 4 + 8 * i];
  }
  RT_HD static void load(Right& right, const T* from, int stride, int lane) {
    RT_UNROLL
    for (int k = 0; k < kDepth; ++k)
      for (int i = 0; i < 2; ++i) right.x[k][i] = from[k * stride + lane % 4 * 2 + i];
  }
  RT_HD static Left scaled(const Left& left, const T* weight, int /*lane*/) {
    Left to;
    RT_UNROLL
    for (int k = 0; k < kDepth; ++k)
      for (int i = 0; i < kOwnRows; ++i) to.x[k][i] = left.x[k][i] * weight[k];
    return to;
  }
  template <bool kMinus>
  RT_HD static void multiply_add(Sum& sum, const Left& left, const Right& right) {
    RT_UNROLL
    for (int k = 0; k < kDepth; ++k)
      for (int i = 0; i < kSums; ++i) {
        const T x = left.x[k][i / 2] * right.x[k][i % 2];
        sum.x[i] = kMinus ? sum.x[i] - x : sum.x[i] + x;
      }
  }
  RT_HD static T value(const Sum& sum, int i) { return sum.x[i]; }
};

}  // namespace rimetree::psv::matrix
