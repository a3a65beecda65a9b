// CrossedDipoles: Jones matrix of two dipoles above the ground, both parallel to it:
//   [[x . north, x . east], [y . north, y . east]] f g,  0 below the horizon
// with x and y their unit vectors, north and east those of the source on the sky, and c = cos of the angle between
// dipole and source:
//   f  1 for a short dipole; cos(pi/2 c) / (1 - c^2) for one of half a wave
//   g  sin(2 pi h nu/c cos z) / sin(2 pi h nu/c), z the zenith angle, for dipoles at a height h above a ground that
//      reflects; 1 without
//
// Children: lmn [3] or [source,3], direction cosines from a phase centre; radec_0 [2], that centre (rad); horizon
// [3,3], unit vectors to the east, to the north and to the zenith as coordinates u, v, w of that centre (UVW). State:
// x_azimuth_rad, y_azimuth_rad (from north through east; default: X to the east, Y to the north), length ("short" or
// "half-wave"), height_m (default 0: without a ground). Result: [2,2] or [source,2,2], real, dimensionless; 1 at the
// zenith; varies along freq. Half a wave or more above the ground they see nothing at the zenith, and fail. Flags:
// union. Derivative: exact, by dual numbers. Balanis 2016, Antenna Theory, 4.6 (half a wave), 4.8 (above a ground);
// Sokolowski et al. 2017, PASA 34, e062 (dipoles of the MWA).
#include <cstdio>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/conventions.h"

namespace rimetree {

struct CrossedDipolesBody {
  std::size_t sources;
  double azimuth_rad[2];
  bool half_wave;
  double height_m;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N source[] = {in(0, 3 * s), in(0, 3 * s + 1), in(0, 3 * s + 2)};
    const auto along = [&](std::size_t axis) {
      return in(2, 3 * axis) * source[0] + in(2, 3 * axis + 1) * source[1] + in(2, 3 * axis + 2) * source[2];
    };
    const N up = along(2);
    if (value_of(up) < 0) {
      for (int i = 0; i < 4; ++i) out[i] = N(0.0);
      return;
    }
    // North on the sky is where the pole (0, cos dec, sin dec) is.
    const N pole[] = {N(0.0), cos(N(in(1, 1))), sin(N(in(1, 1)))};
    const N to_pole = pole[1] * source[1] + pole[2] * source[2];
    N east[] = {pole[1] * source[2] - pole[2] * source[1], pole[2] * source[0], -(pole[1] * source[0])};
    N square = east[0] * east[0] + east[1] * east[1] + east[2] * east[2];
    const bool at_pole = value_of(square) < 1e-20;  // less than rounding leaves a direction of
    if (at_pole) {
      // Every way is south there: east is that of the centre.
      east[0] = square = N(1.0);
      east[1] = east[2] = N(0.0);
    }
    const N level = N(1.0) / sqrt(square);
    const N common = ground(up, in.frequency_hz) * level;
    for (int d = 0; d < 2; ++d) {
      const double to_east = std::sin(azimuth_rad[d]), to_north = std::cos(azimuth_rad[d]);
      N axis[3];
      for (std::size_t k = 0; k < 3; ++k) axis[k] = N(to_east) * in(2, k) + N(to_north) * in(2, 3 + k);
      const N c = axis[0] * source[0] + axis[1] * source[1] + axis[2] * source[2];
      const N gain = half_wave ? common * of_half_a_wave(c) : common;
      // At the pole north is source x east.
      const N along_north =
          at_pole ? axis[1] * source[2] - axis[2] * source[1] : axis[1] * pole[1] + axis[2] * pole[2] - c * to_pole;
      out[2 * d] = along_north * gain;
      out[2 * d + 1] = (axis[0] * east[0] + axis[1] * east[1] + axis[2] * east[2]) * gain;
    }
  }

 private:
  template <class N>
  static N of_half_a_wave(N c) {
    // cos(pi/2 c) / (1 - c^2) without 0/0 at the ends of the dipole.
    const N a = abs(c);
    return sinc(N(kPi / 2) * (N(1.0) - a)) * N(kPi / 2) / (N(1.0) + a);
  }
  template <class N, class Frequency>
  N ground(N up, Frequency frequency_hz) const {
    if (height_m == 0) return N(1.0);
    const N turn = N(2 * kPi * height_m / kSpeedOfLight_m_s * frequency_hz);
    return sin(turn * up) / sin(turn);
  }
};

