// Spigot: the data of one baseline in the time-slot group that is being evaluated
//
// Children: none.
// State: station_1_index, station_2_index (ANTENNA1 and ANTENNA2), input_column (default "DATA"), include_deriv (with
// input_column "UVW"), flag_bit (default 1).
// Result: visibilities (complex, Jy) or WEIGHT (real) [2,2] by correlation type: XX or RR (0,0), XY or RL (0,1), YX or
// LR (1,0), YY or LL (1,1); correlations that the data do not have are 0 and flagged; of data with Stokes I only
// diag(I, I). EXPOSURE: scalar (s). UVW [3] (m), or with include_deriv [2,3]: its second row is the rate of change
// (m/s) times EXPOSURE of the row over the time width of the cell, so that rate times cell width is the change over
// what the row was averaged over. Flags: flag_bit where FLAG or FLAG_ROW is set, the row is absent, or the correlation
// is. Missing if the group has no row of the baseline. Derivative: none. MeqTrees: Spigot.
#include <algorithm>
#include <cmath>

#include "runtime/core/classes/ms_baseline.h"
#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/node/node.h"

namespace rimetree {

class Spigot final : public Node {
 public:
  explicit Spigot(const State& state)
      : Node(state),
        use_{.column = state.text("input_column"), .baseline = baseline_of(state)},
        rates_(state.boolean("include_deriv")),
        flag_bit_(static_cast<std::int32_t>(state.integer("flag_bit"))) {
    if (rates_ && use_.column != "UVW")
      throw StateError("state field \"include_deriv\" is for input_column \"UVW\", not \"" + use_.column + "\"");
  }

  static NodeClass info() {
    return {
        .name = "Spigot",
        .algebra = Algebra::data,
        .summary = "Data of one baseline from the Measurement Set: visibilities, weights, UVW or EXPOSURE.",
        .result =
            "visibilities (complex, Jy) or WEIGHT (real): [2,2], with XX or RR, XY or RL, YX or LR, YY or LL "
            "(Stokes I alone: diag(I,I)); UVW: [3], m, or with include_deriv [2,3], m and m/s; EXPOSURE: scalar, s",
        .reference = "MeqTrees Spigot; correlation types as in the POLARIZATION table of a Measurement Set",
        .state = with_baseline(
            {{.name = "input_column",
              .type = StateType::text,
              .default_value = std::string("DATA"),
              .doc = "DATA, MODEL_DATA or any other visibility column that is read, WEIGHT, UVW, or EXPOSURE"},
             {.name = "include_deriv",
              .type = StateType::boolean,
              .default_value = false,
              .doc = "adds to UVW, as a second row, its rate of change times EXPOSURE over the time width of the "
                     "cell, so that time smearing over the cell is that over EXPOSURE"},
             {.name = "flag_bit",
              .type = StateType::integer,
              .default_value = std::int64_t{1},
              .doc = "bits set where the Measurement Set flags, or has no datum (which is 0 then); with 0 nothing is "
                     "flagged",
              .limits = kInt32}})};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override {
    if (use_.column == "EXPOSURE") return {};
    if (use_.column != "UVW") return {2, 2};
    return rates_ ? TensorShape{2, 3} : TensorShape{3};
  }
  NodeTraits own_traits() const override {
    NodeTraits traits{.depends_on = kData | kDomain, .varies_along = set_of(Axis::time)};
    if (!is_of_rows()) traits.varies_along |= set_of(Axis::frequency);
    return traits;
  }
  Capabilities capabilities() const override { return {.data = &use_}; }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const Tile* tile = evaluation.request.tile;
    if (tile == nullptr)
      throw Error("there are no data: a Spigot works only while a Measurement Set is being processed");
    const CellShape& cells = evaluation.cells().shape();
    if (static_cast<std::size_t>(cells[Axis::time]) != tile->n_time() ||
        static_cast<std::size_t>(cells[Axis::frequency]) != tile->n_channel())
      throw ShapeError("the data have " + std::to_string(tile->n_time()) + " times and " +
                       std::to_string(tile->n_channel()) + " channels, but the request has cells " + to_string(cells));
    const std::ptrdiff_t found = tile->find(use_.baseline);
    if (found < 0) return evaluation.set_missing();
    const auto baseline = static_cast<std::size_t>(found);
    if (is_of_rows())
      of_rows(evaluation, *tile, baseline);
    else
      correlations(evaluation, *tile, baseline);
  }

 private:
  /// What each row has once, not each of its channels.
  bool is_of_rows() const { return use_.column == "UVW" || use_.column == "EXPOSURE"; }

  void of_rows(Evaluation& evaluation, const Tile& tile, std::size_t baseline) const {
    CellShape shape;
    shape[Axis::time] = evaluation.cells().shape()[Axis::time];
    Vells value = evaluation.make(NumberType::real, shape);
    if (use_.column == "UVW")
      uvw(evaluation, tile, baseline, value.real());
    else
      std::copy_n(&tile.exposure_s[baseline * tile.n_time()], tile.n_time(), value.real());
    evaluation.set(std::move(value));
    Flags flags;
    for (std::size_t t = 0; t < tile.n_time(); ++t) {
      if (flag_bit_ == 0 || tile.row[baseline * tile.n_time() + t] >= 0) continue;
      if (flags.empty()) flags = Flags(evaluation.pool, 1, shape);
      flags.data()[t] = flag_bit_;
    }
    evaluation.set_flags(std::move(flags));
  }

