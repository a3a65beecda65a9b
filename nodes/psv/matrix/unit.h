// What multiplies small matrices for a whole warp: Sum += Left * Right, of kRows x kDepth and kDepth x kColumns entries
// that are read from shared memory as [term][row] and [term][column]. A GPU's threads hold a few entries each; the
// host, which has no warps, has types that hold all of them, and does what a matrix unit does to the bits that matter:
//
// Double precision (m16n8k4, or m8n8k4 twice): multiply-adds with one rounding each, which the host rounds twice.
//
// TF32 (m16n8k8): factors have 11 bits, products are exact, sums are singles. A single x = high + low, each of 11 bits,
// leaves |x - high - low| <= 2^-22 |x|; of the four products low * low, <= 2^-22, is left out, so that a product is off
// by less than 3 * 2^-22 = 7e-7 of the largest one, rounded at random (Ootomo & Yokota 2022, Int. J. High Perform.
// Comput. Appl. 36, 475, have the scheme). What a unit does to sums is not documented and was found to be truncation
// (Fasi et al. 2021, PeerJ Comput. Sci. 7, e330), so that long sums lose bits in one direction. So sums are short: the
// small products have one of their own, and the sums of a stage, two products of high parts per component and step, go
// to doubles. 16 terms make four truncations of 2^-23, 5e-7 at the very most. The host truncates too.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>

#include "nodes/psv/matrix/shape.h"

namespace rimetree::psv::matrix {

// ------------------------------------------------------------------------------------------------------- on the host

/// A single in TF32: rounded to 11 bits, halves away from zero.
inline float to_tf32(float x) {
  std::uint32_t bits;
  std::memcpy(&bits, &x, sizeof bits);
  if ((bits & 0x7f800000u) == 0x7f800000u) return x;
  bits = (bits + 0x1000u) & ~0x1fffu;
  std::memcpy(&x, &bits, sizeof bits);
  return x;
}
/// A double as the single next to it towards zero.
inline float truncated(double x) {
  const float f = static_cast<float>(x);
  return std::abs(static_cast<double>(f)) > std::abs(x) ? std::nextafter(f, 0.0f) : f;
}

/// A warp of the host, plain or in double precision: all entries, one after the other.
template <class T, MatrixUnitKind kKind>
struct HostUnit {
  static constexpr bool kTf32 = sizeof(T) == 4 && kKind == MatrixUnitKind::kTensor;
  static constexpr int kLanes = 1;
  static constexpr int kRows = 16, kColumns = 8;
  static constexpr int kDepth = kKind == MatrixUnitKind::kPlain ? 2 : sizeof(T) == 8 ? 4 : 8;
  static constexpr int kSums = kRows * kColumns;

  struct Left {
    T x[kDepth][kRows];
  };
  struct Right {
    T x[kDepth][kColumns];
  };
  struct Sum {
    T x[kSums] = {}, small[kTf32 ? kSums : 1] = {};
  };

  static void load(Left& left, const T* from, int stride, int /*lane*/) {
    for (int k = 0; k < kDepth; ++k)
      for (int r = 0; r < kRows; ++r) left.x[k][r] = from[k * stride + r];
  }
  static void load(Right& right, const T* from, int stride, int /*lane*/) {
    for (int k = 0; k < kDepth; ++k)
      for (int c = 0; c < kColumns; ++c) right.x[k][c] = from[k * stride + c];
  }
  static Left scaled(const Left& left, const T* weight, int /*lane*/) {
    Left to;
    for (int k = 0; k < kDepth; ++k)
      for (int r = 0; r < kRows; ++r) to.x[k][r] = left.x[k][r] * weight[k];
    return to;
  }
  template <bool kMinus>
  static void multiply_add(Sum& sum, const Left& left, const Right& right) {
    for (int i = 0; i < kSums; ++i) {
      const int row = i / kColumns, column = i % kColumns;
      if constexpr (kTf32) {
        double small = 0, large = 0;
        for (int k = 0; k < kDepth; ++k) {
          const float a = kMinus ? -left.x[k][row] : left.x[k][row], b = right.x[k][column];
          const float ah = to_tf32(a), bh = to_tf32(b), al = to_tf32(a - ah), bl = to_tf32(b - bh);
          small += static_cast<double>(al) * bh + static_cast<double>(ah) * bl;
          large += static_cast<double>(ah) * bh;
        }
        sum.small[i] = truncated(sum.small[i] + small);
        sum.x[i] = truncated(sum.x[i] + large);
      } else {
        for (int k = 0; k < kDepth; ++k) sum.x[i] += (kMinus ? -left.x[k][row] : left.x[k][row]) * right.x[k][column];
      }
    }
  }
  static int row(int i, int /*lane*/) { return i / kColumns; }
  static int column(int i, int /*lane*/) { return i % kColumns; }
  static T value(const Sum& sum, int i) {
    if constexpr (kTf32) return sum.x[i] + sum.small[i];
    return sum.x[i];
  }
};

}  // namespace rimetree::psv::matrix
