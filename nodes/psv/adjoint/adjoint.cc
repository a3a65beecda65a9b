// Two channels at equal distances from the middle of a tile need the sum and the difference of their adjoints only,
// which rows share among all sources. Which Stokes planes are needed is seen from the derivative of the brightness
// along one random direction in the space of unknowns (Request::along_direction): a plane that is zero in it depends on
// no unknown.
#include "nodes/psv/adjoint/adjoint.h"

#include <algorithm>

namespace rimetree::psv::adjoint {
namespace {

/// Portions that keep many threads busy, and what their results may take together. Rows that share the sides of their
/// Jones terms should be many.
constexpr std::size_t kPortions = 64, kPortionBytes = std::size_t{64} << 20, kLeastRows = 128,
                      kLeastSharing = kJonesRows;
/// So many times are portions enough by themselves.
constexpr std::size_t kManyTimes = 8;
constexpr std::size_t kRowUnit = 16;  ///< a multiple of all vector lengths

/// How the rows are cut: into portions with results of their own, which are added up in order. If they end where times
/// end, all can share one array for terms that vary in time.
struct Portions {
  std::vector<std::size_t> edge;
  bool share_moving = false;
  std::size_t size() const { return edge.size() - 1; }
};

Portions cut_rows(const Sky<double>& sky, const Rows& rows, const JonesTerms& jones, const SourceAdjoints& zero) {
  Portions portions;
  const auto starts_time = [&rows](std::size_t row) { return row == 0 || rows.time[row] != rows.time[row - 1]; };
  if (!zero.moving_jones.empty()) {
    std::size_t n_time = 0;
    for (std::size_t row = 0; row < rows.n_row; ++row) n_time += starts_time(row) ? 1 : 0;
    portions.share_moving = n_time >= kManyTimes;
  }
  const std::size_t shared = portions.share_moving ? sizeof(Complex<double>) * zero.moving_jones.size() : 0,
                    bytes = bytes_of(zero) - shared;
  const std::size_t least = matrices_vary(sky, jones) ? kLeastSharing : kLeastRows;
  const std::size_t n =
      std::clamp<std::size_t>(std::min(rows.n_row / least, kPortionBytes / (bytes + 1)), 1, kPortions);
  const std::size_t portion = (rows.n_row / n + kRowUnit) / kRowUnit * kRowUnit;
  for (std::size_t i = 0; i <= n; ++i) {
    std::size_t row = std::min(i * portion, rows.n_row);
    while (portions.share_moving && row < rows.n_row && !starts_time(row)) ++row;
    portions.edge.push_back(row);
  }
  return portions;
}

}  // namespace

SourceAdjoints zero_adjoints(const Sky<double>& sky, SourceWish wish, const JonesTargets& jones) {
  SourceAdjoints zero;
  // Weights that vary along channels are always summed, but for those behind Jones terms; see pull_shaped().
  if (wish.weights || sky.n_weight_channel > 1)
    zero.weights.assign(sky.n_source * sky.n_weight_channel * sky.planes.size(), 0.0);
  if (wish.positions) zero.positions.assign(3 * sky.n_source, 0.0);
  if (wish.shapes) zero.axes.assign(sky.n_source - sky.n_point, {});
  zero.moving_jones.resize(jones.n_moving);
  zero.steady_jones.resize(jones.n_steady);
  return zero;
}

std::size_t bytes_of(const SourceAdjoints& sums) {
  return sizeof(double) * (sums.weights.size() + sums.positions.size()) + sizeof(ShapeAxes<double>) * sums.axes.size() +
         sizeof(Complex<double>) * (sums.moving_jones.size() + sums.steady_jones.size());
}

void add(SourceAdjoints& to, const SourceAdjoints& from) {
  const auto add_values = [](auto& sum, const auto& values) {
    for (std::size_t i = 0; i < values.size(); ++i) sum[i] += values[i];
  };
  add_values(to.weights, from.weights);
  add_values(to.positions, from.positions);
  for (std::size_t k = 0; k < from.axes.size(); ++k)
    for (std::size_t i = 0; i < 3; ++i) {
      to.axes[k].major[i] += from.axes[k].major[i];
      to.axes[k].minor[i] += from.axes[k].minor[i];
    }
  add_values(to.moving_jones, from.moving_jones);
  add_values(to.steady_jones, from.steady_jones);
}

// Where portions of rows do not give enough portions, or would take too much memory, sources are cut as well. Nothing
// of this depends on the threads.
SourceAdjoints pull_back_rows(const Summed& of, const ResultAdjoints& adjoints, SourceWish wish, ThreadPool& threads,
                              Cancellation& cancellation) {
  const auto& [sky, channels, rows, jones, owner, version, ends] = of;
  SourceAdjoints sum = zero_adjoints(sky, wish, jones.targets);
  if (sky.n_source == 0 || rows.n_row == 0) return sum;
  const std::size_t n_block = sky.blocks.size();
  const Portions portions = cut_rows(sky, rows, jones, sum);
  const std::size_t n_cut = std::min(n_block, (kPortions + portions.size() - 1) / portions.size());

  // The first portion adds to the sum itself.
  JonesTargets own = jones.targets;
  if (portions.share_moving) own.n_moving = 0;
  std::vector<SourceAdjoints> others;
  for (std::size_t p = 1; p < portions.size(); ++p) others.push_back(zero_adjoints(sky, wish, own));
  const ReverseSum job{of, adjoints, wish};
  std::vector<Workspace<double>> workspaces;
  for (int i = 0; i < threads.size(); ++i) workspaces.emplace_back(sky, channels, jones);
  threads.parallel_for(
      portions.size() * n_cut, 1,
      [&](std::size_t begin, std::size_t end, int worker) {
        for (std::size_t i = begin; i < end; ++i) {
          const std::size_t p = i / n_cut, cut = i % n_cut;
          SourceAdjoints& out = p == 0 ? sum : others[p - 1];
          const AdjointPortion portion{portions.edge[p], portions.edge[p + 1], n_block * cut / n_cut,
                                       n_block * (cut + 1) / n_cut,
                                       portions.share_moving ? sum.moving_jones.data() : out.moving_jones.data()};
          pull_back_portion(job, portion, workspaces[static_cast<std::size_t>(worker)], out);
        }
      },
      &cancellation);
  for (const SourceAdjoints& one : others) add(sum, one);
  return sum;
}

}  // namespace rimetree::psv::adjoint
