// ChiSquare: sum over data of w |r|^2
//
// Children: residual, any number of Condeqs (or any nodes; their weight is then 1), any dimensions, real or complex.
// State: none.
// Result: scalar, real, dimensionless if weights are inverse variances; constant over the cells. It is the sum over all
// children, their elements, and the cells on which the residual, its weight or its flags vary: along an axis on which
// none of them does it is one residual and counts once, as it does for the Solver. A complex residual counts as its
// real and its imaginary part, each of variance 1/w. Flags: none; flagged cells, cells of weight 0 and missing children
// are left out. Derivative: 2 sum w Re(conj(r) dr/dp). In reverse mode the gradient costs a few evaluations, however
// many unknowns there are. Perkins et al. 2015, A&C 12, 73 (Montblanc).
#include "runtime/core/classes/plugin_api.h"
#include "runtime/evaluate/objective.h"

namespace rimetree {

class ChiSquare final : public Objective {
 public:
  using Objective::Objective;
  static NodeClass info() {
    return {.name = "ChiSquare",
            .summary =
                "Chi-square of residuals: their weighted sum of squares over all children, and the cells on "
                "which these vary.",
            .formula = "sum w |r|^2",
            .result = "scalar, real",
            .reference = "Perkins et al. 2015, Astronomy & Computing 12, 73 (Montblanc)",
            .children = {{.label = "residual",
                          .shape = "any",
                          .unit = "any",
                          .doc = "Condeq, whose weight is used (Correlate: its counts), or any residual, of weight 1",
                          .repeated = true}},
            .minimum_children = 1};
  }
  double value_of(const ResidualSums& sums, const Forest&, Gradient*, double) const override {
    return sums.total_chi_square();
  }
  double slope() const override { return 1; }
};

RIMETREE_REGISTER_NODE(ChiSquare);

}  // namespace rimetree
