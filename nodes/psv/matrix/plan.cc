#include "nodes/psv/matrix/plan.h"

#include <algorithm>
#include <cmath>

#include "nodes/psv/exposure_rule.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::matrix {
namespace {

/// Parts of the tolerance: half for rounding, an eighth for each of the four approximations.
constexpr double kShare = 0.125;
/// Antennas, or antennas with Jones products, so that sorting needs one word per row.
constexpr std::size_t kMostEnds = 65535;
/// Rows that a thread takes at a time.
constexpr std::size_t kRowsPerRange = 4096;

/// The fewest nodes whose rule leaves at most `error` of a mean over phases that change by up to `change_rad`; 0 if
/// that is more than there may be.
///
/// The rule is applied to each antenna's phasor: the product of two of them is that of the baseline at the same node,
/// so that what matters is how the baseline's phase changes, not that of its antennas. exposure_rule_error() has the
/// bound and its source. A mean over both time and frequency is a product of two, of magnitude at most one each, and so
/// is that of the rules, whose weights are positive: their errors add.
int smearing_nodes(double change_rad, double error) {
  for (int n = 1; n <= kMostSmearingNodes; ++n)
    if (exposure_rule_error(n, 0.5 * change_rad) <= error) return n;
  return 0;
}

/// Without Jones terms: antennas themselves.
void make_entries(MatrixPlan& plan, ThreadPool& threads) {
  for (std::size_t a = 0; a < plan.antennas.n_antenna; ++a) plan.left.push_back({static_cast<std::int32_t>(a), 0});
  plan.right = plan.left;
  threads.parallel_for(plan.entries.size(), kRowsPerRange, [&plan](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t r = plan.antennas.by_layer[i];
      const AntennaRow& row = plan.antennas.rows[r];
      const bool turned = row.p > row.q;
      plan.entries[i] = {row.layer, turned ? row.q : row.p, turned ? row.p : row.q, turned, r};
    }
  });
}

/// With Jones terms: antennas with their products on either side.
void make_entries(const Rows& rows, const JonesChains& jones, MatrixPlan& plan, ThreadPool& threads) {
  const NumberedEnds left = number_ends(rows, plan.antennas, false, jones.left.of_baseline),
                     right = number_ends(rows, plan.antennas, true, jones.right.of_baseline);
  plan.left = left.ends, plan.right = right.ends;
  threads.parallel_for(plan.entries.size(), kRowsPerRange, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t r = plan.antennas.by_layer[i];
      const auto baseline = static_cast<std::size_t>(rows.baseline[r]);
      plan.entries[i] = {plan.antennas.rows[r].layer, left.of_baseline[baseline], right.of_baseline[baseline], false,
                         r};
    }
  });
}

std::string first_obstacle(const Summed& of) {
  if (of.sky.n_point < of.sky.n_source) return "the tapers of extended sources depend on the baseline";
  if (of.jones.n_pair == 0 && of.sky.planes.size() > 4) return "some brightness is not Hermitian";
  return "";
}

}  // namespace

MatrixPlan matrix_plan(const Summed& of, const JonesChains& jones, double tolerance, ThreadPool& threads) {
  MatrixPlan plan;
  plan.with_jones = !jones.empty();
  const double wave_number = 2 * kPi * of.channels.highest_hz / kSpeedOfLight_m_s;
  // What a path is off by shows as a phase; what its change over the exposure is off by, at half of that at most.
  const double limit_m = wave_number > 0 ? kShare * tolerance / wave_number : 0;
  plan.antennas = antenna_plan(of.rows, of.ends, of.sky.extent, limit_m, jones.empty(), threads);
  plan.obstacle = first_obstacle(of);
  if (!plan.obstacle.empty()) return plan;

  const SmearingLimits limits = largest_phase_change(of.sky.extent, of.channels, of.rows);
  const bool smear_time = of.rows.is_smeared_in_time();
  const bool smear_frequency = of.rows.is_smeared_in_frequency();
  plan.n_time_node = smear_time ? smearing_nodes(limits.time_rad, kShare * tolerance) : 1;
  plan.n_frequency_node = smear_frequency ? smearing_nodes(limits.frequency_rad, kShare * tolerance) : 1;
  if (plan.n_time_node == 0 || plan.n_frequency_node == 0) {
    plan.obstacle = std::string("phases change too much over ") +
                    (plan.n_time_node == 0 ? "an exposure" : "a channel") + " for " +
                    std::to_string(kMostSmearingNodes) + " smearing nodes";
    return plan;
  }

  plan.obstacle = plan.antennas.obstacle;
  if (!plan.obstacle.empty()) return plan;
  plan.bound = wave_number * (plan.antennas.misfit_m + 0.5 * plan.antennas.rate_misfit_m);
  if (smear_time) plan.bound += exposure_rule_error(plan.n_time_node, 0.5 * limits.time_rad);
  if (smear_frequency) plan.bound += exposure_rule_error(plan.n_frequency_node, 0.5 * limits.frequency_rad);
  if (plan.antennas.n_antenna > kMostEnds || jones.left.chains.size() > kMostEnds ||
      jones.right.chains.size() > kMostEnds) {
    plan.obstacle = "there are too many antennas";
    return plan;
  }
  plan.entries.resize(of.rows.n_row);
  if (jones.empty())
    make_entries(plan, threads);
  else
    make_entries(of.rows, jones, plan, threads);
  return plan;
}