class CrossedDipoles final : public CellNode<CrossedDipoles> {
 public:
  explicit CrossedDipoles(const State& state)
      : CellNode(state),
        body_{0,
              {state.real("x_azimuth_rad"), state.real("y_azimuth_rad")},
              state.text("length") == "half-wave",
              state.real("height_m")} {}
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "CrossedDipoles",
            .summary = "Jones matrix of two dipoles, parallel to the ground, towards directions on the sky.",
            .formula =
                "[[x.north, x.east], [y.north, y.east]] f g, 0 below the horizon; half-wave: f = cos(pi/2 c) / (1 - "
                "c^2), c along the dipole; ground: g = sin(2 pi h nu/c cos z) / sin(2 pi h nu/c)",
            .result = "[2,2] or [source,2,2], real, dimensionless, 1 at the zenith; varies along freq",
            .reference =
                "Balanis 2016, Antenna Theory, 4.6 and 4.8; Sokolowski et al. 2017, PASA 34, e062; "
                "docs/writing-trees.md, primary beams",
            .children = {{.label = "lmn",
                          .shape = "[3] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "direction cosines from a phase centre, as LMN gives them"},
                         {.label = "radec_0",
                          .shape = "[2]",
                          .unit = "rad",
                          .doc = "right ascension and declination of that centre"},
                         {.label = "horizon",
                          .shape = "[3,3]",
                          .unit = "dimensionless",
                          .doc = "unit vectors to the east, to the north and to the zenith as coordinates u, v, w of "
                                 "that centre"}},
            .state = {{.name = "x_azimuth_rad",
                       .type = StateType::real,
                       .default_value = kPi / 2,
                       .unit = "rad",
                       .doc = "where the X dipole points, from north through east; default: to the east",
                       .limits = kFiniteNumbers},
                      {.name = "y_azimuth_rad",
                       .type = StateType::real,
                       .default_value = 0.0,
                       .unit = "rad",
                       .doc = "where the Y dipole points; default: to the north",
                       .limits = kFiniteNumbers},
                      {.name = "length",
                       .type = StateType::text,
                       .default_value = std::string("short"),
                       .doc = "short (much less than a wave) or half-wave",
                       .choices = {"short", "half-wave"}},
                      {.name = "height_m",
                       .type = StateType::real,
                       .default_value = 0.0,
                       .unit = "m",
                       .doc = "of the dipoles above a ground that reflects, less than half a wave; 0: there is none",
                       .limits = {.least = 0, .most = 1e6, .without_most = true}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& lmn = *children[0];
    return lmn.rank == 1 ? TensorShape{2, 2} : TensorShape{lmn[0], 2, 2};
  }

  CrossedDipolesBody body() const {
    CrossedDipolesBody body = body_;
    body.sources = dims().size() / 4;
    return body;
  }

  std::optional<DevicePlan> plan_on_device(const Evaluation& evaluation) const override {
    require_response_at_zenith(evaluation.cells());
    return CellNode::plan_on_device(evaluation);
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    require_response_at_zenith(evaluation.cells());
    CellNode::evaluate(evaluation);
  }

 private:
  void require_response_at_zenith(const Cells& cells) const {
    for (const double frequency_hz : cells.axis(Axis::frequency).centre) {
      const double wavelength_m = kSpeedOfLight_m_s / frequency_hz;
      if (2 * body_.height_m < wavelength_m) continue;
      char text[320];
      std::snprintf(
          text, sizeof text,
          "dipoles %.4g m above a ground are half a wave or more above it at %.6g MHz, where the wavelength is "
          "%.4g m: there they see nothing at the zenith, where their response is taken as 1; expected less than "
          "%.4g MHz",
          body_.height_m, frequency_hz / 1e6, wavelength_m, kSpeedOfLight_m_s / (2e6 * body_.height_m));
      throw Error(text);
    }
  }

  CrossedDipolesBody body_;
};

RIMETREE_REGISTER_NODE(CrossedDipoles);

}  // namespace rimetree
