// VisPhaseShift: K = exp(+2 pi i nu/c (u l + v m + w (n - n_minus)))
//
// Children: lmn [3] or [source,3] (dimensionless, third component n), uvw [3], or [2,3] of which the first row counts
// (m). State: n_minus (integer 1 or 0, default 1). Result: scalar or [source], complex, dimensionless; varies along
// freq. Flags: union. Derivative: exact, by dual numbers. The phase is formed in twice double precision, so that whole
// turns cost no accuracy. Smirnov 2011, A&A 527, A106, eq. 14, with the sign that UVW as stored in Measurement Sets
// need (MeqTrees' VisPhaseShift of a station has the opposite sign, and the opposite baseline).
#include "runtime/cell/cell_node.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/node/review.h"
#include "runtime/math/directions.h"
#include "runtime/math/double_double.h"

namespace rimetree {

struct VisPhaseShiftBody {
  std::size_t sources;
  int n_minus;

  std::size_t items() const { return sources; }
  template <class In, class Out>
  void item(const In& in, std::size_t s, Out out) const {
    *out = phasor(in(0, 3 * s), in(0, 3 * s + 1), in(0, 3 * s + 2), in(1, 0), in(1, 1), in(1, 2), in.frequency_hz);
  }
  template <class T, class Frequency>
  Complex<T> phasor(T l, T m, T n, T u, T v, T w, Frequency frequency_hz) const {
    return fringe_exact(path_difference_exact(u, v, w, l, m, n_offset_exact(l, m, n, n_minus)),
                        turns_per_metre(Plain<T>(frequency_hz)));
  }
};

class VisPhaseShift final : public CellNode<VisPhaseShift>, public Reviewer {
 public:
  explicit VisPhaseShift(const State& state) : CellNode(state), n_minus_(static_cast<int>(state.integer("n_minus"))) {}
  static constexpr Numbers kNumbers = Numbers::real_to_complex;
  static constexpr bool kVariesInFrequency = true;

  static NodeClass info() {
    return {.name = "VisPhaseShift",
            .algebra = Algebra::phase,
            .summary = "Phase of a point source's visibility on a baseline, or with station coordinates of a station.",
            .formula = "exp(+2 pi i nu/c (u l + v m + w (n - n_minus)))",
            .result = "scalar or [source], complex, dimensionless; varies along freq",
            .reference = "Smirnov 2011, A&A 527, A106, eq. 14; sign for UVW as stored in Measurement Sets",
            .children = {{.label = "lmn",
                          .shape = "[3] or [source,3]",
                          .unit = "dimensionless",
                          .doc = "direction cosines l, m, n with respect to the phase centre (n, not n-1)"},
                         {.label = "uvw",
                          .shape = "[3] or [2,3]",
                          .unit = "m",
                          .doc = "coordinates of the baseline as stored in the Measurement Set, or of a station: "
                                 "K_p conj(K_q) is the phase of uvw_p - uvw_q; of [2,3] only the first row is used"}},
            .state = {{.name = "n_minus",
                       .type = StateType::integer,
                       .default_value = std::int64_t{1},
                       .doc = "1: the phase is zero at the phase centre (fringes stopped); 0: it is that of w n",
                       .limits = {.least = 0, .most = 1}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const> children) const override {
    const TensorShape& lmn = *children[0];
    return lmn.rank == 1 ? TensorShape{} : TensorShape{lmn[0]};
  }

  Capabilities capabilities() const override {
    Capabilities capabilities = CellNode::capabilities();
    capabilities.reviewer = this;
    return capabilities;
  }
  void review(const Review& review) const override {
    const Result* lmn = review.constant(0);
    if (lmn == nullptr || lmn->value.is_complex() || review.good_directions.contains(lmn)) return;
    const std::string mistake =
        first_mistake_in_directions(lmn->value.real(), lmn->value.dims().size() / 3, lmn->value.cells_per_element());
    if (!mistake.empty()) throw Error(mistake);
    review.good_directions.insert(lmn);
  }

  VisPhaseShiftBody body() const { return {dims().size(), n_minus_}; }

 private:
  int n_minus_;
};

RIMETREE_REGISTER_NODE(VisPhaseShift);

}  // namespace rimetree
