// Products of 8-bit samples by matrix units: real and imaginary parts are rows of one matrix of integers, whose product
// with its own transpose gives V = (RR + II) + i (IR - RI) without any negation, so that -128 is a number like others.
//
// A block of threads has a tile of inputs i times inputs j; a warp 32 by 32 of them, in registers over all times:
//
//   fetch | for each stage of times:  put |sync| fetch the next, multiply |sync|      at the end: store
//
// A GPU runs each step on all threads at once; the host one thread, or in multiply and store one warp, after the other,
// with the same bodies. `Unit` is what multiplies (byte_unit.h).
#pragma once

#include "nodes/correlator/device/unpack_job.h"

namespace rimetree::correlator {

/// Warps of a block down (inputs i) and across (inputs j). A variant is an instance of the kernel.
struct TileVariant {
  std::int32_t down = 2, across = 2;
  friend constexpr bool operator==(const TileVariant&, const TileVariant&) = default;
};
inline constexpr TileVariant kTileVariants[] = {{1, 1}, {2, 2}, {4, 2}};

struct TileJob {
  const std::uint32_t* fragment = nullptr;  ///< Turned::fragments
  PairSums sums;                            ///< pairs are tiles: of variant.down and variant.across warps of inputs
  TileVariant variant;
  std::int32_t n_step = 0, n_group = 0;  ///< multiples of what is staged together, and of a tile's side
  std::int32_t first_channel = 0, n_channel = 0;
};
template <class F>
void for_each_array(TileJob& job, F&& f) {
  for_each_array(job.sums, f);
  f(job.fragment, std::int64_t{job.sums.n_channel} * job.n_step * job.n_group * 2 * kFragmentWords);
}

/// Sixteen bytes, which go from memory to memory at once.
struct alignas(16) Quad {
  std::uint32_t x[4];
};

constexpr int kGroupQuads = 2 * kFragmentWords / 4;  ///< of 16 inputs at 32 times

template <int kDown, int kAcross>
struct TileShape {
  static constexpr int kWarps = kDown * kAcross, kThreads = 32 * kWarps;
  static constexpr int kWarpGroups = 2;  ///< of 16 inputs, of a warp's side
  static constexpr int kRowGroups = kDown * kWarpGroups, kColumnGroups = kAcross * kWarpGroups;
  static constexpr int kGroups = kRowGroups + kColumnGroups;
  static constexpr int kSteps = kWarps == 1 ? 1 : 2;                   ///< of 32 times, staged together
  static constexpr int kStepQuads = kGroups * kGroupQuads / kThreads;  ///< that a thread reads in a step
  static_assert(kRowGroups * kGroupQuads % kThreads == 0 && kColumnGroups * kGroupQuads % kThreads == 0);
};

/// Fragments of the tile's inputs, twice: while one is multiplied the next is put.
template <class Shape>
struct TileStaged {
  Quad quad[2][Shape::kSteps][Shape::kGroups][2][kFragmentWords / 4];
};
/// Where a thread reads: its quads of a step, from those of the tile's channel on.
template <class Shape>
struct TileReader {
  const Quad* step;
  std::int32_t offset[Shape::kStepQuads];
};
/// What a thread has read and not yet put.
template <class Shape>
struct TileFetched {
  Quad quad[Shape::kSteps][Shape::kStepQuads];
};
/// Sums of a warp, or a thread's part of them: RR + II, IR and RI.
template <class Unit>
struct TileSums {
  typename Unit::Sum sum[2][2][2][3] = {};  ///< [16 inputs i][16 inputs j][8 of them]
};

struct TilePlace {
  std::int32_t tile, channel;
};

template <class Shape>
RT_HD TileReader<Shape> tile_reader(const TileJob& job, const TilePlace& place, int thread) {
  const PairSums::Pair tile = job.sums.pair[place.tile];
  TileReader<Shape> reader;
  reader.step = reinterpret_cast<const Quad*>(job.fragment) +
                std::int64_t{place.channel} * job.n_step * job.n_group * kGroupQuads;
  RT_UNROLL
  for (int k = 0; k < Shape::kStepQuads; ++k) {
    const int number = thread + k * Shape::kThreads, side = number / kGroupQuads;
    const int group = side < Shape::kRowGroups ? tile.i * Shape::kRowGroups + side
                                               : tile.j * Shape::kColumnGroups + side - Shape::kRowGroups;
    reader.offset[k] = group * kGroupQuads + number % kGroupQuads;
  }
  return reader;
}

/// Reads the next steps; after the last ones nothing.
template <class Shape>
RT_HD void fetch(const TileJob& job, int first_step, TileReader<Shape>& reader, TileFetched<Shape>& to) {
  if (first_step >= job.n_step) return;
  RT_UNROLL
  for (int s = 0; s < Shape::kSteps; ++s) {
    RT_UNROLL
    for (int k = 0; k < Shape::kStepQuads; ++k) to.quad[s][k] = reader.step[reader.offset[k]];
    reader.step += job.n_group * kGroupQuads;
  }
}

/// Columns get their words 1 and 2 changed: those of one half side by side, as a matrix unit takes them from registers.
template <class Shape>
RT_HD void put(const TileFetched<Shape>& from, int thread, int buffer, TileStaged<Shape>& to) {
  RT_UNROLL
  for (int s = 0; s < Shape::kSteps; ++s) {
    Quad* all = &to.quad[buffer][s][0][0][0];
    RT_UNROLL
    for (int k = 0; k < Shape::kStepQuads; ++k) {
      const Quad x = from.quad[s][k];
      const bool is_column = k * Shape::kThreads >= Shape::kRowGroups * kGroupQuads;
      all[thread + k * Shape::kThreads] = is_column ? Quad{{x.x[0], x.x[2], x.x[1], x.x[3]}} : x;
    }
  }
}

/// First inputs of a warp.
struct WarpInputs {
  std::int64_t i, j;
};
template <int kDown, int kAcross>
RT_HD WarpInputs warp_inputs(const TileJob& job, const TilePlace& place, int warp) {
  const PairSums::Pair tile = job.sums.pair[place.tile];
  return {(std::int64_t{tile.i} * kDown + warp / kAcross) * 32, (std::int64_t{tile.j} * kAcross + warp % kAcross) * 32};
}
/// Whether some of a warp's products are among those that are wanted.
RT_HD inline bool has_products(const TileJob& job, const WarpInputs& at) {
  return at.j < at.i + 32 && at.i < job.sums.n_input;
}

template <class Unit, int kDown, int kAcross>
RT_HD void multiply(const TileJob& job, const TilePlace& place, int warp, int lane, int buffer,
                    const TileStaged<TileShape<kDown, kAcross>>& from, TileSums<Unit>& sums) {
  using Shape = TileShape<kDown, kAcross>;
  if (!has_products(job, warp_inputs<kDown, kAcross>(job, place, warp))) return;
  const int row = warp / kAcross * 2, column = Shape::kRowGroups + warp % kAcross * 2;
  RT_UNROLL
  for (int step = 0; step < Shape::kSteps; ++step) {
    typename Unit::Left left[2][2];
    typename Unit::Right right[2][2];
    RT_UNROLL
    for (int k = 0; k < 2; ++k) RT_UNROLL
    for (int part = 0; part < 2; ++part) {
      Unit::load(left[k][part], from.quad[buffer][step][row + k][part], lane);
      Unit::load(right[k][part], from.quad[buffer][step][column + k][part], lane);
    }
    // Products of one sum are not made one right after the other.
    RT_UNROLL
    for (int pass = 0; pass < 2; ++pass) RT_UNROLL
    for (int r = 0; r < 2; ++r) RT_UNROLL
    for (int q = 0; q < 2; ++q) {
      auto& sum = sums.sum[r][q];
      Unit::template multiply_add<0>(sum[0][0], left[r][pass], right[q][pass]);
      Unit::template multiply_add<1>(sum[1][0], left[r][pass], right[q][pass]);
      Unit::template multiply_add<0>(sum[0][1 + pass], left[r][1 - pass], right[q][pass]);
      Unit::template multiply_add<1>(sum[1][1 + pass], left[r][1 - pass], right[q][pass]);
    }
  }
}

/// Adds a warp's products to the sums; each is one thread's alone.
template <class Unit, int kDown, int kAcross>
RT_HD void store(const TileJob& job, const TilePlace& place, int warp, int lane, const TileSums<Unit>& sums) {
  const WarpInputs at = warp_inputs<kDown, kAcross>(job, place, warp);
  if (!has_products(job, at)) return;
  RT_UNROLL
  for (int r = 0; r < 2; ++r) RT_UNROLL
  for (int q = 0; q < 2; ++q) RT_UNROLL
  for (int half = 0; half < 2; ++half) RT_UNROLL
  for (int k = 0; k < Unit::kSums; ++k) {
    const auto& sum = sums.sum[r][q][half];
    job.sums.add(place.channel, at.i + 16 * r + Unit::row(k, lane), at.j + 16 * q + 8 * half + Unit::column(k, lane),
                 sum[0].x[k], std::int64_t{sum[1].x[k]} - sum[2].x[k]);
  }
}

/// Calls f.template operator()<down, across>() for the job's variant.
template <class F>
void with_tile_variant(const TileVariant& variant, F&& f) {
  if (variant == kTileVariants[0]) return f.template operator()<1, 1>();
  if (variant == kTileVariants[1]) return f.template operator()<2, 2>();
  return f.template operator()<4, 2>();
}

}  // namespace rimetree::correlator
