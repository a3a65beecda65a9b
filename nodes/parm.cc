// Parm: a parameter that may be solved for: constant or a polynomial in time and frequency, one in each solution tile:
//   sum_ij value[tile][i][j] x^i y^j,  x = (t - time_0_s)/time_scale_s,  y = (nu - freq_0_hz)/freq_scale_hz
//
// Children: none.
// State: value (a number, or coefficients [time degree + 1, freq degree + 1]; [n] is a polynomial in time; with a first
// pair of dimensions [time tile, freq tile, ...] one polynomial per tile, without it all tiles have the same, unless
// the array is one of as many numbers as there are tiles, which is refused),
// time_0_s, time_scale_s, freq_0_hz, freq_scale_hz (the same in all tiles), time_edges_s, freq_edges_hz (edges of the
// solution tiles, empty: one tile), solvable (default false), use_previous (where fits begin); minimum, maximum,
// prior_mean, prior_sigma (bounds and normal prior of each coefficient, used by Solver and the log-likelihood),
// normalised (what a Solver does where data tell only products of Parms). A cell belongs to the tile that contains its
// centre; one outside all tiles to the nearest. Result: scalar, real, unit of the value. Flags: none. Derivative: x^i
// y^j for coefficient number k = i (freq degree + 1) + j of the tile that the cell is in, if solvable: as many
// derivatives as one tile has coefficients. MeqTrees: Parm with Polc funklets and a tiling.
#include <algorithm>
#include <cmath>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/node/solution_tiles.h"
#include "runtime/core/values/pull_back.h"
#include "runtime/math/conventions.h"

namespace rimetree {

class Parm final : public Node, public UnknownsHolder {
 public:
  static constexpr std::int64_t kMaxRank = 1000000;  // of "normalised": more than there are terms in a tree
  explicit Parm(const State& state) : Node(state), tiles_(state) {
    for (const char* scale : {"time_scale_s", "freq_scale_hz"})
      if (!(state.real(scale) != 0)) throw StateError("state field \"" + std::string(scale) + "\" must not be 0");
    ParmLimits(state, tiles_);  // finds what is wrong with them
  }

