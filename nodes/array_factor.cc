// ArrayFactor: what the beamformer of an aperture array leaves of a signal from a direction, its elements taken alike:
//   sum_e w_e exp(+2 pi i nu/c x_e . (s - s_0)),  0 where s is below the horizon
// with s the direction and s_0 that of the beam, for which signals of all elements are added in phase at each
// frequency.
//
// Children: lmn [3] or [source,3], direction cosines from where the beam points; horizon [3,3], unit vectors to the
// east, to the north and to the zenith as coordinates u, v, w of where the beam points (UVW); elements [element,3],
// where elements are to the east, north and zenith (m); weights [element], default: 1 over the number of elements.
// State: none. Result: scalar or [source], complex, dimensionless, 1 where the beam points; varies along freq. Flags:
// union. Derivative: exact, by dual numbers.
// The sign is that of VisPhaseShift: visibilities of stations are those of their elements, added up.
// van Haarlem et al. 2013, A&A 556, A2, 4 (beamforming); Balanis 2016, Antenna Theory, chapter 6 (array factor).
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/math/conventions.h"

namespace rimetree {

struct ArrayFactorBody {
  std::size_t sources, elements;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N l = in(0, 3 * s), m = in(0, 3 * s + 1), n = in(0, 3 * s + 2);
    const N n_1 = n_offset(l, m, n, 1);
    const auto along = [&](std::size_t axis, const N& third) {
      return in(1, 3 * axis) * l + in(1, 3 * axis + 1) * m + in(1, 3 * axis + 2) * third;
    };
    if (value_of(along(2, n)) < 0) {
      *out = Complex<N>(N(0.0));
      return;
    }
    const N per_metre = N(2 * kPi / kSpeedOfLight_m_s * in.frequency_hz);
    const N turn[] = {along(0, n_1) * per_metre, along(1, n_1) * per_metre, along(2, n_1) * per_metre};
    Complex<N> sum(N(0.0));
    for (std::size_t e = 0; e < elements; ++e) {
      const N phase = in(2, 3 * e) * turn[0] + in(2, 3 * e + 1) * turn[1] + in(2, 3 * e + 2) * turn[2];
      const N weight = in.has(3) ? N(in(3, e)) : N(1.0 / static_cast<double>(elements));
      sum += Complex<N>(weight * cos(phase), weight * sin(phase));
    }
    *out = sum;
  }
};

class ArrayFactor final : public CellNode<ArrayFactor> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_complex;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "ArrayFactor",
            .summary = "What the beamformer of an aperture array leaves of a signal from a direction.",
            .formula = "sum_e w_e exp(+2 pi i nu/c x_e . (s - s_0)), 0 where s is below the horizon",
            .result = "scalar or [source], complex, dimensionless, 1 where the beam points; varies along freq",
            .reference =
                "van Haarlem et al. 2013, A&A 556, A2, 4; Balanis 2016, Antenna Theory, chapter 6; "
                "docs/writing-trees.md, primary beams",
            .children = {{.label = "lmn",
                          .shape = "[3] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "direction cosines from where the beam points, as LMN gives them"},
                         {.label = "horizon",
                          .shape = "[3,3]",
                          .unit = "dimensionless",
                          .doc = "unit vectors to the east, to the north and to the zenith as coordinates u, v, w of "
                                 "where the beam points"},
                         {.label = "elements",
                          .shape = "[element,3]",
                          .unit = "m",
                          .doc = "where the elements are, to the east, to the north and to the zenith"},
                         {.label = "weights",
                          .shape = "[element]",
                          .unit = "dimensionless",
                          .doc = "what each element counts; default: 1 over their number",
                          .optional = true}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape &lmn = *children[0], &elements = *children[2];
    if (elements[0] < 1) throw ShapeError("child \"elements\" has dimensions [0,3]: there are none");
    return lmn.rank == 1 ? TensorShape{} : TensorShape{lmn[0]};
  }
  void bind(std::span<const TensorShape* const> children) override {
    n_element_ = static_cast<std::size_t>((*children[2])[0]);
  }

  ArrayFactorBody body() const { return {dims().size(), n_element_}; }

 private:
  std::size_t n_element_ = 0;
};

RIMETREE_REGISTER_NODE(ArrayFactor);

}  // namespace rimetree
