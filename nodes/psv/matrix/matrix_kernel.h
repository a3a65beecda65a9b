// Starts the matrix-product kernel on whatever device a queue belongs to (runtime/device/job_launch.h).
#pragma once

#include <iterator>
#include <utility>

#include "memory/queue.h"
#include "nodes/psv/matrix/matrix_job.h"
#include "runtime/device/job_launch.h"

namespace rimetree::psv::matrix {

/// Queues one launch. The arrays that the job names must stay until it is done. Throws std::logic_error on a GPU
/// without the plugin.
void launch(memory::Queue& queue, const MatrixJob<float>& job);
void launch(memory::Queue& queue, const MatrixJob<double>& job);

/// Calls f.template operator()<unit, tile, warps, planes>() with the instance that a variant and a number of planes
/// need; false for a variant that there is not.
template <class F>
bool with_matrix_instance(const MatrixVariant& variant, int n_plane, F&& f) {
  const auto with_planes = [&]<std::size_t kNumber>() {
    constexpr MatrixVariant v = kMatrixVariants[kNumber];
    if (!(v == variant)) return false;
    if (n_plane == 1)
      f.template operator()<v.unit, v.tile, v.warps, 1>();
    else if (n_plane == 2)
      f.template operator()<v.unit, v.tile, v.warps, 2>();
    else
      f.template operator()<v.unit, v.tile, v.warps, 4>();
    return true;
  };
  return [&]<std::size_t... kNumber>(std::index_sequence<kNumber...>) {
    return (with_planes.template operator()<kNumber>() || ...);
  }
  (std::make_index_sequence<std::size(kMatrixVariants)>());
}

/// Channels of a block.
template <class T>
int channels_per_block(const MatrixVariant& variant, int n_plane) {
  int channels = 0;
  with_matrix_instance(variant, n_plane, [&]<MatrixUnitKind, int kTile, int kWarps, int kPlanes>() {
    channels = MatrixShape<T, kTile, kWarps, kPlanes>::kChannels;
  });
  return channels;
}

}  // namespace rimetree::psv::matrix
