#include "nodes/psv/matrix/sides_solve.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <new>

#include "nodes/psv/matrix/sides_sum.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv::matrix {

ChannelNumbers channel_numbers(const Channels& channels) {
  ChannelNumbers numbers;
  for (std::size_t f = 0; f < channels.frequency_hz.size(); ++f) {
    const DoubleDouble<double> turns = turns_per_metre(channels.frequency_hz[f]);
    numbers.turns_high.push_back(turns.hi);
    numbers.turns_low.push_back(turns.lo);
    numbers.half_width.push_back(kPi * std::abs(channels.width_hz[f]) / kSpeedOfLight_m_s);
  }
  return numbers;
}

void SidesScratch::Free::operator()(double* p) const { std::free(p); }

SidesScratch::SidesScratch(const SidesPlan& plan, SideSlopes slopes) {
  const SidesShape& shape = plan.shape;
  std::size_t n_left = 0, n_right = 0, n_pair = 0;
  for (const SidesTile& tile : plan.tiles) {
    n_left = std::max(n_left, tile.n_left), n_right = std::max(n_right, tile.n_right);
    n_pair = std::max(n_pair, tile.n_pair());
  }
  const std::size_t lanes = rows_per_block<double>(), vectors = shape.n_vector() * lanes;
  const std::size_t of_side = vectors * kSideSources * 2;
  const std::size_t of_ends = vectors * kEndRoom * 2;
  const std::size_t of_left = of_ends * n_left * static_cast<std::size_t>(shape.n_left()),
                    of_right = of_ends * n_right * static_cast<std::size_t>(shape.n_right());
  const bool reverse = slopes == SideSlopes::kReverse;
  const std::size_t of_sums = vectors * n_pair * (reverse ? 3 : 2) * static_cast<std::size_t>(shape.n_sum());
  const std::size_t n_amplitude =
      reverse ? kReverseEnds * reverse_ends(shape) : shape.block_rows() * SidesShape::kBlockColumns;
  const std::size_t sizes[] = {6 * vectors,
                               of_side,
                               of_left,
                               of_right,
                               n_amplitude * kSideSources * lanes,
                               of_sums,
                               slopes != SideSlopes::kNone ? of_left : 0,
                               slopes != SideSlopes::kNone ? of_right : 0,
                               slopes == SideSlopes::kForward ? of_sums : 0};
  double** const arrays[] = {&scaled, &phasor, &left, &right, &amplitude, &sum, &left_slope, &right_slope, &sum_slope};
  // Lines of the cache, and no two arrays at the same place of a page.
  const auto whole = [](std::size_t size) { return (size + 15) / 16 * 16 + 80; };
  for (const std::size_t size : sizes) bytes += whole(size) * sizeof(double);
  bytes = (bytes + 127) / 128 * 128;
  storage_.reset(static_cast<double*>(std::aligned_alloc(128, bytes)));
  if (!storage_) throw std::bad_alloc();
  double* at = storage_.get();
  for (std::size_t i = 0; i < std::size(sizes); ++i) {
    *arrays[i] = at;
    at += whole(sizes[i]);
  }
}

std::vector<SideBlock> side_blocks(const Sky<double>& sky) {
  std::vector<SideBlock> blocks;
  for (const SourceBlock& sources : sky.blocks)
    for (std::size_t s = sources.begin; s < sources.end; s += kSideSources)
      blocks.push_back({s, std::min(kSideSources, sources.end - s), sources.profile});
  return blocks;
}

std::vector<SidesWindowOfTile> windows_of_tiles(const SidesPlan& plan, const Channels& channels) {
  const std::size_t n_cell = plan.shape.n_vector() * rows_per_block<double>();
  std::vector<SidesWindowOfTile> windows;
  for (std::size_t i = 0; i < plan.tiles.size(); ++i)
    for (std::size_t first = 0; first < plan.cells(plan.tiles[i], channels); first += n_cell)
      windows.push_back({i, first / n_cell});
  return windows;
}

void solve_by_sides(const Summed& of, const SidesPlan& plan, const SidesOutput& out, ThreadPool& threads,
                    Cancellation& cancellation) {
  const std::vector<SidesWindowOfTile> work = windows_of_tiles(plan, of.channels);
  std::vector<SidesScratch> scratch;
  for (int i = 0; i < threads.size(); ++i)
    scratch.emplace_back(plan, out.slopes.row != nullptr ? SideSlopes::kForward : SideSlopes::kNone);
  const ChannelNumbers numbers = channel_numbers(of.channels);
  const SidesSum job{{of, plan, numbers}, out};
  threads.parallel_for(
      work.size(), 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t i = begin; i < end; ++i)
          evaluate_sides(job, plan.tiles[work[i].tile], work[i].window, scratch[static_cast<std::size_t>(worker)]);
      },
      &cancellation);
}

}  // namespace rimetree::psv::matrix
