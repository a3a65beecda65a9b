// LogLikelihood: logarithm of the probability density of the data, for independent normal noise
//
//   ln L = -1/2 sum (w |r|^2) + 1/2 sum ln(w / 2 pi), the second sum over real data (a complex one is two)
//
// Children: residual, any number of Condeqs (or any nodes; their weight is then 1), any dimensions, real or complex.
// State: posterior (default false): add the logarithm of the normal priors of all solvable Parms below,
// -1/2 ((x - mean)/sigma)^2 - 1/2 ln(2 pi sigma^2) for each unknown that has one.
// Result: scalar, real; constant over the cells; weights must be inverse variances of the real and the imaginary part.
// A residual counts on the cells on which it, its weight or its flags vary, as in ChiSquare.
// Flags: none; flagged cells, cells of weight 0 and missing children are left out.
// Derivative: -sum w Re(conj(r) dr/dp), and that of the priors. Lochner et al. 2015, MNRAS 450, 1308.
#include <cmath>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/forest/forest.h"
#include "runtime/evaluate/objective.h"
#include "runtime/math/conventions.h"

namespace rimetree {

class LogLikelihood final : public Objective {
 public:
  explicit LogLikelihood(const State& state) : Objective(state), posterior_(state.boolean("posterior")) {}
  static NodeClass info() {
    return {.name = "LogLikelihood",
            .summary = "Logarithm of the likelihood of data with normal noise, or of the posterior probability.",
            .formula = "-1/2 sum (w |r|^2) + 1/2 sum ln(w / 2 pi)",
            .result = "scalar, real",
            .reference = "Lochner et al. 2015, MNRAS 450, 1308",
            .children = {{.label = "residual",
                          .shape = "any",
                          .unit = "any",
                          .doc = "Condeq, whose weight (inverse variance) is used (Correlate: its counts), or any "
                                 "residual, of weight 1",
                          .repeated = true}},
            .state = {{.name = "posterior",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "whether the normal priors of the solvable Parms below are added"}},
            .minimum_children = 1};
  }
  double value_of(const ResidualSums& sums, const Forest& forest, Gradient* gradient, double weight) const override {
    const double likelihood = 0.5 * (sums.total_log_weight() - sums.total_chi_square() -
                                     static_cast<double>(sums.n_real) * std::log(2 * kPi));
    return posterior_ ? likelihood + log_priors(forest, gradient, weight) : likelihood;
  }
  double slope() const override { return -0.5; }

 private:
  double log_priors(const Forest& forest, Gradient* gradient, double weight) const {
    double sum = 0;
    std::vector<bool> seen(forest.size(), false);
    std::vector<int> stack{index()};
    while (!stack.empty()) {
      const int node = stack.back();
      stack.pop_back();
      if (seen[static_cast<std::size_t>(node)]) continue;
      seen[static_cast<std::size_t>(node)] = true;
      if (const UnknownsHolder* unknowns = forest.node(node).capabilities().unknowns;
          unknowns && unknowns->n_unknown() > 0)
        sum += unknowns->log_prior(gradient ? gradient->of(node) : std::span<double>(), weight);
      for (const int child : forest.children(node))
        if (child >= 0) stack.push_back(child);
    }
    return sum;
  }

  bool posterior_;
};

RIMETREE_REGISTER_NODE(LogLikelihood);

}  // namespace rimetree
