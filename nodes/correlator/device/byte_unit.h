// What multiplies fragments of 8-bit numbers (unpack_job.h) for a whole warp: sums of 16 by 8 entries += rows of the
// left fragment times columns of one half of the right one, over 32 times. A GPU's threads hold a few entries each; the
// host, which has no warps, holds all of them. Integers: the same bits in any order.
#pragma once

#include "nodes/correlator/device/tile_job.h"

namespace rimetree::correlator {

struct HostByteUnit {
  static constexpr int kLanes = 1, kSums = 128;
  struct Left {
    std::int8_t x[16][32];  ///< [input][time]
  };
  struct Right : Left {};
  struct Sum {
    std::int32_t x[kSums];
  };
  static void load(Left& to, const Quad (&from)[kFragmentWords / 4], int /*lane*/) {
    fill(to, from, [](int word) { return word; });
  }
  static void load(Right& to, const Quad (&from)[kFragmentWords / 4], int /*lane*/) {
    fill(to, from, [](int word) { return word % 2 * 2 + word / 2; });
  }
  template <int kHalf>
  static void multiply_add(Sum& sum, const Left& left, const Right& right) {
    for (int i = 0; i < kSums; ++i) {
      const std::int8_t *a = left.x[row(i, 0)], *b = right.x[8 * kHalf + column(i, 0)];
      for (int k = 0; k < 32; ++k) sum.x[i] += a[k] * b[k];
    }
  }
  static int row(int i, int /*lane*/) { return i / 8; }
  static int column(int i, int /*lane*/) { return i % 8; }

 private:
  template <class Place>
  static void fill(Left& to, const Quad (&from)[kFragmentWords / 4], Place place) {
    for (int lane = 0; lane < 32; ++lane)
      for (int word = 0; word < 4; ++word)
        for (int k = 0; k < 4; ++k)
          to.x[lane / 4 + word % 2 * 8][lane % 4 * 4 + word / 2 * 16 + k] =
              static_cast<std::int8_t>(from[lane].x[place(word)] >> 8 * k & 255);
  }
};

}  // namespace rimetree::correlator
