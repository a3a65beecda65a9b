#include "nodes/psv/matrix/antennas.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <numeric>

#include "nodes/psv/operands.h"
#include "runtime/forest.h"
#include "runtime/math/double_double.h"

namespace rimetree::psv {
namespace {

/// A slot whose rows need more layers than this is no array of antennas.
constexpr std::int32_t kMostLayers = 4;

/// What a row measures: the difference of two places.
struct Difference {
  double value[6];
  double exposure_s;
};

Difference difference_of(const Rows& rows, std::size_t r) {
  Difference d{{rows.u[r], rows.v[r], rows.w[r], 0, 0, 0}, 0};
  if (rows.exposure_s == nullptr || rows.du == nullptr || !rows.smear_time) return d;
  d.value[3] = rows.du[r], d.value[4] = rows.dv[r], d.value[5] = rows.dw[r];
  d.exposure_s = rows.exposure_s[r];
  return d;
}

/// d - (p - q) without rounding errors but the last one.
double misfit(double d, double p, double q) {
  const DoubleDouble<double> difference = exact::sum(p, -q);
  return (d - difference.hi) - difference.lo;
}

/// Finds the layers of one time slot.
class SlotRows {
 public:
  SlotRows(const Rows& rows, const Extent& extent, double limit_m, AntennaPlan& plan)
      : rows_(rows), extent_(extent), limit_m_(limit_m), plan_(plan) {}

  /// Gives rows to layers; false if they need too many.
  bool add(std::vector<std::size_t> rows) {
    for (std::int32_t n = 0; n < kMostLayers && !rows.empty(); ++n) {
      AntennaLayer& layer = plan_.layers.emplace_back();
      layer.time = rows_.time[rows.front()];
      layer.exposure_s = difference_of(rows_, rows.front()).exposure_s;
      layer.place.resize(plan_.n_antenna);
      place_antennas(rows, layer);
      std::erase_if(rows, [&](std::size_t r) { return take(r, layer); });
    }
    return rows.empty();
  }
  double worst_m() const { return worst_m_; }

 private:
  /// Walks from antenna to antenna along the rows. Breadth first: most are one step away from the first.
  void place_antennas(const std::vector<std::size_t>& rows, AntennaLayer& layer) {
    std::vector<std::vector<std::size_t>> rows_of(plan_.n_antenna);
    for (const std::size_t r : rows) {
      const AntennaRow& row = plan_.rows[r];
      if (row.p == row.q || difference_of(rows_, r).exposure_s != layer.exposure_s) continue;
      rows_of[static_cast<std::size_t>(row.p)].push_back(r);
      rows_of[static_cast<std::size_t>(row.q)].push_back(r);
    }
    std::vector<char> known(plan_.n_antenna, 0);
    std::vector<std::size_t> queue;
    for (std::size_t root = 0; root < plan_.n_antenna; ++root) {
      if (known[root]) continue;
      known[root] = 1;
      queue.assign(1, root);
      for (std::size_t i = 0; i < queue.size(); ++i)
        for (const std::size_t r : rows_of[queue[i]]) {
          const AntennaRow& row = plan_.rows[r];
          const bool from_p = static_cast<std::size_t>(row.p) == queue[i];
          const auto next = static_cast<std::size_t>(from_p ? row.q : row.p);
          if (known[next]) continue;
          known[next] = 1;
          layer.place[next] = step(layer.place[queue[i]], difference_of(rows_, r), from_p ? -1 : 1);
          queue.push_back(next);
        }
    }
  }
  static AntennaPlace step(const AntennaPlace& a, const Difference& d, double sign) {
    return {a.x + sign * d.value[0],  a.y + sign * d.value[1],  a.z + sign * d.value[2],
            a.dx + sign * d.value[3], a.dy + sign * d.value[4], a.dz + sign * d.value[5]};
  }

