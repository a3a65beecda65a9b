// Solver: finds the values of Parms that make the Condeqs below it small
//   chi^2 = sum of weight |data - model|^2, over all cells and elements that are not flagged
//
// Children: any number of Condeqs. Those without data in a time-slot group are left out.
// State: see info(). Evaluating the node runs the whole fit (Levenberg-Marquardt on the normal equations, for each
// group of unknowns that share data by itself) and leaves the Parms at the solution: what is evaluated after it sees
// the solved values. In a run over a Measurement Set make it the `pre` child of the VisDataMux. Result: [5], real:
// chi-square before and after, number of real equations, largest number of iterations, fraction of the groups that
// converged. The full report, with standard errors and a flag for each unknown, is kept by the forest. Flags: none.
// Derivative: none. Marquardt 1963, J. SIAM 11, 431; with robust_dof: Lange, Little & Taylor 1989, J. Am. Stat. Assoc.
// 84, 881. MeqTrees: Solver.
#include <algorithm>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/review.h"
#include "runtime/solve/solve.h"

namespace rimetree {

class Solver final : public Node, public SolverNode, public Reviewer {
 public:
  explicit Solver(const State& state) : Node(state) {
    options_.fit.iterations = static_cast<int>(std::min<std::int64_t>(state.integer("iterations"), 1 << 20));
    options_.fit.tolerance = state.real("tolerance");
    options_.fit.sigma_tolerance = state.real("sigma_tolerance");
    options_.fit.damping = state.real("damping");
    options_.errors.degrees_of_freedom = state.real("robust_dof");
    options_.smooth_hz = state.real("smooth_hz");
    options_.parms = state.text_list("parms");
    options_.estimate_noise = state.boolean("estimate_noise");
    options_.errors_from_residuals = state.boolean("errors_from_residuals");
    options_.generic = state.text("method") == "generic";
    options_.successive = state.text("directions") == "successive";
  }

  static NodeClass info() {
    const auto real = [](const char* name, double value, Limits limits, const char* doc) {
      return StateSpec{.name = name, .type = StateType::real, .default_value = value, .doc = doc, .limits = limits};
    };
    const auto choice = [](const char* name, std::vector<std::string> choices, const char* doc) {
      return StateSpec{
          .name = name, .type = StateType::text, .default_value = choices[0], .doc = doc, .choices = choices};
    };
    constexpr Limits kAboveZero{.least = 0, .without_least = true}, kFromZero{.least = 0};
    return {
        .name = "Solver",
        .summary = "Fits Parms to data: makes the Condeqs below it as small as it can.",
        .formula = "sum of weight |data - model|^2 -> minimum",
        .result =
            "[5], real: chi-square before and after, number of real equations, largest number of iterations, "
            "fraction of groups that converged",
        .reference = "Marquardt 1963, J. SIAM 11, 431; MeqTrees Solver",
        .children = {{.label = "condeq", .shape = "any", .unit = "any", .doc = "Condeq nodes", .repeated = true}},
        .state = {{.name = "parms",
                   .type = StateType::text_list,
                   .default_value = std::vector<std::string>{},
                   .doc = "names of the Parms to solve for, which must have solvable=True; empty: all of these "
                          "below the Condeqs"},
                  {.name = "iterations",
                   .type = StateType::integer,
                   .default_value = std::int64_t{50},
                   .doc = "most steps that are tried",
                   .limits = kFromZero},
                  real("tolerance", 1e-8, kAboveZero,
                       "converged when the next step changes the model by less than this "
                       "fraction of the data"),
                  real("sigma_tolerance", 1e-3, kAboveZero, "... and by less than this in units of its standard error"),
                  real("damping", 1e-3, kFromZero,
                       "damping of the first step, relative to the diagonal of the normal matrix"),
                  real("robust_dof", 0, {.least = 0, .most = 1e6, .without_most = true},
                       "degrees of freedom of Student's t as distribution of the errors, which "
                       "makes outliers harmless (2 to 5 are usual); 0: normal errors"),
                  {.name = "estimate_noise",
                   .type = StateType::boolean,
                   .default_value = false,
                   .doc = "with robust_dof: whether weights are known but for a factor, which is then found from "
                          "the residuals (the scale of Student's t of largest likelihood)"},
                  {.name = "errors_from_residuals",
                   .type = StateType::boolean,
                   .default_value = false,
                   .doc = "whether standard errors are scaled by the root of the reduced chi-square, for weights "
                          "that are known but for a factor"},
                  real("smooth_hz", 0, kFromZero,
                       "full width at half maximum of a normal curve along frequency: a solution is that which fits "
                       "the data of all intervals best, weighted by it (Jones terms that are constant within "
                       "their intervals, normal errors; SolveReport.smoothed_hz says whether); 0: its own data"),
                  choice("method", {"auto", "generic"},
                         "\"auto\": sums over the data, made once, where models are Jones terms "
                         "around fixed visibilities; \"generic\": derivatives of every Condeq "
                         "always"),
                  choice("directions", {"joint", "successive"},
                         "\"joint\": all Jones terms of a model together; \"successive\": one "
                         "additive term after the other, in turns, until none improves")},
        .minimum_children = 1};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {5}; }
  NodeTraits own_traits() const override { return {.depends_on = kData | kDomain, .always_evaluates = true}; }
  Capabilities capabilities() const override { return {.solver = this, .reviewer = this}; }

