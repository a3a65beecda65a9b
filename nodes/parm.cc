// Parm: a parameter that may be solved for, constant or a polynomial in time and frequency:
//   sum_ij value[i][j] x^i y^j,  x = (t - time_0_s)/time_scale_s,  y = (nu - freq_0_hz)/freq_scale_hz
//
// Children: none.
// State: value (a number, or coefficients [time degree + 1, freq degree + 1]; [n] is a polynomial in time), time_0_s,
// time_scale_s, freq_0_hz, freq_scale_hz, solvable (default false).
// Result: scalar, real, unit of the value. Flags: none.
// Derivative: x^i y^j for coefficient number k = i (freq degree + 1) + j, if solvable. MeqTrees: Parm with a Polc
// funklet.
#include <algorithm>

#include "runtime/error.h"
#include "runtime/node.h"
#include "runtime/plugin_api.h"
#include "runtime/pull_back.h"

namespace rimetree {

class Parm final : public Node {
 public:
  explicit Parm(const State& state) : Node(state) {
    const StateArray& value = state.array("value");
    if (value.type == NumberType::complex)
      throw StateError("a Parm is real; make a complex parameter of two Parms with ToComplex or Polar");
    if (value.shape.size() > 2 || value.size() == 0)
      throw StateError("state field \"value\" must be a number or coefficients [time degree + 1, freq degree + 1]");
    time_terms_ = value.shape.empty() ? 1 : static_cast<int>(value.shape[0]);
    frequency_terms_ = value.shape.size() < 2 ? 1 : static_cast<int>(value.shape[1]);
    for (const char* scale : {"time_scale_s", "freq_scale_hz"})
      if (!(state.real(scale) != 0)) throw StateError("state field \"" + std::string(scale) + "\" must not be 0");
  }

  static NodeClass info() {
    const auto real = [](const char* name, double value, const char* unit, const char* doc) {
      return StateSpec{
          .name = name, .type = StateType::real, .default_value = value, .unit = unit, .doc = doc, .per_node = true};
    };
    return {.name = "Parm",
            .summary = "A parameter that may be solved for: a number, or a polynomial in time and frequency.",
            .formula = "sum_ij value[i][j] ((t - time_0_s)/time_scale_s)^i ((nu - freq_0_hz)/freq_scale_hz)^j",
            .result = "scalar, real, unit of the value",
            .reference = "MeqTrees Parm (Polc funklet)",
            .state = {{.name = "value",
                       .type = StateType::array,
                       .unit = "any",
                       .doc = "number, or polynomial coefficients [time degree + 1, freq degree + 1]",
                       .per_node = true},
                      real("time_0_s", 0, "s", "time at which x = 0, as MJD in seconds (UTC)"),
                      real("time_scale_s", 1, "s", "time over which x grows by 1"),
                      real("freq_0_hz", 0, "Hz", "frequency at which y = 0"),
                      real("freq_scale_hz", 1, "Hz", "frequency over which y grows by 1"),
                      {.name = "solvable",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "whether results get derivatives with respect to the coefficients",
                       .per_node = true}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  DependencySet own_dependencies() const override {
    return kParameter | (time_terms_ > 1 || frequency_terms_ > 1 ? kDomain : kNothing);
  }
  std::vector<Axis> own_axes() const override {
    std::vector<Axis> axes;
    if (time_terms_ > 1) axes.push_back(Axis::time);
    if (frequency_terms_ > 1) axes.push_back(Axis::frequency);
    return axes;
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const std::vector<double>& c = state().array("value").data;
    const std::vector<double> x = coordinates(evaluation, Axis::time, "time_0_s", "time_scale_s", time_terms_);
    const std::vector<double> y =
        coordinates(evaluation, Axis::frequency, "freq_0_hz", "freq_scale_hz", frequency_terms_);
    Vells value = evaluation.make(NumberType::real, shape(x.size(), y.size()));
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t f = 0; f < y.size(); ++f) {
        double sum = 0;
        for (int i = time_terms_ - 1; i >= 0; --i) {  // Horner's rule in both variables
          double row = 0;
          for (int j = frequency_terms_ - 1; j >= 0; --j) row = row * y[f] + c[i * frequency_terms_ + j];
          sum = sum * x[t] + row;
        }
        value.real()[t * y.size() + f] = sum;
      }
    evaluation.set(std::move(value));
    if (!evaluation.request.derivatives || !state().boolean("solvable")) return;
    if (evaluation.request.along_direction) {
      Vells sum = evaluation.make(NumberType::real, shape(x.size(), y.size()));
      for (std::size_t t = 0; t < x.size(); ++t)
        for (std::size_t f = 0; f < y.size(); ++f) {
          double total = 0;
          for (int i = time_terms_ - 1; i >= 0; --i) {
            double row = 0;
            for (int j = frequency_terms_ - 1; j >= 0; --j)
              row = row * y[f] + direction_component(index(), static_cast<std::size_t>(i * frequency_terms_ + j));
            total = total * x[t] + row;
          }
          sum.real()[t * y.size() + f] = total;
        }
      return evaluation.add(kDirection, std::move(sum));
    }
    for (int i = 0; i < time_terms_; ++i)
      for (int j = 0; j < frequency_terms_; ++j)
        evaluation.add({index(), i * frequency_terms_ + j}, monomial(evaluation, x, i, y, j));
  }

 private:
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

  int time_terms_ = 1, frequency_terms_ = 1;

 public:
  std::size_t n_unknown() const override {
    return state().boolean("solvable") ? static_cast<std::size_t>(time_terms_ * frequency_terms_) : 0;
  }

 protected:
  void pull_back(PullBack& pull) const override {
    const std::span<double> gradient = pull.gradient.of(index());
    const std::vector<double> x = coordinates(pull.inputs, Axis::time, "time_0_s", "time_scale_s", time_terms_);
    const std::vector<double> y =
        coordinates(pull.inputs, Axis::frequency, "freq_0_hz", "freq_scale_hz", frequency_terms_);
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t f = 0; f < y.size(); ++f) {
        double along_time = pull.adjoint.real()[t * y.size() + f];
        for (int i = 0; i < time_terms_; ++i, along_time *= x[t]) {
          double product = along_time;
          for (int j = 0; j < frequency_terms_; ++j, product *= y[f]) gradient[i * frequency_terms_ + j] += product;
        }
      }
  }
};

RIMETREE_REGISTER_NODE(Parm);

}  // namespace rimetree
