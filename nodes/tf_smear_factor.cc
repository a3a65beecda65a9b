// TFSmearFactor: sinc(pi dt nu/c (u' l + v' m + w' (n - 1))) sinc(pi dnu/c (u l + v m + w (n - 1))), sinc(x) = sin(x)/x
//
// Children: lmn [3] or [source,3] (dimensionless), uvw [2,3]: the coordinates of a *baseline* (m) and their rates
// (m/s); with [3] there is no time smearing. dt and dnu are the widths of the cells. State: n_minus (integer 1 or 0,
// default 1), smear_time and smear_frequency (default true), time_width_s and freq_width_hz (instead of the cells'
// widths; default 0: those). Result: scalar or [source], real, dimensionless; varies
// along time and freq. Flags: union. Derivative: exact, by dual numbers (that of the smearing included). Thompson,
// Moran & Swenson 2017, eqs 6.67 and 6.80. MeqTrees' TFSmearFactor takes the phases of two stations and their rates by
// finite differences, and takes one frequency for bands narrower than 5 %; here each channel has its own value.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/classes/smearing_widths.h"
#include "runtime/math/conventions.h"

namespace rimetree {

struct TfSmearFactorBody {
  std::size_t sources;
  int n_minus;
  bool in_time, in_frequency;
  SmearingWidths widths;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    using Coordinate = std::remove_const_t<decltype(in.frequency_hz)>;
    const bool rates = in_time && in.dims(1).rank == 2;
    const auto width = [](double own, Coordinate of_cell) { return own > 0 ? Coordinate(own) : of_cell; };
    const Coordinate frequency_width_hz = in_frequency ? width(widths.freq_hz, in.frequency_width_hz) : Coordinate(0);
    const N l = in(0, 3 * s), m = in(0, 3 * s + 1), n_off = n_offset(l, m, in(0, 3 * s + 2), n_minus);
    const N path_m = path_difference_m(in(1, 0), in(1, 1), in(1, 2), l, m, n_off);
    const N rate_m_s = rates ? path_difference_m(in(1, 3), in(1, 4), in(1, 5), l, m, n_off) : N(0);
    *out = factor(path_m, rate_m_s, in.frequency_hz, frequency_width_hz, width(widths.time_s, in.time_width_s));
  }
  template <class T, class Coordinate>
  static T factor(T path_m, T path_rate_m_s, Coordinate frequency_hz, Coordinate frequency_width_hz,
                  Coordinate time_width_s) {
    constexpr double kTurn = 2 * kPi / kSpeedOfLight_m_s;
    return smearing(path_m * T(kTurn * frequency_width_hz)) *
           smearing(path_rate_m_s * T(kTurn * frequency_hz * time_width_s));
  }
};

class TFSmearFactor final : public CellNode<TFSmearFactor> {
 public:
  explicit TFSmearFactor(const State& state)
      : CellNode(state),
        n_minus_(static_cast<int>(state.integer("n_minus"))),
        in_time_(state.boolean("smear_time")),
        in_frequency_(state.boolean("smear_frequency")),
        widths_(state) {}
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInTime = true;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "TFSmearFactor",
            .algebra = Algebra::smearing,
            .summary = "Loss of amplitude by averaging a source's fringes over the time and frequency width of a cell.",
            .formula =
                "sinc(pi dt nu/c (du l + dv m + dw (n-1))) sinc(pi dnu/c (u l + v m + w (n-1))), "
                "sinc(x) = sin(x)/x",
            .result = "scalar or [source], real, dimensionless, at most 1; varies along time and freq",
            .reference =
                "Bridle & Schwab 1999, ASP Conf. Ser. 180, 371. Unlike MeqTrees' TFSmearFactor it takes a "
                "baseline's coordinates and rates, not the phases of two stations",
            .children = {{.label = "lmn",
                          .shape = "[3] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "direction cosines l, m, n with respect to the phase centre (n, not n-1)"},
                         {.label = "uvw",
                          .shape = "[2,3] or [3]",
                          .unit = "m, m/s",
                          .doc = "coordinates of the baseline and, second row, their rates of change; without the "
                                 "second row there is no time smearing. Not of stations: the factor of a baseline is "
                                 "not a product of factors of its stations"}},
            .state = {{.name = "n_minus",
                       .type = StateType::integer,
                       .default_value = std::int64_t{1},
                       .doc = "1: fringes are stopped at the phase centre; 0: they are not",
                       .limits = {.least = 0, .most = 1}},
                      {.name = "smear_time",
                       .type = StateType::boolean,
                       .default_value = true,
                       .doc = "whether to average over the time width of the cell"},
                      {.name = "smear_frequency",
                       .type = StateType::boolean,
                       .default_value = true,
                       .doc = "whether to average over the frequency width of the cell"},
                      SmearingWidths::time_field(),
                      SmearingWidths::freq_field()}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& lmn = *children[0];
    return lmn.rank == 1 ? TensorShape{} : TensorShape{lmn[0]};
  }

  TfSmearFactorBody body() const { return {dims().size(), n_minus_, in_time_, in_frequency_, widths_}; }

 private:
  int n_minus_;
  bool in_time_, in_frequency_;
  SmearingWidths widths_;
};

RIMETREE_REGISTER_NODE(TFSmearFactor);

}  // namespace rimetree
