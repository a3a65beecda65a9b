// GaussianShape: visibility of an elliptical Gaussian of unit flux at its own position,
//   exp(-pi^2/(4 ln 2) ((major (u sin pa + v cos pa))^2 + (minor (u cos pa - v sin pa))^2)), u and v in wavelengths
//
// Children: shape [3] or [source,3]: major and minor full width at half maximum (rad), position angle north through
// east (rad); all zero for a point. uvw [3], or [2,3] of which the first row counts (m); w is not used. State: none.
// Result: scalar or [source], real, dimensionless, at most 1; varies along freq. Flags: union. Derivative: exact, by
// dual numbers. runtime/math/conventions.h, gaussian_taper.
#include "runtime/cell/cell_node.h"
#include "runtime/core/plugin_api.h"
#include "runtime/math/conventions.h"

namespace rimetree {

struct GaussianShapeBody {
  std::size_t sources;

  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const {
    for (std::size_t s = 0; s < sources; ++s) item(in, s, out + s);
  }
  RT_HD std::size_t items() const { return sources; }
  template <class In, class Out>
  RT_HD void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N per_metre = N(in.frequency_hz / kSpeedOfLight_m_s);
    const N u = in(1, 0) * per_metre, v = in(1, 1) * per_metre;
    *out = gaussian_taper(u, v, in(0, 3 * s), in(0, 3 * s + 1), in(0, 3 * s + 2));
  }
};

class GaussianShape final : public CellNode<GaussianShape> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {
        .name = "GaussianShape",
        .algebra = Algebra::gaussian_taper,
        .summary = "Factor by which an elliptical Gaussian's visibility is less than that of a point of equal flux.",
        .formula =
            "exp(-pi^2/(4 ln 2) ((major (u sin pa + v cos pa))^2 + (minor (u cos pa - v sin pa))^2)), "
            "u and v in wavelengths",
        .result = "scalar or [source], real, dimensionless, at most 1; varies along freq",
        .reference =
            "Fourier transform of a Gaussian of given full width at half maximum; Thompson, Moran "
            "& Swenson 2017, "
            "Interferometry and Synthesis in Radio Astronomy (3rd ed.)",
        .children = {{.label = "shape",
                      .shape = "[3] or [source,3]",
                      .unit = "rad",
                      .doc = "major and minor full width at half maximum and position angle of the major axis, "
                             "north through east; all zero for a point"},
                     {.label = "uvw",
                      .shape = "[3] or [2,3]",
                      .unit = "m",
                      .doc = "coordinates of the baseline; of [2,3] only the first row is used"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape &shape = *children[0], &uvw = *children[1];
    if (shape.rank < 1 || shape.rank > 2 || shape[shape.rank - 1] != 3)
      throw ShapeError("child \"shape\" has dimensions " + to_string(shape) + ", expected [3] or [source,3]");
    if (!(uvw == TensorShape{3}) && !(uvw == TensorShape{2, 3}))
      throw ShapeError("child \"uvw\" has dimensions " + to_string(uvw) + ", expected [3] or [2,3]");
    return shape.rank == 1 ? TensorShape{} : TensorShape{shape[0]};
  }

  GaussianShapeBody body() const { return {dims().size()}; }
};

RIMETREE_REGISTER_NODE(GaussianShape);

}  // namespace rimetree