  /// `to` [coordinate, time].
  void uvw(const Evaluation& evaluation, const Tile& tile, std::size_t baseline, double* to) const {
    const std::vector<double>& width_s = evaluation.cells().require(Axis::time).width;
    for (std::size_t t = 0; t < tile.n_time(); ++t) {
      const std::size_t row = baseline * tile.n_time() + t;
      const double exposure_s = tile.exposure_s[row];
      // What was averaged over nobody knows how long has no rate, however wide the cell is.
      const double scale = width_s[t] > 0 || !std::isfinite(exposure_s) ? exposure_s / width_s[t] : 1;
      for (std::size_t i = 0; i < 3; ++i) {
        to[i * tile.n_time() + t] = tile.uvw_m[3 * row + i];
        if (rates_) to[(3 + i) * tile.n_time() + t] = tile.uvw_rate_m_s[3 * row + i] * scale;
      }
    }
  }

  void correlations(Evaluation& evaluation, const Tile& tile, std::size_t baseline) const {
    const bool weight = use_.column == "WEIGHT";
    const auto column = tile.columns.find(use_.column);
    if (!weight && (column == tile.columns.end() || column->second.size() != tile.n_visibility()))
      throw Error("column \"" + use_.column + "\" was not read; columns that were: " + names(tile));
    if (weight && tile.weight.size() != tile.n_visibility()) throw Error("the weights were not read");
    const std::array<int, 4> source = correlation_of_elements(tile);

    Vells value = evaluation.make(weight ? NumberType::real : NumberType::complex, evaluation.cells().shape());
    for (std::size_t element = 0, i = 0; element < 4; ++element)
      for (std::size_t t = 0; t < tile.n_time(); ++t, i += tile.n_channel()) {
        const std::ptrdiff_t first = first_of(tile, baseline * tile.n_time() + t, source[element]);
        if (weight)
          take(first < 0 ? nullptr : &tile.weight[first], tile, value.real() + i, [](float of) { return double(of); });
        else
          take(first < 0 ? nullptr : &column->second[first], tile, value.complex() + i, [](std::complex<float> of) {
            return Complex<double>{of.real(), of.imag()};
          });
      }
    evaluation.set(std::move(value));
    if (flag_bit_ != 0) evaluation.set_flags(flags(evaluation, tile, baseline, source));
  }

  /// Where the channels of a correlation in a row begin in the arrays of a tile; -1 where there are none.
  static std::ptrdiff_t first_of(const Tile& tile, std::size_t row, int correlation) {
    if (correlation < 0 || tile.row[row] < 0) return -1;
    return static_cast<std::ptrdiff_t>(row * tile.n_channel() * tile.n_correlation()) + correlation;
  }
  /// The channels of one correlation; zeros from a null pointer.
  template <class From, class To, class F>
  static void take(const From* from, const Tile& tile, To* to, F&& convert) {
    if (from == nullptr) return static_cast<void>(std::fill_n(to, tile.n_channel(), To{}));
    const std::size_t step = tile.n_correlation();
    for (std::size_t f = 0; f < tile.n_channel(); ++f) to[f] = convert(from[f * step]);
  }

  /// None where nothing is flagged and all is there.
  Flags flags(Evaluation& evaluation, const Tile& tile, std::size_t baseline, const std::array<int, 4>& source) const {
    const std::size_t n_time = tile.n_time(), n_channel = tile.n_channel(), first_row = baseline * n_time,
                      n = n_time * n_channel * tile.n_correlation();
    const bool all_there =
        std::none_of(source.begin(), source.end(), [](int of) { return of < 0; }) &&
        std::none_of(&tile.row[first_row], &tile.row[first_row] + n_time, [](auto r) { return r < 0; });
    const std::uint8_t* flagged = tile.flag.empty() ? nullptr : &tile.flag[baseline * n];
    if (all_there && (flagged == nullptr || std::all_of(flagged, flagged + n, [](auto flag) { return flag == 0; })))
      return {};
    Flags flags(evaluation.pool, 4, evaluation.cells().shape());
    for (std::size_t element = 0, i = 0; element < 4; ++element)
      for (std::size_t t = 0; t < n_time; ++t, i += n_channel) {
        const std::ptrdiff_t first = first_of(tile, first_row + t, source[element]);
        for (std::size_t f = 0; f < n_channel; ++f)
          if (first < 0 || (flagged != nullptr && tile.flag[first + f * tile.n_correlation()] != 0))
            flags.data()[i + f] = flag_bit_;
      }
    return flags;
  }

  /// For XX, XY, YX, YY the number of the correlation in the data, -1 where they do not have it.
  static std::array<int, 4> correlation_of_elements(const Tile& tile) {
    std::array<int, 4> source{-1, -1, -1, -1};
    for (int c = 0; c < static_cast<int>(tile.n_correlation()); ++c) {
      const int type = tile.correlation_type[static_cast<std::size_t>(c)];  // numbers of casacore's Stokes class
      if (type >= 5 && type <= 8)
        source[static_cast<std::size_t>(type - 5)] = c;  // RR RL LR LL
      else if (type >= 9 && type <= 12)
        source[static_cast<std::size_t>(type - 9)] = c;  // XX XY YX YY
      else if (type == 1 && tile.n_correlation() == 1)
        source[0] = source[3] = c;  // I
      else
        throw Error("the data have correlation type " + std::to_string(type) +
                    "; supported are XX XY YX YY (9-12), RR RL LR LL (5-8), and Stokes I (1) alone");
    }
    return source;
  }

  static std::string names(const Tile& tile) {
    std::string text;
    for (const auto& [name, values] : tile.columns) text += (text.empty() ? "" : ", ") + name;
    return text.empty() ? "none" : text;
  }

  DataUse use_;
  bool rates_;
  std::int32_t flag_bit_;
};

RIMETREE_REGISTER_NODE(Spigot);

}  // namespace rimetree