void sort_into_tiles(MatrixPlan& plan, std::int32_t n, ThreadPool& threads) {
  // Numbers are below 2^16: tiles, then entries.
  const auto key = [n](const MatrixEntry& e) {
    const auto word = [](std::int32_t number) { return static_cast<std::uint64_t>(number); };
    return word(e.left / n) << 48 | word(e.right / n) << 32 | word(e.left) << 16 | word(e.right);
  };
  threads.parallel_for(plan.antennas.layer_end.size(), 1, [&](std::size_t begin, std::size_t end, int) {
    std::vector<std::pair<std::uint64_t, std::size_t>> order;
    std::vector<MatrixEntry> sorted;
    for (std::size_t layer = begin; layer < end; ++layer) {
      const std::size_t from = layer == 0 ? 0 : plan.antennas.layer_end[layer - 1], to = plan.antennas.layer_end[layer];
      order.clear(), sorted.clear();
      for (std::size_t i = from; i < to; ++i) order.emplace_back(key(plan.entries[i]), i);
      std::sort(order.begin(), order.end());
      for (const auto& [unused, i] : order) sorted.push_back(plan.entries[i]);
      std::copy(sorted.begin(), sorted.end(), plan.entries.begin() + static_cast<std::ptrdiff_t>(from));
    }
  });
}

TileCount count_tiles(const MatrixPlan& plan, std::int32_t n) {
  TileCount count;
  const auto size = static_cast<std::size_t>(n);
  const std::size_t n_left = (plan.left.size() + size - 1) / size, n_right = (plan.right.size() + size - 1) / size;
  std::vector<std::size_t> left_tile, right_tile;
  for (std::size_t i = 0; i < plan.left.size(); ++i) left_tile.push_back(i / size * n_right);
  for (std::size_t i = 0; i < plan.right.size(); ++i) right_tile.push_back(i / size);
  std::vector<std::int32_t> last_layer(n_left * n_right, -1);
  std::vector<std::size_t> times(n_left * n_right, 0);
  for (const MatrixEntry& e : plan.entries) {
    const std::size_t tile =
        left_tile[static_cast<std::size_t>(e.left)] + right_tile[static_cast<std::size_t>(e.right)];
    if (last_layer[tile] == e.layer) continue;
    last_layer[tile] = e.layer;
    ++times[tile];
  }
  // What multiplies has 16 rows and eight columns: antennas, with Jones terms twice as many.
  const std::size_t unit_rows = plan.with_jones ? 8 : 16, unit_columns = unit_rows / 2;
  const auto whole = [](std::size_t length, std::size_t unit) { return (length + unit - 1) / unit * unit; };
  const auto of_side = [size](std::size_t tile, std::size_t all) { return std::min(size, all - tile * size); };
  for (std::size_t i = 0; i < times.size(); ++i) {
    const bool diagonal = !plan.with_jones && i / n_right == i % n_right;
    const std::size_t rows = of_side(i / n_right, plan.left.size()), columns = of_side(i % n_right, plan.right.size());
    std::size_t pairs = whole(rows, unit_rows) * whole(columns, unit_columns);
    if (diagonal) {  // without units below it
      pairs = 0;
      for (std::size_t row = 0; row < rows; row += unit_rows)
        pairs += unit_rows * (whole(columns, unit_columns) - row / unit_columns * unit_columns);
    }
    count.tiles += times[i];
    count.pairs += times[i] * pairs;
    count.antennas += times[i] * (rows + (diagonal ? 0 : columns));
  }
  return count;
}

std::int32_t antennas_per_tile(const MatrixPlan& plan, const MatrixVariant& variant) {
  return plan.with_jones ? variant.tile / 2 : variant.tile;
}

}  // namespace rimetree::psv::matrix
