#include "nodes/psv/matrix/plan.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "nodes/psv/delay/delay.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv {
namespace {

/// Parts of the tolerance: half for rounding, an eighth for each of the four approximations.
constexpr double kShare = 0.125;

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

/// Number of (antenna, product) on one side, in the order of the antennas.
void number_ends(std::vector<MatrixEntry>& entries, std::int32_t MatrixEntry::*side,
                 const std::vector<MatrixEnd>& end_of_row, std::vector<MatrixEnd>& ends) {
  std::map<std::pair<std::int32_t, std::int32_t>, std::int32_t> number;
  for (const MatrixEnd& end : end_of_row) number[{end.antenna, end.product}] = 0;
  std::int32_t n = 0;
  for (auto& [name, index] : number) {
    index = n++;
    ends.push_back({name.first, name.second});
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    entries[i].*side = number.at({end_of_row[i].antenna, end_of_row[i].product});
}

void make_entries(const DeviceProblem& p, const JonesChains& jones, MatrixPlan& plan) {
  std::vector<MatrixEnd> left_of, right_of;
  for (std::size_t r = 0; r < p.rows.n_row; ++r) {
    const AntennaRow& row = plan.antennas.rows[r];
    MatrixEntry entry{row.layer, row.p, row.q, false, r};
    if (jones.empty()) {
      entry.conjugate = entry.left > entry.right;
      if (entry.conjugate) std::swap(entry.left, entry.right);
    } else {
      const auto baseline = static_cast<std::size_t>(p.rows.baseline[r]);
      left_of.push_back({row.p, jones.left_of[baseline]});
      right_of.push_back({row.q, jones.right_of[baseline]});
    }
    plan.entries.push_back(entry);
  }
  if (jones.empty()) {
    for (std::size_t a = 0; a < plan.antennas.n_antenna; ++a) plan.left.push_back({static_cast<std::int32_t>(a), 0});
    plan.right = plan.left;
  } else {
    number_ends(plan.entries, &MatrixEntry::left, left_of, plan.left);
    number_ends(plan.entries, &MatrixEntry::right, right_of, plan.right);
  }
  std::stable_sort(plan.entries.begin(), plan.entries.end(),
                   [](const MatrixEntry& a, const MatrixEntry& b) { return a.layer < b.layer; });
}

std::string first_obstacle(const DeviceProblem& p) {
  if (p.sky.n_point < p.sky.n_source) return "the shapes of Gaussians depend on the baseline";
  if (p.jones.n_pair == 0 && p.sky.planes.size() > 4) return "some brightness is not Hermitian";
  return "";
}

}  // namespace

MatrixPlan matrix_plan(const DeviceProblem& p, const JonesChains& jones, double tolerance) {
  MatrixPlan plan;
  plan.with_jones = !jones.empty();
  plan.obstacle = first_obstacle(p);
  if (!plan.obstacle.empty()) return plan;

  const SmearingLimits limits = largest_phase_change(p.sky.extent, p.channels, p.rows);
  const bool smear_time = p.rows.du != nullptr && p.rows.exposure_s != nullptr && p.rows.smear_time;
  const bool smear_frequency = p.rows.du != nullptr && p.rows.smear_frequency;
  plan.n_time_node = smear_time ? smearing_nodes(limits.time_rad, kShare * tolerance) : 1;
  plan.n_frequency_node = smear_frequency ? smearing_nodes(limits.frequency_rad, kShare * tolerance) : 1;
  if (plan.n_time_node == 0 || plan.n_frequency_node == 0) {
    plan.obstacle = std::string("phases change too much over ") +
                    (plan.n_time_node == 0 ? "an exposure" : "a channel") + " for " +
                    std::to_string(kMostSmearingNodes) + " smearing nodes";
    return plan;
  }

  const double wave_number = 2 * kPi * p.channels.highest_hz / kSpeedOfLight_m_s;
  // What a path is off by shows as a phase; what its change over the exposure is off by, at half of that at most.
  const double limit_m = wave_number > 0 ? kShare * tolerance / wave_number : 0;
  plan.antennas = antenna_plan(p.rows, p.ends, p.sky.extent, limit_m, jones.empty());
  plan.obstacle = plan.antennas.obstacle;
  if (!plan.obstacle.empty()) return plan;
  plan.bound = wave_number * (plan.antennas.misfit_m + 0.5 * plan.antennas.rate_misfit_m);
  if (smear_time) plan.bound += exposure_rule_error(plan.n_time_node, 0.5 * limits.time_rad);
  if (smear_frequency) plan.bound += exposure_rule_error(plan.n_frequency_node, 0.5 * limits.frequency_rad);
  make_entries(p, jones, plan);
  return plan;
}

void sort_into_tiles(MatrixPlan& plan, std::int32_t n) {
  const auto key = [n](const MatrixEntry& e) { return std::tuple(e.layer, e.left / n, e.right / n, e.left, e.right); };
  std::stable_sort(plan.entries.begin(), plan.entries.end(),
                   [&](const MatrixEntry& a, const MatrixEntry& b) { return key(a) < key(b); });
}

TileCount count_tiles(const MatrixPlan& plan, std::int32_t n) {
  TileCount count;
  const auto size = static_cast<std::size_t>(n);
  const std::size_t n_left = (plan.left.size() + size - 1) / size, n_right = (plan.right.size() + size - 1) / size;
  std::vector<std::int32_t> seen(n_left * n_right, -1);
  for (const MatrixEntry& e : plan.entries) {
    const auto left = static_cast<std::size_t>(e.left / n), right = static_cast<std::size_t>(e.right / n);
    std::int32_t& last = seen[left * n_right + right];
    if (last == e.layer) continue;
    last = e.layer;
    const bool diagonal = !plan.with_jones && left == right;
    const auto of_side = [size](std::size_t tile, std::size_t all) { return std::min(size, all - tile * size); };
    // What multiplies has eight rows and columns, antennas or with Jones terms half as many.
    const std::size_t unit = plan.with_jones ? 4 : 8;
    const auto whole_units = [unit](std::size_t length) { return (length + unit - 1) / unit * unit; };
    const std::size_t rows = of_side(left, plan.left.size()), columns = of_side(right, plan.right.size());
    ++count.tiles;
    count.pairs +=
        diagonal ? whole_units(rows) * (whole_units(rows) + unit) / 2 : whole_units(rows) * whole_units(columns);
    count.antennas += rows + (diagonal ? 0 : columns);
  }
  return count;
}

std::int32_t antennas_per_tile(const MatrixPlan& plan, const MatrixVariant& variant) {
  return plan.with_jones ? variant.tile / 2 : variant.tile;
}

}  // namespace rimetree::psv
