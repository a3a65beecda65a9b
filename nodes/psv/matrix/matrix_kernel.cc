#include "nodes/psv/matrix/matrix_kernel.h"

#include <cstring>
#include <memory>
#include <vector>

#include "nodes/psv/matrix/matrix_block.h"
#include "nodes/psv/matrix/unit.h"

namespace rimetree::psv {
namespace {

/// Shared memory of a GPU holds whatever was there before: not-a-numbers, here.
constexpr int kPoison = 0xff;

template <class T, class Shape, class Unit, int kPlanes>
void run_block(const MatrixJob<T>& job, const MatrixPlace& place, MatrixStaged<T, Shape, kPlanes>& staged) {
  std::memset(static_cast<void*>(&staged), kPoison, sizeof staged);
  std::vector<MatrixSums<T, Shape, Unit, kPlanes>> sums(Shape::kWarps);
  const auto each_thread = [](auto&& step) {
    for (int thread = 0; thread < Shape::kThreads; ++thread) step(thread);
  };
  const int terms = job.with_jones() ? Shape::kDepth / 2 : Shape::kDepth;
  for (std::int32_t first = 0; first < job.n_term(); first += terms) {
    each_thread([&](int thread) { stage(job, place, thread, first, staged); });
    for (int warp = 0; warp < Shape::kWarps; ++warp)
      multiply(job, place, warp, 0, staged, sums[static_cast<std::size_t>(warp)]);
  }
  each_thread([&](int thread) { clear_rows(thread, staged); });
  each_thread([&](int thread) { find_rows(job, place, thread, staged); });
  for (int warp = 0; warp < Shape::kWarps; ++warp)
    store(job, place, warp, 0, staged, sums[static_cast<std::size_t>(warp)]);
}

/// All blocks of a job whose arrays the host can reach.
template <class T>
void run_on_host(const MatrixJob<T>& job) {
  with_matrix_instance(job.variant, job.n_plane, [&]<MatrixUnitKind kUnit, int kTile, int kWarps, int kPlanes>() {
    using Shape = MatrixShape<T, kTile, kWarps, kPlanes>;
    const auto staged = std::make_unique<MatrixStaged<T, Shape, kPlanes>>();
    MatrixPlace place;
    for (; place.tile < job.n_tile; ++place.tile)
      for (place.run = 0; place.run < job.n_run; ++place.run)
        run_block<T, Shape, HostUnit<T, kUnit>, kPlanes>(job, place, *staged);
  });
}

template <class T>
void launch_some(memory::Queue& queue, const MatrixJob<T>& job) {
  if (job.n_tile > 0 && job.n_run > 0) launch_job(queue, job, run_on_host<T>);
}

}  // namespace

void launch(memory::Queue& queue, const MatrixJob<float>& job) { launch_some(queue, job); }
void launch(memory::Queue& queue, const MatrixJob<double>& job) { launch_some(queue, job); }

}  // namespace rimetree::psv
