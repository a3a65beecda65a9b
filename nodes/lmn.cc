// LMN: direction cosines of a direction (ra, dec) with respect to (ra0, dec0), a = ra - ra0:
//   l = cos dec sin a
//   m = sin dec cos dec0 - cos dec sin dec0 cos a
//   n = sin dec sin dec0 + cos dec cos dec0 cos a
//
// Children: radec [2] or [source,2] (rad), radec_0 [2] (rad), in the same frame. State: none.
// Result: [3] or [source,3], dimensionless; n is negative more than 90 degrees from the centre.
// Flags: union. Derivative: exact, by dual numbers.
// Calabretta & Greisen 2002, A&A 395, 1077, section 5.1.5 (SIN projection).
// MeqTrees: LMN.
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"

namespace rimetree {

struct LmnBody {
  std::size_t sources;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    direction(in(0, 2 * s), in(0, 2 * s + 1), in(1, 0), in(1, 1), out);
  }
  /// m and n are written with dec - dec0 and sin^2(a/2), so that nothing cancels close to the centre.
  template <class T, class Out>
  static void direction(T ra, T dec, T ra0, T dec0, Out lmn) {
    const T half = sin((ra - ra0) / T(2));
    const T versine = T(2) * half * half;  // 1 - cos a
    lmn[0] = cos(dec) * sin(ra - ra0);
    lmn[1] = sin(dec - dec0) + cos(dec) * sin(dec0) * versine;
    lmn[2] = cos(dec - dec0) - cos(dec) * cos(dec0) * versine;
  }
};

class LMN final : public CellNode<LMN> {
 public:
  using CellNode::CellNode;
  static constexpr Numbers kNumbers = Numbers::real_to_real;

  static NodeClass info() {
    return {.name = "LMN",
            .algebra = Algebra::direction,
            .summary = "Direction cosines l, m, n of directions with respect to a phase centre (SIN projection).",
            .formula =
                "l = cos(dec) sin(ra-ra0), m = sin(dec) cos(dec0) - cos(dec) sin(dec0) cos(ra-ra0), "
                "n = sin(dec) sin(dec0) + cos(dec) cos(dec0) cos(ra-ra0)",
            .result = "[3] or [source,3]: l, m, n (not n-1), dimensionless; n is negative more than 90 degrees away",
            .reference = "Calabretta & Greisen 2002, A&A 395, 1077, section 5.1.5 (SIN projection); MeqTrees LMN",
            .children = {{.label = "radec",
                          .shape = "[2] or [source,2]",
                          .unit = "rad",
                          .doc = "right ascension and declination of the direction or directions"},
                         {.label = "radec_0",
                          .shape = "[2]",
                          .unit = "rad",
                          .doc = "right ascension and declination of the phase centre, in the same frame"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& radec = *children[0];
    return radec.rank == 1 ? TensorShape{3} : TensorShape{radec[0], 3};
  }

  LmnBody body() const { return {dims().size() / 3}; }
};

RIMETREE_REGISTER_NODE(LMN);

}  // namespace rimetree
