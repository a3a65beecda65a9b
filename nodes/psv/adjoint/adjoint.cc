#include "nodes/psv/adjoint/adjoint.h"

#include <algorithm>

namespace rimetree::psv {
namespace {

/// Parts that keep many threads busy, and what their results may take together.
constexpr std::size_t kParts = 64, kPartBytes = std::size_t{64} << 20, kLeastRows = 128;

}  // namespace

SourceAdjoints zero_adjoints(const Sky<double>& sky, SourceWish wish) {
  SourceAdjoints zero;
  // Weights that vary along channels are always summed; see pull_shaped().
  if (wish.weights || sky.n_weight_channel > 1)
    zero.weights.assign(sky.n_source * sky.n_weight_channel * sky.planes.size(), 0.0);
  if (wish.positions) zero.positions.assign(3 * sky.n_source, 0.0);
  if (wish.shapes) zero.shapes.assign(3 * (sky.n_source - sky.n_point), 0.0);
  return zero;
}

void add(SourceAdjoints& to, const SourceAdjoints& from) {
  const auto add_values = [](std::vector<double>& sum, const std::vector<double>& values) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += values[i];
  };
  add_values(to.weights, from.weights);
  add_values(to.positions, from.positions);
  add_values(to.shapes, from.shapes);
}

// Rows are cut into portions with results of their own, which are added up in order; where that does not give enough
// parts, or would take too much memory, sources are cut as well. Nothing of this depends on the threads.
SourceAdjoints pull_back_rows(const Sky<double>& sky, const Channels& channels, const Rows& rows,
                              const JonesTerms& jones, const ResultAdjoints& adjoints, SourceWish wish,
                              ThreadPool& threads, Cancellation& cancellation) {
  SourceAdjoints sum = zero_adjoints(sky, wish);
  if (sky.n_source == 0 || rows.n_row == 0) return sum;
  std::size_t n_block = 0;
  for_each_block<double>(sky.n_source, sky.n_point, [&](std::size_t, std::size_t, std::size_t) { ++n_block; });
  const std::size_t bytes = 8 * (sum.weights.size() + sum.positions.size() + sum.shapes.size());
  const std::size_t n_portion =
      std::clamp<std::size_t>(std::min(rows.n_row / kLeastRows, kPartBytes / (bytes + 1)), 1, kParts);
  const std::size_t n_cut = std::min(n_block, (kParts + n_portion - 1) / n_portion);
  constexpr std::size_t kRowUnit = 16;  // a multiple of all vector lengths
  const std::size_t portion = (rows.n_row / n_portion + kRowUnit) / kRowUnit * kRowUnit;

  const AdjointJob job{sky, channels, rows, jones, adjoints, wish};
  std::vector<SourceAdjoints> portions(n_portion, sum);
  std::vector<Workspace<double>> workspaces;
  for (int i = 0; i < threads.size(); ++i) workspaces.emplace_back(sky, channels, jones);
  threads.parallel_for(
      n_portion * n_cut, 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t p = i / n_cut, cut = i % n_cut;
          const AdjointPart part{std::min(p * portion, rows.n_row), std::min((p + 1) * portion, rows.n_row),
                                 n_block * cut / n_cut, n_block * (cut + 1) / n_cut};
          pull_back_part(job, part, workspaces[static_cast<std::size_t>(worker)], portions[p]);
        }
      },
      &cancellation);
  for (const SourceAdjoints& one : portions) add(sum, one);
  return sum;
}

}  // namespace rimetree::psv
