// Sink: writes visibilities of one baseline into the time-slot group that is being evaluated
//
// Child: x, scalar (written to XX and YY, with zero XY and YX) or [2,2]; Jy.
// State: station_1_index, station_2_index (ANTENNA1 and ANTENNA2), output_column (default "MODEL_DATA"; also
// "WEIGHT_SPECTRUM", whose numbers are real; a scalar is then the weight of all correlations), write_flags (default
// false), flag_mask (default -1: all bits).
// Result: scalar: the number of rows written. Rows that the Measurement Set does not have are left out; values that do
// not vary along time or freq are written to all cells. Missing (and nothing is written) if the child is missing or the
// group has no row of the baseline. Of data with Stokes I only, I = (XX+YY)/2.
// Flags: written to FLAG, not passed on. Derivative: none. MeqTrees: Sink.
#include "runtime/core/classes/ms_baseline.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"
#include "runtime/core/values/pull_back.h"

namespace rimetree {

class Sink final : public Node {
 public:
  explicit Sink(const State& state)
      : Node(state),
        use_{.column = state.text("output_column"),
             .baseline = baseline_of(state),
             .writes = true,
             .writes_flags = state.boolean("write_flags")},
        writes_weights_(use_.column == "WEIGHT_SPECTRUM"),
        flag_mask_(static_cast<std::int32_t>(state.integer("flag_mask"))) {}

  static NodeClass info() {
    return {.name = "Sink",
            .summary = "Writes its child as the visibilities of one baseline of the Measurement Set.",
            .result = "scalar: number of rows written",
            .reference = "MeqTrees Sink; correlation types as in the POLARIZATION table of a Measurement Set",
            .children = {{.label = "x",
                          .shape = "[] or [2,2]",
                          .unit = "Jy",
                          .doc = "visibilities XX, XY, YX, YY (or RR, RL, LR, LL); a scalar is written to XX and YY"}},
            .state = with_baseline(
                {{.name = "output_column",
                  .type = StateType::text,
                  .default_value = std::string("MODEL_DATA"),
                  .doc = "column that is written, as single-precision complex numbers; WEIGHT_SPECTRUM: weights, which "
                         "are real, of all correlations if they are scalars, into a column that must be there"},
                 {.name = "write_flags",
                  .type = StateType::boolean,
                  .default_value = false,
                  .doc = "whether data that the child flags are flagged in the Measurement Set as well; flags that "
                         "are set there are never removed"},
                 {.name = "flag_mask",
                  .type = StateType::integer,
                  .default_value = std::int64_t{-1},
                  .doc = "bits of the child's flags that count; -1: all",
                  .limits = kInt32}})};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return {}; }
  NodeTraits own_traits() const override { return {.depends_on = kData | kDomain, .always_evaluates = true}; }
  Capabilities capabilities() const override { return {.data = &use_}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    Tile* tile = evaluation.request.tile;
    if (tile == nullptr)
      throw Error("there is nothing to write to: a Sink works only while a Measurement Set is being processed");
    const CellShape& cells = evaluation.cells().shape();
    if (static_cast<std::size_t>(cells[Axis::time]) != tile->n_time() ||
        static_cast<std::size_t>(cells[Axis::frequency]) != tile->n_channel() || cells[Axis::l] != 1 ||
        cells[Axis::m] != 1)
      throw ShapeError("the data have " + std::to_string(tile->n_time()) + " times and " +
                       std::to_string(tile->n_channel()) + " channels, but the request has cells " + to_string(cells));
    const auto column = tile->columns.find(use_.column);
    if (column == tile->columns.end() || column->second.size() != tile->n_visibility())
      throw Error("column \"" + use_.column + "\" is not open for writing in this run");
    if (use_.writes_flags && tile->flag.size() != tile->n_visibility())
      throw Error("flags are to be written, but FLAG is not open for writing in this run");
    if (writes_weights_ && evaluation.child(0).value.type() == NumberType::complex)
      throw Error("visibilities, which are complex, cannot be written as weights to " + use_.column +
                  ": give it weights, which are real, or another output_column");
    const std::ptrdiff_t baseline = tile->find(use_.baseline);
    if (baseline < 0) return evaluation.set_missing();

    for (std::size_t c = 0; c < tile->n_correlation(); ++c) check_type(tile->correlation_type[c]);
    const std::size_t written = write(evaluation.child(0), *tile, static_cast<std::size_t>(baseline), column->second);
    Vells count = evaluation.make(NumberType::real, CellShape{});
    count.real()[0] = static_cast<double>(written);
    evaluation.set(std::move(count));
    evaluation.set_flags({});
  }
  /// Counts rows: no unknown moves the result.
  void pull_back(PullBack&) const override {}

 private:
  static void check_type(int type) {
    if (type == 1 || (type >= 5 && type <= 12)) return;
    throw Error("the data have correlation type " + std::to_string(type) +
                "; supported are XX XY YX YY (9-12), RR RL LR LL (5-8), and Stokes I (1)");
  }

  std::size_t write(const Result& x, Tile& tile, std::size_t baseline, std::vector<std::complex<float>>& column) const {
    const auto stride = broadcast_strides(x.value.cells());
    const auto flag_stride = broadcast_strides(x.flags.empty() ? CellShape{} : x.flags.cells());
    std::size_t rows = 0;
    for (std::size_t t = 0; t < tile.n_time(); ++t) {
      const std::size_t row = baseline * tile.n_time() + t;
      if (tile.row[row] < 0) continue;
      ++rows;
      for (std::size_t f = 0; f < tile.n_channel(); ++f)
        for (std::size_t c = 0; c < tile.n_correlation(); ++c) {
          const std::size_t at = (row * tile.n_channel() + f) * tile.n_correlation() + c;
          const int type = tile.correlation_type[c];
          const Complex<double> value = correlation(x.value, type, t * stride[0] + f * stride[1]);
          column[at] = {static_cast<float>(value.re), static_cast<float>(value.im)};
          if (!use_.writes_flags || x.flags.empty()) continue;
          if (flagged(x, type, t * flag_stride[0] + f * flag_stride[1])) tile.flag[at] = 1;
        }
    }
    return rows;
  }

  /// A correlation of the value on a cell, by casacore's number for its type.
  Complex<double> correlation(const Vells& value, int type, std::size_t cell) const {
    const bool matrix = !value.dims().is_scalar();
    if (type == 1) return matrix ? 0.5 * (value.at(0, cell) + value.at(3, cell)) : value.at(0, cell);
    const int element = (type - 5) % 4;  // XX XY YX YY or RR RL LR LL
    if (matrix) return value.at(static_cast<std::size_t>(element), cell);
    return element == 0 || element == 3 || writes_weights_ ? value.at(0, cell) : Complex<double>();
  }

  bool flagged(const Result& x, int type, std::size_t cell) const {
    const auto bits = [&](std::size_t element) {
      return x.flags.plane(x.value.dims().is_scalar() ? 0 : element)[cell] & flag_mask_;
    };
    return type == 1 ? (bits(0) | bits(3)) != 0 : bits(static_cast<std::size_t>((type - 5) % 4)) != 0;
  }

  DataUse use_;
  bool writes_weights_;
  std::int32_t flag_mask_;
};

RIMETREE_REGISTER_NODE(Sink);

}  // namespace rimetree
