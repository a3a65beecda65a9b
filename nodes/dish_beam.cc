// DishBeam: voltage pattern of a dish, circular and real, at directions from where it points,
//   E(y^2), y = sqrt(l^2 + m^2) / width times nu / ref_freq_hz; 0 behind the dish (n < 0)
//   gaussian  exp(-2 ln2 y^2)
//   cosine    cos(pi k y) / (1 - (2 k y)^2), k = 1.18896: field tapered as a cosine to the dish's edge
//   airy      A(x) = 2 J_1(x)/x, x = 3.23268 y: field alike everywhere on the dish; with a part b of its diameter
//             shadowed (A(x) - b^2 A(b x)) / (1 - b^2)
// whose square, the power, is 1/2 at y = 1/2 (airy: without the shadow).
//
// Children: lmn [3] or [source,3], direction cosines from where the dish points; width [], full width at half maximum
// of the power (rad) at ref_freq_hz. State: profile (text, default "gaussian"), ref_freq_hz (Hz), blockage (b above,
// default 0). Result: scalar or [source], real, dimensionless, at most 1; varies along freq. Flags: union. Derivative:
// exact, by dual numbers, also where a dish points at a source.
// Condon & Ransom 2016, Essential Radio Astronomy, 3.3 (cosine taper); Born & Wolf 1999, Principles of Optics, 8.5.2
// (airy).
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/airy.h"

namespace rimetree {

struct DishBeamBody {
  enum class Profile : int { gaussian, cosine, airy };  // as in the field's choices
  std::size_t sources;
  Profile profile;
  double ref_freq_hz, blockage;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N l = in(0, 3 * s), m = in(0, 3 * s + 1), n = in(0, 3 * s + 2), width = in(1, 0);
    if (value_of(n) < 0) {
      *out = N(0.0);
      return;
    }
    const N per_width = N(in.frequency_hz / ref_freq_hz) / width;
    const N y_squared = (l * l + m * m) * per_width * per_width;
    *out = profile == Profile::gaussian ? exp(y_squared * N(-2 * kLn2))
           : profile == Profile::cosine ? cosine(y_squared)
                                        : airy(y_squared);
  }

 private:
  static constexpr double kLn2 = 0.693147180559945309417;
  static constexpr double kCosine = 1.1889647809329456076;    // cos(pi k/2) / (1 - k^2) = sqrt(1/2)
  static constexpr double kAiry = 2 * 1.6163399483107031782;  // A(x/2) = sqrt(1/2)

  template <class N>
  static N cosine(N y_squared) {
    const N square = y_squared * N(kCosine * kCosine);
    if (value_of(square) < 0.01) {
      const N q = square * N(-kPi * kPi);  // cos(pi a) as a series in a^2
      N sum = N(1.0);
      for (int k = 7; k > 0; --k) sum = sum * q * N(1.0 / (2.0 * k * (2 * k - 1.0))) + N(1.0);
      return sum / (N(1.0) - N(4.0) * square);
    }
    // The same without 0/0 at a = 1/2.
    const N a = sqrt(square);
    return sinc(N(kPi) * (N(0.5) - a)) * N(0.25 * kPi) / (N(0.5) + a);
  }
  template <class N>
  N airy(N y_squared) const {
    const N square = y_squared * N(kAiry * kAiry);
    if (blockage == 0) return airy_of_square(square);
    const double part = blockage * blockage;
    return (airy_of_square(square) - N(part) * airy_of_square(square * N(part))) * N(1 / (1 - part));
  }
};

class DishBeam final : public CellNode<DishBeam> {
 public:
  explicit DishBeam(const State& state)
      : CellNode(state),
        profile_(static_cast<DishBeamBody::Profile>(state.choice("profile"))),
        ref_freq_hz_(state.real("ref_freq_hz")),
        blockage_(state.real("blockage")) {
    if (blockage_ > 0 && profile_ != DishBeamBody::Profile::airy)
      throw StateError("state field \"blockage\" goes with the profile \"airy\"");
  }
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "DishBeam",
            .summary = "Voltage pattern of a dish at directions from where it points: circular, real, 1 in the middle.",
            .formula =
                "E(sqrt(l^2 + m^2) / width nu / ref_freq_hz), 0 where n < 0; gaussian: exp(-2 ln2 y^2); cosine: "
                "cos(1.18896 pi y) / (1 - (2.37793 y)^2); airy: A(x) = 2 J_1(x)/x at x = 3.23268 y, with blockage b "
                "(A(x) - b^2 A(b x)) / (1 - b^2)",
            .result = "scalar or [source], real, dimensionless, at most 1; varies along freq",
            .reference =
                "Condon & Ransom 2016, Essential Radio Astronomy, 3.3 (cosine); Born & Wolf 1999, Principles of "
                "Optics, 8.5.2 "
                "(airy); docs/writing-trees.md, primary beams",
            .children = {{.label = "lmn",
                          .shape = "[3] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "direction cosines from where the dish points, as LMN gives them"},
                         {.label = "width",
                          .shape = "[]",
                          .unit = "rad",
                          .doc = "full width at half maximum of the power at ref_freq_hz; of airy: without blockage"}},
            .state = {
                {.name = "profile",
                 .type = StateType::text,
                 .default_value = std::string("gaussian"),
                 .doc = "gaussian, cosine (field tapered to the dish's edge) or airy (field alike on all of the dish)",
                 .choices = {"gaussian", "cosine", "airy"}},
                {.name = "ref_freq_hz",
                 .type = StateType::real,
                 .unit = "Hz",
                 .doc = "frequency of the width; widths go as 1/frequency",
                 .limits = {.least = 0, .without_least = true, .without_most = true}},
                {.name = "blockage",
                 .type = StateType::real,
                 .default_value = 0.0,
                 .doc = "of airy: diameter of what shadows the middle of the dish, as a part of the dish's",
                 .limits = {.least = 0, .most = 1, .without_most = true}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& lmn = *children[0];
    return lmn.rank == 1 ? TensorShape{} : TensorShape{lmn[0]};
  }

  DishBeamBody body() const { return {dims().size(), profile_, ref_freq_hz_, blockage_}; }

 private:
  DishBeamBody::Profile profile_;
  double ref_freq_hz_, blockage_;
};

RIMETREE_REGISTER_NODE(DishBeam);

}  // namespace rimetree
