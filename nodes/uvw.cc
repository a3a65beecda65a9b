// UVW: coordinates of a station in the frame whose w axis points to the phase centre, u to the east, v to the north:
//   (u, v, w) = R(ra0, dec0) C(t)^T (xyz - xyz_0),  C: GCRS to ITRS (IAU 2006/2000A, no polar motion)
//
// Children: radec_0 [2] (rad, ICRS), xyz [3] and xyz_0 [3] (m, ITRF).
// State: include_deriv (default false): adds the rates of change; dut1_s (UT1 - UTC, s, default 0).
// Result: [3] (m), or [2,3] with the rates (m/s) as second row; real, varies along time.
// Flags: union. Derivative: exact, by dual numbers.
// Geometric coordinates: without aberration, light deflection and retarded baselines. A Measurement Set whose
// UVW = position(ANTENNA1) - position(ANTENNA2) has uvw(p) - uvw(q); both families predict with exp(+2 pi i ...).
// Thompson, Moran & Swenson 2017, section 4.1; IERS Conventions 2010, chapter 5, by ERFA. MeqTrees: UVW.
#include <erfa.h>

#include <array>
#include <cmath>
#include <map>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/conventions.h"

namespace rimetree {

namespace {

struct Rotation {
  double c2t[3][3];
};

/// Seconds of the day that begins at a Julian date: one more if a leap second ends it.
double length_of_day_s(double date) {
  double tai_utc_s[2] = {0, 0}, fraction = 0;
  for (int next = 0; next < 2; ++next) {
    int year = 0, month = 0, day = 0;
    if (eraJd2cal(date, next, &year, &month, &day, &fraction) < 0) return 86400;
    if (eraDat(year, month, day, 0, &tai_utc_s[next]) < 0) return 86400;
  }
  return 86400 + std::round(tai_utc_s[1] - tai_utc_s[0]);  // the drift of UTC before 1972 is milliseconds
}

Rotation celestial_to_terrestrial(double utc_s, double dut1_s) {
  // Two-part Julian dates: whole days, and the fraction with full precision, which for ERFA is that of the day's own
  // length, whereas times of Measurement Sets count 86400 s for each day before.
  const double day = std::floor(utc_s / 86400);
  const double utc1 = 2400000.5 + day, utc2 = (utc_s - day * 86400) / length_of_day_s(utc1);
  double tai1 = 0, tai2 = 0, tt1 = 0, tt2 = 0, ut11 = 0, ut12 = 0;
  if (eraUtctai(utc1, utc2, &tai1, &tai2) < 0 || eraTaitt(tai1, tai2, &tt1, &tt2) < 0 ||
      eraUtcut1(utc1, utc2, dut1_s, &ut11, &ut12) < 0)
    throw Error("time " + std::to_string(utc_s) + " s (MJD " + std::to_string(utc_s / 86400) +
                ") is no date that can be converted to UT1");
  Rotation rotation;
  eraC2t06a(tt1, tt2, ut11, ut12, 0, 0, rotation.c2t);
  return rotation;
}

/// As above. Nutation is a sum of 1400 terms, and all stations ask for the same times: each thread remembers them.
const Rotation& remembered_rotation(double utc_s, double dut1_s) {
  thread_local std::map<std::pair<double, double>, Rotation> known;
  const auto it = known.find({utc_s, dut1_s});
  if (it != known.end()) return it->second;
  if (known.size() >= 4096) known.clear();
  return known.emplace(std::pair(utc_s, dut1_s), celestial_to_terrestrial(utc_s, dut1_s)).first->second;
}

struct UvwBody {
  /// (u, v, w) of a vector in the ITRS.
  template <class T>
  static void apply(const Rotation& rotation, T ra, T dec, const T* itrs_m, T* uvw_m) {
    T g[3];
    for (int i = 0; i < 3; ++i)
      g[i] = T(rotation.c2t[0][i]) * itrs_m[0] + T(rotation.c2t[1][i]) * itrs_m[1] + T(rotation.c2t[2][i]) * itrs_m[2];
    const T toward_ra = cos(ra) * g[0] + sin(ra) * g[1];
    uvw_m[0] = cos(ra) * g[1] - sin(ra) * g[0];
    uvw_m[1] = cos(dec) * g[2] - sin(dec) * toward_ra;
    uvw_m[2] = sin(dec) * g[2] + cos(dec) * toward_ra;
  }
};

}  // namespace

class UVW final : public CellNode<UVW> {
 public:
  explicit UVW(const State& state)
      : CellNode(state), rates_(state.boolean("include_deriv")), dut1_s_(state.real("dut1_s")) {}
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInTime = true;

  static NodeClass info() {
    return {.name = "UVW",
            .algebra = Algebra::coordinates,
            .summary = "Coordinates u, v, w of a station as the Earth turns; a baseline's are the difference of two.",
            .formula = "R(ra0, dec0) C(t)^T (xyz - xyz_0), C: rotation from GCRS to ITRS (IAU 2006/2000A)",
            .result = "[3], m; with include_deriv [2,3], m and m/s; real, varies along time",
            .reference =
                "IERS Conventions 2010, chapter 5, by ERFA; Thompson, Moran & Swenson 2017, section 4.1; "
                "geometric, without aberration; MeqTrees UVW",
            .children = {{.label = "radec_0",
                          .shape = "[2]",
                          .unit = "rad",
                          .doc = "right ascension and declination (ICRS) of the phase centre"},
                         {.label = "xyz", .shape = "[3]", .unit = "m", .doc = "position of the station (ITRF)"},
                         {.label = "xyz_0",
                          .shape = "[3]",
                          .unit = "m",
                          .doc = "position (ITRF) from which the coordinates are counted, e.g. the array's"}},
            .state = {{.name = "include_deriv",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "whether the rates of change are added as a second row"},
                      {.name = "dut1_s",
                       .type = StateType::real,
                       .default_value = 0.0,
                       .unit = "s",
                       .doc = "UT1 - UTC; 0.1 s is a rotation by 1.5 arcsec",
                       .limits = {.least = -1, .most = 1}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    return rates_ ? TensorShape{2, 3} : TensorShape{3};
  }

  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    const Rotation& rotation = remembered_rotation(in.time_s, dut1_s_);
    const N position_m[3] = {in(1, 0) - in(2, 0), in(1, 1) - in(2, 1), in(1, 2) - in(2, 2)};
    UvwBody::apply(rotation, in(0, 0), in(0, 1), position_m, out);
    if (!rates_) return;
    // Velocity seen from the stars: the Earth's angular velocity (along the z axis) times the position.
    const N velocity_m_s[3] = {N(-kEarthRotation_rad_s) * position_m[1], N(kEarthRotation_rad_s) * position_m[0], N(0)};
    UvwBody::apply(rotation, in(0, 0), in(0, 1), velocity_m_s, out + 3);
  }

 private:
  bool rates_;
  double dut1_s_;
};

RIMETREE_REGISTER_NODE(UVW);

}  // namespace rimetree
