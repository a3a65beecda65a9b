#include "nodes/psv/antennas.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <iterator>
#include <map>
#include <span>

#include "runtime/math/double_double.h"

namespace rimetree::psv {
namespace {

/// A slot whose rows need more layers than this is no array of antennas.
constexpr std::size_t kMostLayers = 4;

/// What a row measures: the difference of two places.
struct Difference {
  double value[6];
  double exposure_s;
};

Difference difference_of(const Rows& rows, std::size_t r) {
  Difference d{{rows.u[r], rows.v[r], rows.w[r], 0, 0, 0}, 0};
  if (!rows.is_smeared_in_time()) return d;
  d.value[3] = rows.du[r], d.value[4] = rows.dv[r], d.value[5] = rows.dw[r];
  d.exposure_s = rows.exposure_s[r];
  return d;
}

/// d - (p - q) without rounding errors but the last one.
double misfit(double d, double p, double q) {
  const DoubleDouble<double> difference = exact::sum(p, -q);
  return (d - difference.hi) - difference.lo;
}

/// What one thread keeps from slot to slot.
struct Walk {
  std::vector<std::size_t> row_of;  ///< rows of each antenna, one antenna after the other
  std::vector<std::size_t> end_of;  ///< [antenna]
  std::vector<std::size_t> queue;
  std::vector<char> known;
};

/// One time slot and its layers.
struct TimeSlot {
  std::size_t begin = 0, end = 0;  ///< of AntennaPlan::by_layer
  std::vector<AntennaLayer> layers;
  std::vector<std::size_t> layer_end;
  double misfit_m = 0, rate_misfit_m = 0, refused_m = 0, reach_m = 0;
  bool explained = false;
};

/// Finds the layers of slots.
class Finder {
 public:
  Finder(const Rows& rows, const Extent& extent, double limit_m, AntennaPlan& plan)
      : rows_(rows), extent_(extent), limit_m_(limit_m), plan_(plan) {}

  /// Gives the slot's rows to layers, and puts those of a layer side by side.
  void find(TimeSlot& slot, Walk& scratch) const {
    std::size_t done = slot.begin;
    while (done < slot.end && slot.layers.size() < kMostLayers) {
      AntennaLayer& layer = slot.layers.emplace_back();
      const std::span rest(plan_.by_layer.data() + done, slot.end - done);
      layer.time = rows_.time[rest.front()];
      layer.exposure_s = difference_of(rows_, rest.front()).exposure_s;
      layer.place.resize(plan_.n_antenna);
      place_antennas(rest, layer, scratch);
      const auto number = static_cast<std::int32_t>(slot.layers.size()) - 1;
      const auto taken =
          std::stable_partition(rest.begin(), rest.end(), [&](std::size_t r) { return take(r, layer, number, slot); });
      done += static_cast<std::size_t>(taken - rest.begin());
      slot.layer_end.push_back(done);
      for (const AntennaPosition& a : layer.place) slot.reach_m = std::max(slot.reach_m, extent_.bound(a.x, a.y, a.z));
    }
    slot.explained = done == slot.end;
  }

