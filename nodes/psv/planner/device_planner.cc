#include "nodes/psv/planner/device_planner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "nodes/psv/matrix/matrix_kernel.h"
#include "nodes/psv/planner/planner.h"

namespace rimetree::psv::planner {
namespace {

/// Double-precision multiply-adds, counted in the bodies and, for the direct sum, in the machine code for sm_90.
struct Counts {
  static constexpr double kPath = 30;            ///< a path difference in twice double precision
  static constexpr double kPhasor = 35;          ///< a phase reduced, its sine and cosine
  static constexpr double kFromAntennas = 8;     ///< two products of phasors
  static constexpr double kSinglePhases = 15;    ///< path and phases of a source and row, for singles
  static constexpr double kSinglePhasors = 200;  ///< what is made of them, in single precision
  static constexpr double kSmearing = 60, kTaper = 60;
  static constexpr double kProduct = 64;  ///< of two 2x2 matrices, each entry complex, twice
};

double pick(bool single, double of_double, double of_single) { return single ? of_single : of_double; }

}  // namespace

double direct_seconds(const DeviceWork& w, const DeviceRates& rates) {
  const double n_run = std::ceil(w.n_channel / double(DeviceShape::kMostTiles * DeviceShape::kChannels));
  // Doubles: staging and whatever phases and smearing take. Of the working precision: the rest.
  double doubles = w.single ? Counts::kSinglePhases : Counts::kPath + 2 * Counts::kPhasor;
  if (w.rows_per_antenna > 0) doubles = doubles / w.rows_per_antenna + (w.single ? 0 : Counts::kFromAntennas);
  doubles *= n_run;
  double own = w.single ? n_run * Counts::kSinglePhasors : 0;
  if (w.smear_time) doubles += n_run * Counts::kSmearing + 2 * w.n_channel;
  if (w.jones && !w.jones_vary) doubles += n_run * Counts::kProduct;
  const bool plain = w.regular && !w.smear_time && !w.jones;  // no phasors but those in the middle of tiles
  if (plain)
    own += w.n_channel * (w.single ? 0.5 : 1.25);
  else if (w.regular)
    own += w.n_channel * (w.single ? 4 : 2);
  else
    doubles += w.n_channel * Counts::kPhasor;
  own += w.n_channel * (w.n_plane == 8 ? (plain ? 10 : 16) : 2 * (w.one_plane + (1 - w.one_plane) * w.n_plane));
  if (w.jones_vary) own += w.n_channel * Counts::kProduct;
  const double pairs = w.n_source * w.n_row;
  return pairs * (doubles / rates.double_plain + own / pick(w.single, rates.double_plain, rates.single_plain));
}

double matrix_seconds(const DeviceWork& w, const MatrixPlan& plan, const MatrixVariant& variant,
                      const DeviceRates& rates) {
  double rate = pick(w.single, rates.double_plain, rates.single_plain);
  if (variant.unit == MatrixUnitKind::kTensor) rate = pick(w.single, rates.double_tensor, rates.tf32_tensor / 3);
  if (rate <= 0) return 0;
  const int n_plane = w.jones ? 1 : w.n_plane;
  const double channels =
      w.single ? channels_per_block<float>(variant, n_plane) : channels_per_block<double>(variant, n_plane);
  const TileCount tiles = count_tiles(plan, antennas_per_tile(plan, variant));
  const double terms = w.n_source * double(plan.terms_per_source());
  // Four real products for a complex one; with Jones terms eight complex ones for each pair of antennas.
  const double products = double(tiles.pairs) * (w.jones ? 32 : 4 * n_plane) * w.n_channel;
  const double advance = w.regular ? 2 : Counts::kPhasor;
  double staged = Counts::kPath + 2 * Counts::kPhasor + channels * (advance + (w.jones ? 16 : 2));
  staged *= double(tiles.antennas) * std::ceil(w.n_channel / channels);
  return terms * (products / rate + staged / rates.double_plain);
}

DeviceMethodChoice choose_on_device(const DeviceWork& work, const MatrixPlan& plan, const DeviceRates& rates,
                                    const DeviceTuning& tuning) {
  const DirectTuning& direct = tuning.direct[work.single];
  const MatrixTuning& matrix = tuning.matrix[work.single];
  const double direct_cost = direct_seconds(work, rates) / direct.efficiency;
  DeviceMethodChoice choice;
  if (!plan.obstacle.empty()) {
    choice.reason = "matrix product: not possible, " + plan.obstacle;
    return choice;
  }
  double best = 0;
  for (const MatrixVariant& variant : kMatrixVariants) {
    if (matrix.variant && !(*matrix.variant == variant)) continue;
    const double seconds = matrix_seconds(work, plan, variant, rates) / matrix.efficiency;
    if (seconds <= 0 || (best > 0 && seconds >= best)) continue;
    best = seconds;
    choice.variant = variant;
  }
  choice.is_matrix = best > 0 && best < direct_cost;
  char nodes[80] = "";
  if (plan.terms_per_source() > 1)
    std::snprintf(nodes, sizeof nodes, ", %d x %d smearing nodes", plan.n_time_node, plan.n_frequency_node);
  const std::string matrix_text = "matrix product: about " + seconds_text(best) + " of the device" + nodes;
  const std::string direct_text = "direct: about " + seconds_text(direct_cost);
  choice.reason = choice.is_matrix ? matrix_text + "; " + direct_text : direct_text + " of the device; " + matrix_text;
  if (direct.measured || matrix.measured) choice.reason += "; as measured by bench tune";
  return choice;
}

}  // namespace rimetree::psv::planner
