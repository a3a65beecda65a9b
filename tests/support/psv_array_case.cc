#include "tests/support/psv_array_case.h"

#include <cmath>
#include <random>

namespace rimetree::testing {
namespace {

std::vector<std::pair<int, int>> baselines_of(const ArrayOptions& a) {
  std::vector<std::pair<int, int>> baselines;
  int n = 0;
  for (int p = 0; p < a.n_antenna; ++p)
    for (int q = p + (a.autocorrelations ? 0 : 1); q < a.n_antenna; ++q) {
      ++n;
      if (a.leave_out > 0 && n % a.leave_out == 0) continue;
      const bool turned = a.both_orders && n % 2 == 0;
      for (std::size_t k = 0; k < a.repeat; ++k) baselines.emplace_back(turned ? q : p, turned ? p : q);
    }
  return baselines;
}

CaseOptions with_rows(CaseOptions o, const ArrayOptions& a) {
  o.n_baseline = baselines_of(a).size();
  return o;
}

double rounded(double value, double unit) { return std::nearbyint(value / unit) * unit; }

}  // namespace

ArrayCase::ArrayCase(CaseOptions o, const ArrayOptions& a) : Case(with_rows(o, a)) {
  std::mt19937_64 engine(o.seed + 5000);
  const auto random = [&engine] { return 2.0 * (double(engine() >> 11) / 9007199254740992.0) - 1.0; };
  const double scale = 0.5 * o.phase_rad * 299792458.0 / (6.283 * 1.4e9) / 0.3;
  const std::size_t n_array = a.repeats_differ ? a.repeat : 1;
  // [array][time][antenna][axis]
  const auto n = static_cast<std::size_t>(a.n_antenna);
  std::vector<double> place(n_array * o.n_time * n * 3), rate(place.size());
  for (std::size_t i = 0; i < place.size(); ++i) {
    const double distance = scale * std::pow(10.0, -1.5 * double(i / 3 % n) / double(n));
    place[i] = rounded(distance * random(), std::ldexp(1.0, -20));
    rate[i] = rounded(7.3e-5 * distance * random(), std::ldexp(1.0, -40));
  }
  const auto baselines = baselines_of(a);
  for (std::size_t b = 0; b < baselines.size(); ++b) {
    ends.p.push_back(10 + baselines[b].first);
    ends.q.push_back(10 + baselines[b].second);
    for (std::size_t t = 0; t < o.n_time; ++t) {
      const std::size_t r = b * o.n_time + t, array = (b % a.repeat % n_array) * o.n_time + t;
      const auto at = [&](const std::vector<double>& of, int antenna, std::size_t axis) {
        return of[(array * n + static_cast<std::size_t>(antenna)) * 3 + axis];
      };
      double* position[] = {&rows[r].u, &rows[r].v, &rows[r].w};
      double* motion[] = {&rows[r].du, &rows[r].dv, &rows[r].dw};
      for (std::size_t axis = 0; axis < 3; ++axis) {
        *position[axis] = at(place, baselines[b].first, axis) - at(place, baselines[b].second, axis);
        uvw[axis][r] = *position[axis];
        if (!o.smearing) continue;
        *motion[axis] = at(rate, baselines[b].first, axis) - at(rate, baselines[b].second, axis);
        duvw[axis][r] = *motion[axis];
      }
      if (o.smearing) rows[r].exposure = exposure[r] = o.exposure_s;
    }
  }
}

}  // namespace rimetree::testing
