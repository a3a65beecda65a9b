#include "nodes/psv/adjoint/sides_reverse.h"

#include <algorithm>

#include "nodes/psv/matrix/sides_solve.h"

namespace rimetree::psv::adjoint {
namespace {

/// Where sources are few, windows are shared out as well, in portions with sums of their own: so many at most, of so
/// many bytes together.
constexpr std::size_t kManyBlocks = 16, kPortions = 16, kPortionBytes = std::size_t{64} << 20;

/// Blocks of sources for each thread: an end is noticed, and nobody waits long.
constexpr std::size_t kSharesPerThread = 4;

}  // namespace

std::string reverse_obstacle(const SidesPlan& plan, const Sky<double>& sky, SourceWish wish) {
  if (!plan.obstacle.empty()) return plan.obstacle;
  if (wish.shapes && sky.n_point < sky.n_source) return "shapes are asked for";
  if (wish.positions && (plan.smear_time || plan.smear_frequency || sky.n_point < sky.n_source))
    return "positions of smeared or extended sources are asked for";
  return {};
}

std::size_t window_portions(std::size_t n_block, std::size_t n_window, std::size_t bytes) {
  if (n_block >= kManyBlocks) return 1;
  return std::clamp<std::size_t>(std::min(n_window, kPortionBytes / (bytes + 1)), 1, kPortions);
}

// Nothing that two blocks of sources gain is the same number, so that blocks are shared out freely.
SourceAdjoints pull_back_by_sides(const Summed& of, const SidesPlan& plan, const ResultAdjoints& adjoints,
                                  SourceWish wish, ThreadPool& threads, Cancellation& cancellation) {
  const std::vector<SideBlock> blocks = side_blocks(of.sky);
  const bool at_once = of.jones.targets.slopes != nullptr && blocks.size() >= kManyBlocks;
  SourceAdjoints sum = zero_adjoints(of.sky, wish, at_once ? JonesTargets{} : of.jones.targets);
  if (!wish.weights) sum.weights.clear();
  const std::vector<SidesWindowOfTile> windows = windows_of_tiles(plan, of.channels);
  const std::size_t n_portion = window_portions(blocks.size(), windows.size(), bytes_of(sum));
  const std::size_t n_share = std::min(blocks.size(), kSharesPerThread * static_cast<std::size_t>(threads.size()));
  std::vector<SourceAdjoints> others(n_portion - 1, sum);
  std::vector<SidesScratch> scratch;
  for (int i = 0; i < threads.size(); ++i) scratch.emplace_back(plan, SideSlopes::kReverse);
  const ChannelNumbers numbers = channel_numbers(of.channels);
  const ReverseSides job{{of, plan, numbers, true}, adjoints, at_once};
  threads.parallel_for(
      n_portion * n_share, 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t portion = i / n_share, share = i % n_share;
          const auto own = std::span(blocks).subspan(blocks.size() * share / n_share);
          const std::size_t n_own = blocks.size() * (share + 1) / n_share - blocks.size() * share / n_share;
          SourceAdjoints& gained = portion == 0 ? sum : others[portion - 1];
          for (std::size_t w = windows.size() * portion / n_portion; w < windows.size() * (portion + 1) / n_portion;
               ++w)
            pull_back_window(job, plan.tiles[windows[w].tile], windows[w].window, own.first(n_own),
                             scratch[static_cast<std::size_t>(worker)], gained);
        }
      },
      &cancellation);
  for (const SourceAdjoints& one : others) add(sum, one);
  return sum;
}

}  // namespace rimetree::psv::adjoint
