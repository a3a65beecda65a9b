// Spectrum: Stokes parameters of sources as functions of frequency, x = nu/nu0:
//   logarithmic  I(nu) = I0 x^(c0 + c1 ln x + c2 ln^2 x + ...)
//   ordinary     I(nu) = I0 + c0 (x-1) + c1 (x-1)^2 + ...
// Q, U and V are scaled like I, or stay as they are. A rotation measure then turns
//   Q + iU  by  exp(2i RM (lambda^2 - lambda0^2)).
//
// Children: stokes [4] or [source,4] (Jy) at the reference frequency; coefficients [K] or [source,K] (dimensionless, or
// Jy for ordinary polynomials); ref_freq_hz scalar or [source] (Hz); rotation_measure scalar or [source] (rad/m^2),
// optional. State: logarithmic, scale_polarisation (0 or 1, or one per source).
// Result: as stokes, real, Jy; varies along freq. Flags: union. Derivative: exact, by dual numbers.
// Perley & Butler 2017, ApJS 230, 7 (logarithmic polynomials, there of log10); Burn 1966, MNRAS 133, 67.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/conventions.h"

namespace rimetree {

struct SpectrumBody {
  /// x^(c0 + c1 ln x + ...), by Horner's rule in ln x.
  template <class T, class Coefficient>
  static T power(T ln_x, std::size_t terms, const Coefficient& coefficient) {
    T exponent = T(0);
    for (std::size_t k = terms; k-- > 0;) exponent = exponent * ln_x + coefficient(k);
    return exp(exponent * ln_x);
  }
  /// c0 (x-1) + c1 (x-1)^2 + ...
  template <class T, class Coefficient>
  static T polynomial(T x_minus_1, std::size_t terms, const Coefficient& coefficient) {
    T sum = T(0);
    for (std::size_t k = terms; k-- > 0;) sum = (sum + coefficient(k)) * x_minus_1;
    return sum;
  }
  /// Turns Q + iU by twice the angle that the plane of polarisation turns between the two frequencies.
  template <class T>
  static void rotate(T rotation_measure, T ref_freq_hz, double frequency_hz, T& q, T& u) {
    const double lambda_m = kSpeedOfLight_m_s / frequency_hz;
    const T lambda0_m = T(kSpeedOfLight_m_s) / ref_freq_hz;
    const T angle = T(2) * rotation_measure * (T(lambda_m) - lambda0_m) * (T(lambda_m) + lambda0_m);
    const T c = cos(angle), s = sin(angle), q0 = q;
    q = q0 * c - u * s;
    u = q0 * s + u * c;
  }
};

/// A field of 0 and 1, one number or one per source.
std::vector<std::int64_t> switches(const State& state, const std::string& field) {
  std::vector<std::int64_t> values = state.integers(field);
  for (const std::int64_t value : values)
    if (value != 0 && value != 1)
      throw StateError("state field \"" + field + "\" holds " + std::to_string(value) + ", expected 0 or 1");
  return values;
}

class Spectrum final : public CellNode<Spectrum> {
 public:
  explicit Spectrum(const State& state)
      : CellNode(state),
        logarithmic_(switches(state, "logarithmic")),
        scale_polarisation_(switches(state, "scale_polarisation")) {}
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {
        .name = "Spectrum",
        .algebra = Algebra::spectrum,
        .summary = "Stokes parameters at the frequencies of the cells, from those at a reference frequency.",
        .formula =
            "logarithmic: I = I0 x^(c0 + c1 ln x + ...); ordinary: I = I0 + c0 (x-1) + c1 (x-1)^2 + ...; "
            "x = nu/nu0; Q+iU turned by exp(2i RM (lambda^2 - lambda0^2))",
        .result = "[4] or [source,4] as stokes, real, Jy; varies along freq",
        .reference =
            "Perley & Butler 2017, ApJS 230, 7 (their log10 is the natural logarithm here: convert "
            "coefficients); rotation measure: Burn 1966, MNRAS 133, 67",
        .children = {{.label = "stokes",
                      .shape = "[4] or [source,4]",
                      .unit = "Jy",
                      .doc = "I, Q, U, V at the reference frequency"},
                     {.label = "coefficients",
                      .shape = "[K] or [source,K]",
                      .unit = "dimensionless; Jy for ordinary polynomials",
                      .doc = "c0 (the spectral index), c1, ...; K may be 0; the same for all sources if [K]"},
                     {.label = "ref_freq_hz",
                      .shape = "[] or [source]",
                      .unit = "Hz",
                      .doc = "reference frequency nu0; not used by sources whose coefficients and rotation measure are "
                             "all zero, which may have 0 here"},
                     {.label = "rotation_measure",
                      .shape = "[] or [source]",
                      .unit = "rad/m^2",
                      .doc = "rotation measure",
                      .optional = true}},
        .state = {{.name = "logarithmic",
                   .type = StateType::array,
                   .default_value = std::int64_t{1},
                   .doc = "1: logarithmic, 0: ordinary polynomial; one number, or one per source"},
                  {.name = "scale_polarisation",
                   .type = StateType::array,
                   .default_value = std::int64_t{1},
                   .doc = "1: Q, U and V are scaled by I(nu)/I0, 0: they are constant but for the rotation measure; "
                          "one number, or one per source. Ordinary polynomials of sources without I0 never scale"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape &stokes = *children[0], &coefficients = *children[1];
    const int sources = stokes.rank == 2 ? stokes[0] : 1;
    if (coefficients.rank < 1 || coefficients.rank > 2 || (coefficients.rank == 2 && coefficients[0] != sources))
      throw ShapeError("child \"coefficients\" has dimensions " + to_string(coefficients) + ", expected [K] or [" +
                       std::to_string(sources) + ",K]");
    const char* const labels[] = {"", "", "ref_freq_hz", "rotation_measure"};
    for (std::size_t i = 2; i < children.size(); ++i)
      if (children[i] != nullptr && !children[i]->is_scalar() && !(*children[i] == TensorShape{sources}))
        throw ShapeError("child \"" + std::string(labels[i]) + "\" has dimensions " + to_string(*children[i]) +
                         ", expected [] or [" + std::to_string(sources) + "]");
    for (const auto& [name, values] :
         {std::pair("logarithmic", &logarithmic_), std::pair("scale_polarisation", &scale_polarisation_)})
      if (values->size() != 1 && values->size() != static_cast<std::size_t>(sources))
        throw ShapeError("state field \"" + std::string(name) + "\" has " + std::to_string(values->size()) +
                         " values, expected 1 or " + std::to_string(sources));
    return stokes;
  }

  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    const std::size_t sources = dims().size() / 4;
    for (std::size_t s = 0; s < sources; ++s) source(in, s, out + 4 * s);
  }

 private:
  template <class N>
  void source(const CellInput<N>& in, std::size_t s, N* out) const {
    const TensorShape& shape = in.dims(1);
    const std::size_t terms = static_cast<std::size_t>(shape[shape.rank - 1]);
    const auto coefficient = [&](std::size_t k) { return in(1, (shape.rank == 2 ? s * terms : 0) + k); };
    const N ref_freq_hz = in(2, in.dims(2).is_scalar() ? 0 : s);
    const N rotation = in.has(3) ? in(3, in.dims(3).is_scalar() ? 0 : s) : N(0);
    for (std::size_t j = 0; j < 4; ++j) out[j] = in(0, 4 * s + j);
    if (!(value_of(ref_freq_hz) > 0)) {
      bool flat = value_of(rotation) == 0;
      for (std::size_t k = 0; k < terms; ++k) flat = flat && value_of(coefficient(k)) == 0;
      if (flat) return;
      throw Error("source " + std::to_string(s) +
                  " has a spectrum or rotation measure, but its reference frequency is " +
                  std::to_string(value_of(ref_freq_hz)) + " Hz; it must be positive");
    }
    const N x = N(in.frequency_hz) / ref_freq_hz;
    N factor = N(1), sum = N(0);
    if (of_source(logarithmic_, s)) {
      factor = SpectrumBody::power(log(x), terms, coefficient);
      out[0] = out[0] * factor;
    } else {
      sum = SpectrumBody::polynomial((N(in.frequency_hz) - ref_freq_hz) / ref_freq_hz, terms, coefficient);
      if (value_of(out[0]) != 0) factor = N(1) + sum / out[0];
      out[0] = out[0] + sum;
    }
    if (of_source(scale_polarisation_, s))
      for (int j = 1; j < 4; ++j) out[j] = out[j] * factor;
    if (in.has(3)) SpectrumBody::rotate(rotation, ref_freq_hz, in.frequency_hz, out[1], out[2]);
  }

  static bool of_source(const std::vector<std::int64_t>& values, std::size_t s) {
    return values[values.size() == 1 ? 0 : s] != 0;
  }

  std::vector<std::int64_t> logarithmic_, scale_polarisation_;
};

RIMETREE_REGISTER_NODE(Spectrum);

}  // namespace rimetree