  void review(const Review& review) const override {
    require_condeqs(review.forest);
    for (const std::string& name : options_.parms) review.forest.find(name);
  }

  void control(Evaluator& evaluator, Evaluation& evaluation, Cancellation& cancellation) const override {
    OnePart all(evaluation.request);
    const SolveReport report = solve(evaluator, all, cancellation);
    Vells value = evaluation.make(NumberType::real, CellShape{});
    double* out = value.real();
    std::fill(out, out + 5, 0.0);
    for (const SolvedGroup& group : report.groups) {
      out[0] += group.chi_square_before;
      out[1] += group.chi_square;
      out[2] += static_cast<double>(group.equations);
      out[3] = std::max(out[3], static_cast<double>(group.iterations));
      out[4] += (group.converged ? 1.0 : 0.0) / static_cast<double>(report.groups.size());
    }
    evaluation.set(std::move(value));
    evaluation.set_flags({});
  }

  SolveReport solve(Evaluator& evaluator, RequestParts& parts, Cancellation& cancellation) const override {
    require_condeqs(evaluator.forest());
    SolveReport report = solve::solve(evaluator, index(), parts, options_, cancellation);
    warn_of_tiles_solved_twice(evaluator, report);
    evaluator.solves().reports.push_back(report);
    return report;
  }

 protected:
  void evaluate(Evaluation&) const override {}  // the evaluator calls control() instead

 private:
  void require_condeqs(const Forest& forest) const {
    for (const int child : forest.children(index()))
      if (forest.node(forest.behind_identities(child)).algebra() != Algebra::residual)
        throw Error("child \"" + forest.node(child).name() + "\" is a " + forest.node(child).node_class().name +
                    "; children of a Solver must be Condeq nodes");
  }
  /// Of a solution tile that reaches over two time-slot groups the second solution replaces the first.
  static void warn_of_tiles_solved_twice(Evaluator& evaluator, const SolveReport& report) {
    const std::vector<SolveReport>& earlier = evaluator.solves().reports;
    if (earlier.empty() || earlier.back().solver != report.solver || earlier.back().data_id == report.data_id) return;
    for (std::size_t p = 0; p < std::min(report.parms.size(), earlier.back().parms.size()); ++p) {
      const SolvedParm &now = report.parms[p], &before = earlier.back().parms[p];
      // A Parm of one tile is meant to be solved anew in each group.
      if (now.shape.size() < 4 || now.parm != before.parm || now.group.size() != before.group.size()) continue;
      for (std::size_t u = 0; u < now.group.size(); ++u)
        if (now.group[u] >= 0 && before.group[u] >= 0)
          return evaluator.warnings().add(
              "Solver: tile solved twice",
              "a solution tile of \"" + now.parm +
                  "\" reaches over several time-slot groups (or data descriptions, or "
                  "fields): each solves it anew and the last one counts; choose time_slots so that no tile is divided");
    }
  }

  solve::SolveOptions options_;
};

RIMETREE_REGISTER_NODE(Solver);

}  // namespace rimetree
