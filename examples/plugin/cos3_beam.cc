// Cos3Beam: voltage beam of a dish, cos^3(width_per_hz nu sqrt(l^2 + m^2)), zero from its first null outwards
//
// Child: lmn [3] or [source,3], dimensionless. State: width_per_hz (default 65e-9, the 65 per GHz that is usual for the
// WSRT at 1.4 GHz). Result: scalar or [source], real, dimensionless; varies along freq. Flags: those of the child.
// Derivative: exact, by dual numbers. MeqTrees: the script WSRT_cos3_beam.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/conventions.h"

namespace {

using namespace rimetree;

struct Cos3BeamBody {
  template <class T>
  static T apply(T l, T m, T width) {
    const T angle = width * sqrt(l * l + m * m);
    if (!(value_of(angle) < kPi / 2)) return T(0);
    const T c = cos(angle);
    return c * c * c;
  }
};

class Cos3Beam final : public CellNode<Cos3Beam> {
 public:
  explicit Cos3Beam(const State& state) : CellNode(state), width_per_hz_(state.real("width_per_hz")) {}
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "Cos3Beam",
            .summary = "Voltage beam of a dish that points at the phase centre, cosine cubed.",
            .formula = "cos^3(width_per_hz nu sqrt(l^2 + m^2)), 0 from its first null outwards",
            .result = "scalar or [source], real, dimensionless; varies along freq",
            .reference = "the script WSRT_cos3_beam of MeqTrees",
            .children = {{.label = "lmn",
                          .shape = "[3] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "direction cosines with respect to the pointing centre"}},
            .state = {{.name = "width_per_hz",
                       .type = StateType::real,
                       .default_value = 65e-9,
                       .unit = "1/Hz",
                       .doc = "scale of the beam",
                       .limits = {.least = 0, .without_least = true}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& lmn = *children[0];
    return lmn.rank == 1 ? TensorShape{} : TensorShape{lmn[0]};
  }

  template <class N, class Out>
  void cell(const CellInput<N>& in, Out* out) const {
    const N width = N(width_per_hz_ * in.frequency_hz);
    for (std::size_t s = 0; s < dims().size(); ++s) out[s] = Cos3BeamBody::apply(in(0, 3 * s), in(0, 3 * s + 1), width);
  }

 private:
  double width_per_hz_;
};

RIMETREE_REGISTER_NODE(Cos3Beam);

}  // namespace

RIMETREE_PLUGIN("cos3_beam");