  static NodeClass info() {
    const auto real = [](const char* name, double value, const char* unit, const char* doc) {
      return StateSpec{
          .name = name, .type = StateType::real, .default_value = value, .unit = unit, .doc = doc, .per_node = true};
    };
    const auto list = [](const char* name, const char* unit, const char* doc) {
      return StateSpec{.name = name,
                       .type = StateType::array,
                       .default_value = StateArray{{0}, NumberType::real, {}},
                       .unit = unit,
                       .doc = doc,
                       .per_node = true};
    };
    return {
        .name = "Parm",
        .algebra = Algebra::parameter,
        .summary = "A parameter that may be solved for: a number, or polynomials in time and frequency.",
        .formula = "sum_ij value[tile][i][j] ((t - time_0_s)/time_scale_s)^i ((nu - freq_0_hz)/freq_scale_hz)^j",
        .result = "scalar, real, unit of the value",
        .reference = "MeqTrees Parm (Polc funklets, tiling)",
        .state = {
            {.name = "value",
             .type = StateType::array,
             .unit = "any",
             .doc = "number, or polynomial coefficients [time degree + 1] or [time degree + 1, freq degree + 1], "
                    "the same in all solution tiles; or [time tile, freq tile, time degree + 1, freq degree + 1], "
                    "one polynomial per tile: [time tile, freq tile, 1, 1] is one value per tile",
             .per_node = true},
            real("time_0_s", 0, "s", "time at which x = 0, as MJD in seconds (UTC)"),
            real("time_scale_s", 1, "s", "time over which x grows by 1"),
            real("freq_0_hz", 0, "Hz", "frequency at which y = 0"),
            real("freq_scale_hz", 1, "Hz", "frequency over which y grows by 1"),
            list("time_edges_s", "s", "edges of the solution tiles in time, ascending; empty: one tile"),
            list("freq_edges_hz", "Hz", "edges of the solution tiles in frequency; empty: one tile"),
            {.name = "solvable",
             .type = StateType::boolean,
             .default_value = false,
             .doc = "whether results get derivatives with respect to the coefficients",
             .per_node = true},
            {.name = "use_previous",
             .type = StateType::boolean,
             .default_value = true,
             .doc = "whether the fit of a group of time slots starts with what the one before it has given; else each "
                    "starts with the value that the Parm had when the run began",
             .per_node = true},
            list("minimum", "of value", "lower bound of the constant term, or of each coefficient"),
            list("maximum", "of value", "upper bound of the constant term, or of each coefficient"),
            list("prior_mean", "of value",
                 "mean of a normal prior of the constant term, or of each "
                 "coefficient; default 0"),
            list("prior_sigma", "of value", "its standard deviation; empty or 0: no prior"),
            {.name = "normalised",
             .type = StateType::integer,
             .default_value = std::int64_t{0},
             .doc = "where data tell only the product of Parms, as of two Jones terms of an antenna: of those with "
                    "the highest number here the mean amplitude over the solution tiles becomes 1 and the mean "
                    "phase 0 (weighted with the amplitude), and the others take up the rest; 0: never; -1: only "
                    "the sum over the tiles is held, at what it is, for what is open after all others; -2: likewise, "
                    "after those",
             .per_node = true,
             .limits = {.least = -2, .most = kMaxRank}}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override {
    NodeTraits traits{.depends_on = kParameter, .numbers = ResultNumbers::real};
    if (state().boolean("solvable")) traits.depends_on |= kSolvable;
    for (const Axis axis : {Axis::time, Axis::frequency})
      if (varies(axis)) traits.varies_along |= set_of(axis);
    const bool has_edges = !tiles_.time_edges_s().empty() || !tiles_.freq_edges_hz().empty();
    if (traits.varies_along != kNoAxes || has_edges) traits.depends_on |= kDomain;  // cells may lie outside
    return traits;
  }
  Capabilities capabilities() const override { return {.unknowns = this}; }
  bool starts_anew() const override { return !state().boolean("use_previous"); }
  std::size_t n_unknown() const override { return state().boolean("solvable") ? tiles_.n_unknown() : 0; }
  double log_prior(std::span<double> slope, double weight) const override {
    const ParmLimits limits(state(), tiles_);
    double sum = 0;
    for (std::size_t u = 0; u < tiles_.n_unknown(); ++u) {
      const std::size_t k = u % tiles_.n_coefficient();
      const double sigma = limits.prior_sigma[k];
      if (!(sigma > 0)) continue;
      const double x = (tiles_.values()[u] - limits.prior_mean[k]) / sigma;
      sum -= 0.5 * x * x + std::log(sigma) + 0.5 * std::log(2 * kPi);
      if (!slope.empty()) slope[u] -= weight * x / sigma;
    }
    return sum;
  }

  std::unique_ptr<BatchKernel> make_kernel() const override { return std::make_unique<Kernel>(); }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const std::vector<double> x = coordinates(evaluation, Axis::time, "time_0_s", "time_scale_s", time_terms());
    const std::vector<double> y =
        coordinates(evaluation, Axis::frequency, "freq_0_hz", "freq_scale_hz", frequency_terms());
    evaluation.set(polynomials(evaluation, x, y, tiles_.values()));
    if (!evaluation.request.derivatives || !state().boolean("solvable")) return;
    if (evaluation.request.along_direction) {
      std::vector<double> direction(tiles_.n_unknown());
      for (std::size_t k = 0; k < direction.size(); ++k) direction[k] = direction_component(index(), k);
      return evaluation.add(kDirection, polynomials(evaluation, x, y, direction));
    }
    for (int i = 0; i < time_terms(); ++i)
      for (int j = 0; j < frequency_terms(); ++j)
        evaluation.add({index(), i * frequency_terms() + j}, monomial(evaluation, x, i, y, j));
  }

  void pull_back(PullBack& pull) const override {
    const std::span<double> gradient = pull.gradient.of(index());
    if (gradient.empty()) return;
    const std::vector<double> x = coordinates(pull.inputs, Axis::time, "time_0_s", "time_scale_s", time_terms());
    const std::vector<double> y =
        coordinates(pull.inputs, Axis::frequency, "freq_0_hz", "freq_scale_hz", frequency_terms());
    const TileOfCell tile(tiles_, pull.inputs.cells());
    const auto times = static_cast<std::size_t>(pull.adjoint.cells()[Axis::time]);
    const auto frequencies = static_cast<std::size_t>(pull.adjoint.cells()[Axis::frequency]);
    for (std::size_t t = 0; t < times; ++t)
      for (std::size_t f = 0; f < frequencies; ++f) {
        double* of_tile = gradient.data() + tile(t, f);
        double along_time = pull.adjoint.real()[t * frequencies + f];
        for (int i = 0; i < time_terms(); ++i, along_time *= x[x.size() > 1 ? t : 0]) {
          double product = along_time;
          for (int j = 0; j < frequency_terms(); ++j, product *= y[y.size() > 1 ? f : 0])
            of_tile[i * frequency_terms() + j] += product;
        }
      }
  }

 private:
  /// Says where cells lie outside of all tiles.
  class Kernel final : public BatchKernel {
   public:
    void evaluate(BatchContext& context, std::span<Evaluation* const> batch) override {
      for (const Evaluation* evaluation : batch)
        static_cast<const Parm&>(evaluation->node).warn_of_cells_outside(evaluation->cells(), context.warnings);
      BatchKernel::evaluate(context, batch);
    }
  };

  /// Where the unknowns of a cell's solution tile begin.
  class TileOfCell {
   public:
    TileOfCell(const SolutionTiles& tiles, const Cells& cells)
        : tiles_(tiles), time_(tiles.of_cells(cells, Axis::time)), frequency_(tiles.of_cells(cells, Axis::frequency)) {}
    std::size_t operator()(std::size_t t, std::size_t f) const {
      return tiles_.at(static_cast<std::size_t>(time_[n_time() > 1 ? t : 0]),
                       static_cast<std::size_t>(frequency_[n_frequency() > 1 ? f : 0]), 0);
    }
    /// Cells along which the tile varies, or 1.
    std::size_t n_time() const { return time_.size(); }
    std::size_t n_frequency() const { return frequency_.size(); }

   private:
    const SolutionTiles& tiles_;
    std::vector<std::int32_t> time_, frequency_;
  };

  void warn_of_cells_outside(const Cells& cells, Warnings& warnings) const {
    for (const Axis axis : {Axis::time, Axis::frequency}) {
      const std::size_t n = tiles_.n_outside(cells, axis);
      if (n == 0) continue;
      const std::string what = axis == Axis::time ? " time slots" : " channels";
      warnings.add("Parm outside" + what, "Parm \"" + name() + "\": " + std::to_string(n) + what +
                                              " lie outside of its solution tiles and take the nearest tile (other "
                                              "Parms and requests like this are not named)");
    }
  }

  /// The polynomials of all tiles, of the given coefficients [tile][coefficient].
  Vells polynomials(const Evaluation& evaluation, const std::vector<double>& x, const std::vector<double>& y,
                    const std::vector<double>& coefficients) const {
    const TileOfCell tile(tiles_, evaluation.cells());
    const std::size_t times = std::max(x.size(), tile.n_time());
    const std::size_t frequencies = std::max(y.size(), tile.n_frequency());
    Vells value = evaluation.make(NumberType::real, shape(times, frequencies));
    for (std::size_t t = 0; t < times; ++t)
      for (std::size_t f = 0; f < frequencies; ++f)
        value.real()[t * frequencies + f] =
            polynomial(coefficients.data() + tile(t, f), x[x.size() > 1 ? t : 0], y[y.size() > 1 ? f : 0]);
    return value;
  }

  int time_terms() const { return static_cast<int>(tiles_.time_terms()); }
  int frequency_terms() const { return static_cast<int>(tiles_.frequency_terms()); }
  bool varies(Axis axis) const {
    return axis == Axis::time ? time_terms() > 1 || tiles_.n_time() > 1
                              : frequency_terms() > 1 || tiles_.n_frequency() > 1;
  }

  /// Horner's rule in both variables.
  double polynomial(const double* c, double x, double y) const {
    double sum = 0;
    for (int i = time_terms() - 1; i >= 0; --i) {
      double row = 0;
      for (int j = frequency_terms() - 1; j >= 0; --j) row = row * y + c[i * frequency_terms() + j];
      sum = sum * x + row;
    }
    return sum;
  }

  static CellShape shape(std::size_t times, std::size_t frequencies) {
    CellShape cells;
    cells[Axis::time] = static_cast<std::int32_t>(times);
    cells[Axis::frequency] = static_cast<std::int32_t>(frequencies);
    return cells;
  }

  /// Where the polynomial is evaluated along an axis; one place if it does not vary along it.
  std::vector<double> coordinates(const Evaluation& evaluation, Axis axis, const char* zero, const char* scale,
                                  int terms) const {
    if (terms == 1) return {0.0};
    std::vector<double> x = evaluation.cells().require(axis).centre;
    for (double& value : x) value = (value - state().real(zero)) / state().real(scale);
    return x;
  }

  /// x^i y^j, on as few cells as it varies on.
  static Vells monomial(const Evaluation& evaluation, const std::vector<double>& x, int i, const std::vector<double>& y,
                        int j) {
    const std::size_t times = i ? x.size() : 1, frequencies = j ? y.size() : 1;
    Vells result = evaluation.make(NumberType::real, shape(times, frequencies));
    for (std::size_t t = 0; t < times; ++t)
      for (std::size_t f = 0; f < frequencies; ++f) {
        double product = 1;
        for (int k = 0; k < i; ++k) product *= x[t];
        for (int k = 0; k < j; ++k) product *= y[f];
        result.real()[t * frequencies + f] = product;
      }
    return result;
  }

  SolutionTiles tiles_;
};

RIMETREE_REGISTER_NODE(Parm);

}  // namespace rimetree
