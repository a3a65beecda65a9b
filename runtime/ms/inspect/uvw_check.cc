#include "runtime/ms/inspect/uvw_check.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <queue>

namespace rimetree::ms {
namespace {

using Vector = std::array<double, 3>;
using Matrix = std::array<Vector, 3>;

constexpr double kPi = 3.14159265358979323846;
constexpr double kDegree = kPi / 180;
// A direction off by a minute of arc makes 3e-4; UVW of date instead of J2000 up to 7e-3 in 2030; a direction of B1950
// that is said to be of J2000 up to 0.011; a wrong sign 2.
constexpr double kGoodResidual = 0.008;

Vector operator-(const Vector& a, const Vector& b) { return {a[0] - b[0], a[1] - b[1], a[2] - b[2]}; }
double dot(const Vector& a, const Vector& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

Vector unit(double ra, double dec) {
  return {std::cos(dec) * std::cos(ra), std::cos(dec) * std::sin(ra), std::sin(dec)};
}

/// Rows: the axes u, v and w of a phase centre.
Matrix axes(double ra, double dec) {
  return {Vector{-std::sin(ra), std::cos(ra), 0},
          Vector{-std::sin(dec) * std::cos(ra), -std::sin(dec) * std::sin(ra), std::cos(dec)}, unit(ra, dec)};
}

/// Sums over the rows of one field, from which the residual of any direction follows.
struct Moments {
  Matrix uvw_baseline{};  ///< sum of uvw_i * baseline_j, baseline = position(p) - position(q) in J2000
  double uvw = 0, baseline = 0;
  std::vector<Vector> zenith;  ///< [slot] of the array, J2000

  /// rms of uvw - sign * axes * baseline, relative to rms of uvw.
  double residual(double ra, double dec, int sign) const {
    const Matrix m = axes(ra, dec);
    double product = 0;
    for (int i = 0; i < 3; ++i) product += dot(m[i], uvw_baseline[i]);
    return std::sqrt(std::max(0.0, uvw + baseline - 2 * sign * product) / uvw);
  }

  bool above_horizon(double ra, double dec) const {
    const Vector s = unit(ra, dec);
    return std::all_of(zenith.begin(), zenith.end(), [&s](const Vector& up) { return dot(up, s) > -0.05; });
  }
};

struct Fit {
  double ra = 0, dec = 0, residual = 1e30;
};

/// The direction above the horizon with the smallest residual: a grid, then ever smaller steps.
Fit best_direction(const Moments& moments, int sign) {
  Fit best;
  const auto consider = [&](double ra, double dec) {
    if (dec < -kPi / 2 || dec > kPi / 2) return false;
    const double residual = moments.residual(ra, dec, sign);
    if (residual >= best.residual || !moments.above_horizon(ra, dec)) return false;
    best = {ra, dec, residual};
    return true;
  };
  for (int dec = -89; dec <= 89; ++dec) {
    for (int ra = 0; ra < 360; ++ra) consider(ra * kDegree, dec * kDegree);
  }
  for (double step = kDegree / 2; step > 1e-7; step /= 2) {
    for (int tries = 0; tries < 20; ++tries) {
      const Fit at = best;
      const double wide = step / std::max(0.02, std::cos(at.dec));
      bool better = consider(at.ra + wide, at.dec) | consider(at.ra - wide, at.dec);
      better |= consider(at.ra, at.dec + step) | consider(at.ra, at.dec - step);
      if (!better) break;
    }
  }
  best.ra -= 2 * kPi * std::floor(best.ra / (2 * kPi));
  return best;
}

/// Vectors fixed to the Earth in J2000, which is a rotation for all rows of one time.
class ToJ2000 {
 public:
  Vector operator()(const Vector& itrf, double time_s) {
    if (time_s != time_s_) {
      time_s_ = time_s;
      for (int k = 0; k < 3; ++k) {
        Vector axis{};
        axis[k] = 1;
        axes_[k] = to_j2000(axis, time_s);
      }
    }
    Vector turned{};
    for (int i = 0; i < 3; ++i) turned[i] = axes_[0][i] * itrf[0] + axes_[1][i] * itrf[1] + axes_[2][i] * itrf[2];
    return turned;
  }

 private:
  double time_s_ = NAN;
  Matrix axes_{};
};

std::map<int, Moments> moments_by_field(const std::vector<Antenna>& antennas, const std::vector<UvwRow>& rows) {
  std::map<int, Moments> all;
  std::size_t last_slot = static_cast<std::size_t>(-1);
  ToJ2000 turned;
  for (const UvwRow& row : rows) {
    const Antenna &p = antennas[row.antenna1], &q = antennas[row.antenna2];
    if (!p.has_position() || !q.has_position() || row.antenna1 == row.antenna2) continue;
    if (!std::isfinite(row.uvw_m[0] + row.uvw_m[1] + row.uvw_m[2])) continue;
    Moments& moments = all[row.field_id];
    const Vector baseline = turned(p.position_m - q.position_m, row.time_s);
    moments.uvw += dot(row.uvw_m, row.uvw_m);
    moments.baseline += dot(baseline, baseline);
    for (int i = 0; i < 3; ++i) {
      for (int j = 0; j < 3; ++j) moments.uvw_baseline[i][j] += row.uvw_m[i] * baseline[j];
    }
    if (row.slot == last_slot && !moments.zenith.empty()) continue;
    last_slot = row.slot;
    Vector up = turned(p.position_m, row.time_s);
    const double length = std::sqrt(dot(up, up));
    for (double& x : up) x /= length;
    moments.zenith.push_back(up);
  }
  return all;
}

struct FieldVerdict {
  int sign = 0;  ///< +1: p-q, -1: q-p, 0: unknown
  UvwDirection direction;
};

FieldVerdict judge(const Moments& moments, int field_id, const Field& field) {
  FieldVerdict verdict;
  UvwDirection& direction = verdict.direction;
  direction.field_id = field_id;
  const double plus = moments.residual(field.ra_rad, field.dec_rad, 1);
  const double minus = moments.residual(field.ra_rad, field.dec_rad, -1);
  direction.field_residual = direction.residual = std::min(plus, minus);
  direction.ra_rad = field.ra_rad;
  direction.dec_rad = field.dec_rad;
  if (direction.field_residual < kGoodResidual) {
    verdict.sign = plus < minus ? 1 : -1;
    return verdict;
  }
  const Fit fits[2] = {best_direction(moments, 1), best_direction(moments, -1)};
  const Fit& best = fits[fits[0].residual < fits[1].residual ? 0 : 1];
  const Fit& other = fits[fits[0].residual < fits[1].residual ? 1 : 0];
  const int sign = &best == &fits[0] ? 1 : -1;
  if (best.residual < 0.05 && best.residual < 0.3 * direction.field_residual) {
    direction.points_elsewhere = true;
    direction.ra_rad = best.ra;
    direction.dec_rad = best.dec;
    direction.residual = best.residual;
    const double cosine = dot(unit(best.ra, best.dec), unit(field.ra_rad, field.dec_rad));
    direction.offset_rad = std::acos(std::clamp(cosine, -1.0, 1.0));
    if (other.residual > 3 * best.residual) verdict.sign = sign;
  } else if (direction.field_residual < 0.3) {
    verdict.sign = plus < minus ? 1 : -1;  // roughly right: a wrong sign would make about 2
  }
  return verdict;
}

/// The largest misclosure of the loops that the rows of one slot make; -1 if there is no loop.
double slot_misclosure(const UvwRow* rows, std::size_t n) {
  int last = 0;
  for (std::size_t i = 0; i < n; ++i) last = std::max({last, rows[i].antenna1, rows[i].antenna2});
  std::vector<std::vector<std::size_t>> rows_of_antenna(static_cast<std::size_t>(last) + 1);
  for (std::size_t i = 0; i < n; ++i) {
    rows_of_antenna[rows[i].antenna1].push_back(i);
    rows_of_antenna[rows[i].antenna2].push_back(i);
  }
  std::vector<Vector> position(rows_of_antenna.size());
  std::vector<bool> reached(rows_of_antenna.size(), false), in_tree(n, false);
  for (int root = 0; root <= last; ++root) {
    if (reached[root]) continue;
    reached[root] = true;
    std::queue<int> queue;
    for (queue.push(root); !queue.empty(); queue.pop()) {
      const int antenna = queue.front();
      for (const std::size_t i : rows_of_antenna[antenna]) {
        const bool forward = rows[i].antenna1 == antenna;
        const int next = forward ? rows[i].antenna2 : rows[i].antenna1;
        if (reached[next]) continue;
        reached[next] = in_tree[i] = true;
        position[next] = position[antenna];
        for (int k = 0; k < 3; ++k) position[next][k] += (forward ? 1 : -1) * rows[i].uvw_m[k];
        queue.push(next);
      }
    }
  }
  double largest = -1;
  for (std::size_t i = 0; i < n; ++i) {
    if (in_tree[i]) continue;
    const Vector miss = position[rows[i].antenna2] - position[rows[i].antenna1] - rows[i].uvw_m;
    largest = std::max(largest, std::sqrt(dot(miss, miss)));
  }
  return largest;
}

void check_closure(const std::vector<UvwRow>& rows, double tolerance_m, UvwReport* report) {
  for (std::size_t begin = 0, end; begin < rows.size(); begin = end) {
    end = begin + 1;
    while (end < rows.size() && rows[end].slot == rows[begin].slot) ++end;
    const double misclosure_m = slot_misclosure(&rows[begin], end - begin);
    if (misclosure_m < 0) continue;
    report->closure_tested = true;
    report->misclosure_m = std::max(report->misclosure_m, misclosure_m);
  }
  report->decomposable = report->closure_tested && report->misclosure_m <= tolerance_m;
}

}  // namespace

std::array<double, 3> to_j2000(const std::array<double, 3>& itrf, double time_s) {
  // Greenwich mean sidereal time (IAU 1982) and precession angles (IAU 1976); t in Julian centuries since J2000.0.
  const double days = time_s / 86400 - 51544.5, t = days / 36525;
  const double second = 2 * kPi / 86400, arcsec = kDegree / 3600;
  const double gmst =
      second * (67310.54841 + t * (8640184.812866 + t * (0.093104 - t * 6.2e-6))) + 2 * kPi * (days - std::floor(days));
  const double zeta = arcsec * t * (2306.2181 + t * (0.30188 + t * 0.017998));
  const double z = arcsec * t * (2306.2181 + t * (1.09468 + t * 0.018203));
  const double theta = arcsec * t * (2004.3109 - t * (0.42665 + t * 0.041833));
  const auto turn_z = [](const Vector& v, double angle) {
    return Vector{std::cos(angle) * v[0] - std::sin(angle) * v[1], std::sin(angle) * v[0] + std::cos(angle) * v[1],
                  v[2]};
  };
  const Vector of_date = turn_z(turn_z(itrf, gmst), -z);
  const Vector tilted = {std::cos(theta) * of_date[0] + std::sin(theta) * of_date[2], of_date[1],
                         -std::sin(theta) * of_date[0] + std::cos(theta) * of_date[2]};
  return turn_z(tilted, -zeta);
}

UvwReport check_uvw(const std::vector<Antenna>& antennas, const std::vector<Field>& fields,
                    const std::vector<UvwRow>& rows, double closure_tolerance_m) {
  UvwReport report;
  check_closure(rows, closure_tolerance_m, &report);
  int signs[2] = {0, 0};
  for (const auto& [field_id, moments] : moments_by_field(antennas, rows)) {
    if (moments.uvw == 0 || !std::isfinite(fields[field_id].ra_rad + fields[field_id].dec_rad)) continue;
    const FieldVerdict verdict = judge(moments, field_id, fields[field_id]);
    report.directions.push_back(verdict.direction);
    if (verdict.sign != 0) ++signs[verdict.sign > 0 ? 0 : 1];
  }
  if (report.directions.empty()) {
    report.reason = "no row connects two antennas whose positions are known and has a UVW that is not zero";
  } else if (signs[0] + signs[1] == 0) {
    report.reason =
        "the UVW follow from the antenna positions with neither sign, towards no direction above the horizon";
  } else if (signs[0] > 0 && signs[1] > 0) {
    report.reason = "some fields have one sign and some the other";
  } else {
    report.family = signs[0] > 0 ? "p-q" : "q-p";
  }
  return report;
}

}  // namespace rimetree::ms
