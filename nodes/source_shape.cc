// SourceShape: visibility of an extended source of unit flux at its own position, relative to that of a point,
//   G(s ((major (u sin pa + v cos pa))^2 + (minor (u cos pa - v sin pa))^2)), u and v in wavelengths,
// with G and s of the profile (runtime/math/profiles); or, of axes as vectors a and b, G(s ((a . uvw)^2 + (b .
// uvw)^2)).
//
// Children: shape, a row for each source: major and minor axis (rad) and position angle north through east (rad) in the
// (l, m) plane; or the components of both axes along u, v and w (rad). One more number is that of the profile, which
// also says what the axes are; without it all are of the first one. All zero for a point. uvw [3], or [2,3] of which
// the first row counts (m). State: none. Result: scalar or
// [source], real, dimensionless, at most 1; varies along freq. Flags: union. Derivative: exact, by dual numbers.
// runtime/math/profile.h.
#include <algorithm>

#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/review.h"
#include "runtime/math/profile.h"

namespace rimetree {

struct SourceShapeBody {
  std::size_t sources, columns;  ///< 3 or 6, or with the profile 4 or 7

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    using N = typename In::Number;
    const N per_metre = N(in.frequency_hz / kSpeedOfLight_m_s), u = in(1, 0), v = in(1, 1);
    const std::size_t first = columns * s;
    const auto number = [&](std::size_t i) { return N(in(0, first + i)); };
    const bool has_profile = columns == 4 || columns == 7;
    const Profile profile = has_profile ? profile_of(value_of(number(columns - 1))) : Profile{0};
    if (columns < 6) {
      *out = taper_of(profile, u, v, per_metre, number(0), number(1), number(2));
    } else {
      const ShapeAxes<N> axes{{number(0), number(1), number(2)}, {number(3), number(4), number(5)}};
      const N w = in(1, 2);
      *out = taper_of(profile, axes.along(u, v, w), axes.across(u, v, w), per_metre);
    }
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
                      .shape = "[3], [4], [6], [7], [source,3], [source,4], [source,6] or [source,7]",
                      .unit = "rad",
                      .doc = "major and minor axis and position angle of the major axis, north through east, in the "
                             "(l, m) plane; or six numbers, the components of both axes along u, v and w; all zero "
                             "for a point. One number more says what profile it is, and what its axes are: " +
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
    const Result* shape = is_one_of(columns_, {4, 7}) ? review.constant(0) : nullptr;
    if (shape == nullptr || shape->value.is_complex()) return;
    const std::size_t plane = shape->value.cells_per_element(), columns = static_cast<std::size_t>(columns_);
    for (std::size_t s = 0; s < dims().size(); ++s)
      for (std::size_t i = 0; i < plane; ++i)
        if (const double number = shape->value.real()[(columns * (s + 1) - 1) * plane + i];
            profile_of(number) == kUnknown)
          throw Error("the shape of source " + std::to_string(s) + " has " + std::to_string(number) +
                      " for the number of its profile, expected one of " + all_profiles());
  }

  SourceShapeBody body() const { return {dims().size(), static_cast<std::size_t>(columns_)}; }

 private:
  static int columns_of(const TensorShape& shape) { return shape[shape.rank - 1]; }
  static bool is_one_of(int columns, std::initializer_list<int> known) {
    return std::find(known.begin(), known.end(), columns) != known.end();
  }
  int columns_ = 3;
};

RIMETREE_REGISTER_NODE(SourceShape);

}  // namespace rimetree