  /// Puts a row into the layer if its places explain it.
  bool take(std::size_t r, const AntennaLayer& layer) {
    const Difference d = difference_of(rows_, r);
    if (d.exposure_s != layer.exposure_s) return false;
    AntennaRow& row = plan_.rows[r];
    const AntennaPlace &p = layer.place[static_cast<std::size_t>(row.p)],
                       &q = layer.place[static_cast<std::size_t>(row.q)];
    const double off =
        extent_.bound(misfit(d.value[0], p.x, q.x), misfit(d.value[1], p.y, q.y), misfit(d.value[2], p.z, q.z));
    const double rate_off = d.exposure_s * extent_.bound(misfit(d.value[3], p.dx, q.dx), misfit(d.value[4], p.dy, q.dy),
                                                         misfit(d.value[5], p.dz, q.dz));
    if (!(std::max(off, rate_off) <= limit_m_)) {
      worst_m_ = std::max(worst_m_, std::max(off, rate_off));
      return false;
    }
    plan_.misfit_m = std::max(plan_.misfit_m, off);
    plan_.rate_misfit_m = std::max(plan_.rate_misfit_m, rate_off);
    row.layer = static_cast<std::int32_t>(plan_.layers.size()) - 1;
    return true;
  }

  const Rows& rows_;
  const Extent& extent_;
  double limit_m_, worst_m_ = 0;
  AntennaPlan& plan_;
};

/// Numbers the antennas of the rows from 0, in the order of their names, and gives each row its two. A row of the
/// length zero, which missing rows of a Measurement Set have, belongs to one antenna: its sum is that of an
/// autocorrelation.
void number_antennas(const Rows& rows, const BaselineEnds& ends, bool zero_is_one_antenna, AntennaPlan& plan) {
  std::map<std::int64_t, std::int32_t> number;
  for (const auto* names : {&ends.p, &ends.q})
    for (const std::int64_t name : *names) number[name] = 0;
  std::int32_t n = 0;
  for (auto& [name, index] : number) index = n++;
  plan.n_antenna = number.size();
  plan.rows.resize(rows.n_row);
  for (std::size_t r = 0; r < rows.n_row; ++r) {
    const auto baseline = static_cast<std::size_t>(rows.baseline[r]);
    AntennaRow& row = plan.rows[r];
    row.p = number.at(ends.p[baseline]);
    row.q = number.at(ends.q[baseline]);
    const Difference d = difference_of(rows, r);
    const bool zero = std::all_of(d.value, d.value + 6, [](double value) { return value == 0; });
    if (zero && zero_is_one_antenna) row.q = row.p;
  }
}

}  // namespace

void add_ends(const Forest& forest, const Node& psv, bool first, BaselineEnds& ends) {
  if (!first && ends.empty()) return;
  const int child = forest.children(psv.index())[kUvw];
  const auto& state = forest.node(child).state().values();
  const auto p = state.find("station_1_index"), q = state.find("station_2_index");
  if (p != state.end() && q != state.end() && std::holds_alternative<std::int64_t>(p->second) &&
      std::holds_alternative<std::int64_t>(q->second)) {
    ends.p.push_back(std::get<std::int64_t>(p->second));
    ends.q.push_back(std::get<std::int64_t>(q->second));
    return;
  }
  const std::vector<int>& two = forest.children(child);
  if (two.size() != 2 || two[0] < 0 || two[1] < 0) {
    ends = {};
    return;
  }
  ends.p.push_back(two[0]);
  ends.q.push_back(two[1]);
}

AntennaPlan antenna_plan(const Rows& rows, const BaselineEnds& ends, const Extent& extent, double limit_m,
                         bool zero_is_one_antenna) {
  AntennaPlan plan;
  if (ends.empty() || rows.baseline == nullptr || rows.time == nullptr) {
    plan.obstacle = "the antennas of the baselines are not known";
    return plan;
  }
  number_antennas(rows, ends, zero_is_one_antenna, plan);
  std::vector<std::size_t> order(rows.n_row);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return rows.time[a] < rows.time[b]; });
  SlotRows slot(rows, extent, limit_m, plan);
  for (std::size_t begin = 0, end = 0; begin < order.size(); begin = end) {
    while (end < order.size() && rows.time[order[end]] == rows.time[order[begin]]) ++end;
    const auto first = order.begin() + static_cast<std::ptrdiff_t>(begin);
    if (slot.add({first, order.begin() + static_cast<std::ptrdiff_t>(end)})) continue;
    char text[200];
    std::snprintf(
        text, sizeof text,
        "UVW are not differences of one vector per antenna (paths are off by up to %.2g m, where %.2g m would "
        "do)",
        slot.worst_m(), limit_m);
    plan.obstacle = text;
    return plan;
  }
  for (const AntennaLayer& layer : plan.layers)
    for (const AntennaPlace& a : layer.place) plan.reach_m = std::max(plan.reach_m, extent.bound(a.x, a.y, a.z));
  return plan;
}

}  // namespace rimetree::psv