 private:
  /// Walks from antenna to antenna along the rows. Breadth first: most are one step away from the first.
  void place_antennas(std::span<const std::size_t> rows, AntennaLayer& layer, Walk& s) const {
    list_rows(rows, layer.exposure_s, s);
    s.known.assign(plan_.n_antenna, 0);
    s.queue.clear();
    for (std::size_t root = 0, i = 0; root < plan_.n_antenna; ++root) {
      if (s.known[root]) continue;
      s.known[root] = 1;
      for (s.queue.push_back(root); i < s.queue.size() && s.queue.size() < plan_.n_antenna; ++i) {
        const std::size_t from = s.queue[i];
        for (std::size_t k = from == 0 ? 0 : s.end_of[from - 1]; k < s.end_of[from]; ++k) {
          const AntennaRow& row = plan_.rows[s.row_of[k]];
          const bool from_p = static_cast<std::size_t>(row.p) == from;
          const auto next = static_cast<std::size_t>(from_p ? row.q : row.p);
          if (s.known[next]) continue;
          s.known[next] = 1;
          layer.place[next] = step(layer.place[from], difference_of(rows_, s.row_of[k]), from_p ? -1 : 1);
          s.queue.push_back(next);
        }
      }
    }
  }
  void list_rows(std::span<const std::size_t> rows, double exposure_s, Walk& s) const {
    const auto for_each_end = [&](auto&& f) {
      for (const std::size_t r : rows) {
        const AntennaRow& row = plan_.rows[r];
        if (row.p == row.q || difference_of(rows_, r).exposure_s != exposure_s) continue;
        f(static_cast<std::size_t>(row.p), r);
        f(static_cast<std::size_t>(row.q), r);
      }
    };
    s.end_of.assign(plan_.n_antenna + 1, 0);
    for_each_end([&](std::size_t antenna, std::size_t) { ++s.end_of[antenna + 1]; });
    for (std::size_t i = 1; i < s.end_of.size(); ++i) s.end_of[i] += s.end_of[i - 1];
    s.row_of.resize(s.end_of.back());
    // Each beginning becomes the end as rows are put there.
    for_each_end([&](std::size_t antenna, std::size_t r) { s.row_of[s.end_of[antenna]++] = r; });
  }
  static AntennaPosition step(const AntennaPosition& a, const Difference& d, double sign) {
    return {a.x + sign * d.value[0],  a.y + sign * d.value[1],  a.z + sign * d.value[2],
            a.dx + sign * d.value[3], a.dy + sign * d.value[4], a.dz + sign * d.value[5]};
  }

  /// Puts a row into the layer if its places explain it.
  bool take(std::size_t r, const AntennaLayer& layer, std::int32_t number, TimeSlot& slot) const {
    const Difference d = difference_of(rows_, r);
    if (d.exposure_s != layer.exposure_s) return false;
    AntennaRow& row = plan_.rows[r];
    const AntennaPosition &p = layer.place[static_cast<std::size_t>(row.p)],
                          &q = layer.place[static_cast<std::size_t>(row.q)];
    const double off =
        extent_.bound(misfit(d.value[0], p.x, q.x), misfit(d.value[1], p.y, q.y), misfit(d.value[2], p.z, q.z));
    double rate_off = 0;
    if (d.exposure_s != 0)
      rate_off = d.exposure_s * extent_.bound(misfit(d.value[3], p.dx, q.dx), misfit(d.value[4], p.dy, q.dy),
                                              misfit(d.value[5], p.dz, q.dz));
    if (!(std::max(off, rate_off) <= limit_m_)) {
      slot.refused_m = std::max(slot.refused_m, std::max(off, rate_off));
      return false;
    }
    slot.misfit_m = std::max(slot.misfit_m, off);
    slot.rate_misfit_m = std::max(slot.rate_misfit_m, rate_off);
    row.layer = number;
    return true;
  }

