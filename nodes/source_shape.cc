// SourceShape: visibility of an extended source of unit flux at its own position, relative to that of a point,
//   G(s ((major (u sin pa + v cos pa))^2 + (minor (u cos pa - v sin pa))^2)), u and v in wavelengths,
// with G and s of the profile (runtime/math/profiles).
//
// Children: shape [3], [4], [source,3] or [source,4]: major and minor axis (rad), position angle north through east
// (rad), and the number of the profile, which also says what the axes are; without it all are of the first one. All
// zero for a point. uvw [3], or [2,3] of which the first row counts (m); w is not used. State: none. Result: scalar or
// [source], real, dimensionless, at most 1; varies along freq. Flags: union. Derivative: exact, by dual numbers.
// runtime/math/profile.h.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/review.h"
#include "runtime/math/profile.h"

namespace rimetree {

struct SourceShapeBody {
  std::size_t sources, columns;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N per_metre = N(in.frequency_hz / kSpeedOfLight_m_s);
    const std::size_t first = columns * s;
    const auto taper = [&](Profile profile) {
      return taper_of(profile, N(in(1, 0)), N(in(1, 1)), per_metre, N(in(0, first)), N(in(0, first + 1)),
                      N(in(0, first + 2)));
    };
    *out = taper(columns == 4 ? profile_of(value_of(N(in(0, first + 3)))) : Profile{0});
  }
};

class SourceShape final : public CellNode<SourceShape>, public Reviewer {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_real;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {
        .name = "SourceShape",
        .algebra = Algebra::taper,
        .summary = "Factor by which an extended source's visibility is less than that of a point of equal flux.",
        .formula =
            "G(s ((major (u sin pa + v cos pa))^2 + (minor (u cos pa - v sin pa))^2)), u and v in wavelengths, with "
            "the profile's G and s",
        .result = "scalar or [source], real, dimensionless, at most 1; varies along freq",
        .reference = "docs/conventions.md, shapes",
        .children = {{.label = "shape",
                      .shape = "[3], [4], [source,3] or [source,4]",
                      .unit = "rad",
                      .doc = "major and minor axis and position angle of the major axis, north through east; all zero "
                             "for a point. A fourth number says what profile it is, and what its axes are: " +
                             all_profiles() + "; without it all are of the first one"},
                     {.label = "uvw",
                      .shape = "[3] or [2,3]",
                      .unit = "m",
                      .doc = "coordinates of the baseline; of [2,3] only the first row is used"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& shape = *children[0];
    return shape.rank == 1 ? TensorShape{} : TensorShape{shape[0]};
  }
  void bind(std::span<const TensorShape* const> children) override { columns_ = columns_of(*children[0]); }

  Capabilities capabilities() const override {
    Capabilities capabilities = CellNode::capabilities();
    capabilities.reviewer = this;
    return capabilities;
  }
  void review(const Review& review) const override {
    const Result* shape = columns_ == 4 ? review.constant(0) : nullptr;
    if (shape == nullptr || shape->value.is_complex()) return;
    const std::size_t plane = shape->value.cells_per_element();
    for (std::size_t s = 0; s < dims().size(); ++s)
      for (std::size_t i = 0; i < plane; ++i)
        if (const double number = shape->value.real()[(4 * s + 3) * plane + i]; profile_of(number) == kUnknown)
          throw Error("the shape of source " + std::to_string(s) + " has " + std::to_string(number) +
                      " for the number of its profile, expected one of " + all_profiles());
  }

  SourceShapeBody body() const { return {dims().size(), static_cast<std::size_t>(columns_)}; }

 private:
  static int columns_of(const TensorShape& shape) { return shape[shape.rank - 1]; }
  int columns_ = 3;
};

RIMETREE_REGISTER_NODE(SourceShape);

}  // namespace rimetree