  const Rows& rows_;
  const Extent& extent_;
  double limit_m_;
  AntennaPlan& plan_;
};

/// Numbers the antennas of the baselines from 0, in the order of their names, and gives each row its two. A row of the
/// length zero, which missing rows of a Measurement Set have, may belong to one antenna: its sum is that of an
/// autocorrelation.
void number_antennas(const Rows& rows, const BaselineEnds& ends, bool zero_is_one_antenna, AntennaPlan& plan) {
  std::map<std::int64_t, std::int32_t> number;
  for (const auto* names : {&ends.p, &ends.q})
    for (const std::int64_t name : *names) number[name] = 0;
  std::int32_t n = 0;
  for (auto& [name, index] : number) index = n++;
  plan.n_antenna = number.size();
  std::vector<AntennaRow> of_baseline;
  for (std::size_t b = 0; b < ends.p.size(); ++b)
    of_baseline.push_back({0, number.at(ends.p[b]), number.at(ends.q[b])});
  plan.rows.resize(rows.n_row);
  for (std::size_t r = 0; r < rows.n_row; ++r) {
    AntennaRow& row = plan.rows[r] = of_baseline.at(static_cast<std::size_t>(rows.baseline[r]));
    const bool may_be_zero = zero_is_one_antenna && rows.u[r] == 0 && rows.v[r] == 0 && rows.w[r] == 0;
    if (!may_be_zero) continue;
    const Difference d = difference_of(rows, r);
    if (std::all_of(d.value, d.value + 6, [](double value) { return value == 0; })) row.q = row.p;
  }
}

/// Numbers of the rows by time, in the order of rows within a slot.
std::vector<TimeSlot> sort_by_time(const Rows& rows, std::vector<std::size_t>& order) {
  std::int32_t last = 0;
  for (std::size_t r = 0; r < rows.n_row; ++r) last = std::max(last, rows.time[r]);
  std::vector<TimeSlot> slots(static_cast<std::size_t>(last) + 1);
  for (std::size_t r = 0; r < rows.n_row; ++r) ++slots[static_cast<std::size_t>(rows.time[r])].end;
  std::size_t n = 0;
  for (TimeSlot& slot : slots) {
    n += slot.end;
    slot.begin = slot.end = n - slot.end;
  }
  order.resize(rows.n_row);
  for (std::size_t r = 0; r < rows.n_row; ++r) order[slots[static_cast<std::size_t>(rows.time[r])].end++] = r;
  return slots;
}

/// Moves the layers of all slots to the plan.
void collect(std::vector<TimeSlot>& slots, double limit_m, AntennaPlan& plan) {
  double refused_m = 0;
  bool explained = true;
  for (TimeSlot& slot : slots) {
    const auto before = static_cast<std::int32_t>(plan.layers.size());
    for (std::size_t i = slot.begin; before > 0 && i < slot.end; ++i) plan.rows[plan.by_layer[i]].layer += before;
    std::move(slot.layers.begin(), slot.layers.end(), std::back_inserter(plan.layers));
    plan.layer_end.insert(plan.layer_end.end(), slot.layer_end.begin(), slot.layer_end.end());
    plan.misfit_m = std::max(plan.misfit_m, slot.misfit_m);
    plan.rate_misfit_m = std::max(plan.rate_misfit_m, slot.rate_misfit_m);
    plan.reach_m = std::max(plan.reach_m, slot.reach_m);
    if (slot.explained) continue;
    explained = false;
    refused_m = std::max(refused_m, slot.refused_m);
  }
  if (explained) return;
  char text[200];
  std::snprintf(text, sizeof text,
                "UVW are not differences of one vector per antenna (paths are off by up to %.2g m, where %.2g m would "
                "do)",
                refused_m, limit_m);
  plan.obstacle = text;
}

}  // namespace

NumberedEnds number_ends(const Rows& rows, const AntennaPlan& antennas, bool right,
                         const std::vector<std::int32_t>& chain_of_baseline) {
  std::vector<AntennaEnd> of_baseline(chain_of_baseline.size());
  for (std::size_t r = 0; r < rows.n_row; ++r) {
    const auto b = static_cast<std::size_t>(rows.baseline[r]);
    of_baseline[b] = {right ? antennas.rows[r].q : antennas.rows[r].p, chain_of_baseline[b]};
  }
  std::map<AntennaEnd, std::int32_t> numbers;
  for (const AntennaEnd& end : of_baseline) numbers[end] = 0;
  NumberedEnds all;
  for (auto& [end, index] : numbers) {
    index = static_cast<std::int32_t>(all.ends.size());
    all.ends.push_back(end);
  }
  for (const AntennaEnd& end : of_baseline) all.of_baseline.push_back(numbers.at(end));
  return all;
}

AntennaPlan antenna_plan(const Rows& rows, const BaselineEnds& ends, const Extent& extent, double limit_m,
                         bool zero_is_one_antenna, ThreadPool& threads) {
  AntennaPlan plan;
  if (ends.empty() || rows.baseline == nullptr || rows.time == nullptr) {
    plan.obstacle = "the antennas of the baselines are not known";
    return plan;
  }
  number_antennas(rows, ends, zero_is_one_antenna, plan);
  std::vector<TimeSlot> slots = sort_by_time(rows, plan.by_layer);
  const Finder finder(rows, extent, limit_m, plan);
  std::vector<Walk> scratch(static_cast<std::size_t>(threads.size()));
  threads.parallel_for(slots.size(), 1, [&](std::size_t begin, std::size_t end, int worker) {
    for (std::size_t i = begin; i < end; ++i) finder.find(slots[i], scratch[static_cast<std::size_t>(worker)]);
  });
  collect(slots, limit_m, plan);
  return plan;
}

}  // namespace rimetree::psv
