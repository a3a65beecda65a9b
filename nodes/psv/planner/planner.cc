#include "nodes/psv/planner/planner.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <numeric>

#include "nodes/psv/adjoint/sides_reverse.h"
#include "nodes/psv/matrix/sides_sum.h"
#include "runtime/core/error.h"
#include "runtime/math/conventions.h"

namespace rimetree::psv::planner {
namespace {

constexpr double kDoubleBound = 1e-12;

// Nanoseconds of one core with vectors of eight doubles and one multiply-add of such a vector per cycle, measured
// at 3.7 GHz (AMD EPYC); narrower vectors take longer. `rimetree bench psv` says how far they hold (column "est.").
struct Costs {
  static constexpr double kNode = 3000, kNodeWithJones = 4000;  ///< whatever the method
  // The direct sum.
  static constexpr double kPhasor = 0.02, kPlane = 0.092;  ///< per source, row and channel
  static constexpr double kSmeared = 0.11, kExponentialTaper = 0.24, kOtherTaper = 0.9;  ///< the same, on top
  static constexpr double kVarying = 1.3;                   ///< times phasors and planes, for spectra
  static constexpr double kSeed = 3.2, kSmearedSeed = 4.4;  ///< per source, row and run of channels
  static constexpr double kSingle = 0.64;                   ///< of the above but shapes in double precision
  static constexpr double kJonesProduct = 20,
                          kJonesVarying = 3.1;             ///< per source, row and pair; and channel, if it varies
  static constexpr double kSingleJones = 0.6;              ///< of the latter
  static constexpr double kStore = 9, kStoreSingle = 7.5;  ///< per row and channel
  // The delay method.
  static constexpr double kRow = 400;          ///< per row
  static constexpr double kPlace = 3.4;        ///< per source, row and node of the exposure
  static constexpr double kKernelTerm = 0.34;  ///< the same, per vector and coefficient of the kernel
  static constexpr double kSpread = 2.0;       ///< the same, per vector of the kernel and grid
  static constexpr double kTaper = 7;          ///< per extended source, row and term
  static constexpr double kSmallTransform = 0.22, kLargeTransform = 0.4;  ///< per cell and binary digit of the cells
  static constexpr double kSample = 0.13;                                 ///< per channel, cell of the kernel and grid
  static constexpr double kSetup = 34;                                    ///< per channel, once for all rows
  static constexpr double kWrite = 4;                                     ///< per row and channel
  // The uv grid.
  static constexpr double kPlaceOnGrid = 200;          ///< per source
  static constexpr double kSeries = 30;                ///< per source and series
  static constexpr double kWeigh = 70, kCells = 2.0;   ///< per source and grid; and vector of the kernel's cells
  static constexpr double kLine = 0.4, kColumn = 1.5;  ///< per cell of a transform, and binary digit of the cells
  static constexpr double kPlaceSample = 110, kKernels = 60,
                          kInterpolate = 0.3;   ///< per sample; and kernel; and such vector
  static constexpr double kShare = 4;           ///< per channel, point and node of their rules, once for all rows
  static constexpr double kMeans = 0.1;         ///< per channel, point and plane of the means over cells
  static constexpr double kGridsReverse = 2.4;  ///< going back, times the way there
  // Going back row by row, times the direct sum: of one plane, of several, with Jones terms, with such that vary along
  // channels.
  static constexpr double kRowsReverse[] = {4.4, 3.0, 1.4, 3.2};
  static constexpr double kPortionByte = 0.08;  ///< to clear and add up a byte of another portion's adjoints
  // The matrix product on the host, per source and cell.
  static constexpr double kTurn = 1.6;                               ///< the phasor of an antenna
  static constexpr double kSidesSmeared = 0.82, kSidesShaped = 2.1;  ///< per pair and factor
};
/// What a pass over the sides takes per source and cell: products of two complex numbers per pair of antennas, where
/// both are numbers, or elements of matrices that are diagonal or full; and per end of a baseline.
struct SidesCosts {
  double number, diagonal, full, scalar_side, matrix_side;
};
constexpr SidesCosts kValues{0.14, 0.16, 0.11, 1.7, 6.5},
    kSlopes{0.29, 0.42, 0.265, 1.5, 8.5},  ///< on top of values: what these change by where both sides do
    kReverse{0.33, 0.75, 0.34, 7.5, 24};

double vector_factor() { return 8.0 / double(std::clamp<std::size_t>(rows_per_block<double>(), 1, 8)); }

/// What tapers take per channel and row of the direct sum, all sources together.
double tapers_nanoseconds(const Sky<double>& sky) {
  double nanoseconds = 0;
  for (const SourceBlock& block : sky.blocks)
    if (block.profile != kPoint)
      nanoseconds += double(block.end - block.begin) *
                     (is_exponential(block.profile) ? Costs::kExponentialTaper : Costs::kOtherTaper);
  return nanoseconds;
}

double direct_seconds(const Summed& of, bool single) {
  const auto& [sky, channels, rows, jones, owner, version, ends] = of;
  const std::vector<Run>& runs = channels.cut[0].runs;
  double n_channel = 0;
  for (const Run& run : runs) n_channel += double(run.n_tile * kTileChannels);
  const bool varying = sky.n_weight_channel > 1;
  const double one_plane = sky.one_plane_part();
  const double planes = jones.n_pair > 0 ? 8 : one_plane + (1 - one_plane) * double(sky.planes.size());
  const bool smeared = rows.du != nullptr, matrices = matrices_vary(sky, jones);
  const auto n_run = double(runs.size());
  double each =
      (Costs::kPhasor + Costs::kPlane * (matrices ? 0 : planes)) * (varying ? Costs::kVarying : 1) * n_channel;
  each += n_run * Costs::kSeed;
  if (smeared) each += n_run * Costs::kSmearedSeed + Costs::kSmeared * n_channel;
  if (single) each *= Costs::kSingle;
  if (sky.n_source > 0) each += n_channel * tapers_nanoseconds(sky) / double(sky.n_source);
  each += matrices ? Costs::kJonesVarying * (single ? Costs::kSingleJones : 1) * n_channel
                   : Costs::kJonesProduct * jones.n_pair;
  const double store = (single ? Costs::kStoreSingle : Costs::kStore) * double(channels.frequency_hz.size());
  return 1e-9 * (double(sky.n_source) * each * vector_factor() + store) * double(rows.n_row);
}

double delay_row_nanoseconds(const DelayPlan& plan, const DelayRow& row) {
  const Sampling& sampling = plan.samplings[row.sampling];
  const double vectors = plan.kernel->stride / 8.0, n_plane = double(plan.sky.planes.size());
  const double n_channel = double(plan.band.n_channel);
  const double kernel = Costs::kPlace + Costs::kKernelTerm * vectors * (plan.kernel->degree + 1);
  const double n_extended = double(plan.sky.n_source - plan.sky.n_point);
  const double terms = double(plan.sky.n_term) + (n_extended > 0 ? row.n_taper_term - 1.0 : 0.0);
  const auto sources = [&](double count, double n_term) {
    return count * row.n_node * (kernel + Costs::kSpread * vectors * n_plane * n_term);
  };
  double ns = sources(double(plan.sky.n_point), double(plan.sky.n_term)) + sources(n_extended, terms);
  ns += n_extended * row.n_taper_term * (Costs::kTaper + row.n_taper_term / 8.0 + n_plane * plan.sky.n_term);
  const double cells = double(sampling.n_sample) / (2 * kLargestKappa) + 64;
  ns += n_plane * terms * cells * std::log2(cells) * (cells > 16384 ? Costs::kLargeTransform : Costs::kSmallTransform);
  const double window = sampling.step == 1 ? 2.0 : double(sampling.n_window);
  ns += n_plane * terms * n_channel * Costs::kSample * window;
  return ns * vector_factor() + Costs::kRow + Costs::kWrite * n_channel;
}

double delay_seconds(const DelayPlan& plan) {
  double nanoseconds = 0;
  for (const DelayRow& row : plan.rows) nanoseconds += delay_row_nanoseconds(plan, row);
  return 1e-9 * nanoseconds;
}

/// Of points.
double grids_seconds(const UvGridPlan& plan) {
  if (!plan.parts.empty())
    return std::accumulate(plan.parts.begin(), plan.parts.end(), 0.0,
                           [](double sum, const PartOfBand& part) { return sum + grids_seconds(part.plan); });
  const GridAxis &x = plan.axis[0], &y = plan.axis[1];
  const double n_source = double(plan.sky.n_source), n_sample = plan.means.n_sample;
  const auto line = [](const GridAxis& axis) { return double(axis.n_cell) * std::log2(double(axis.n_cell)); };
  const double transform = Costs::kLine * double(y.n_used) * line(x) + Costs::kColumn * double(x.n_mode) * line(y);
  double grids = 0, samples = n_sample * (Costs::kPlaceSample + Costs::kKernels * double(plan.kernels.size()));
  for (const GridSeries& series : plan.series) {
    const GriddingKernel& kernel = plan.kernel_of(series);
    const double vectors = double(kernel.width) * kernel.stride / 8 * vector_factor();
    grids += n_source * Costs::kSeries;
    grids += series.n_w * (n_source * (Costs::kWeigh + Costs::kCells * vectors) + transform);
    samples += n_sample * series.n_w * Costs::kInterpolate * vectors;
  }
  const double means = plan.means.n_product * double(plan.series.size()) * Costs::kMeans * vector_factor();
  return 1e-9 * (n_source * Costs::kPlaceOnGrid + grids + samples + means + plan.means.n_share * Costs::kShare);
}

double uv_grid_seconds(const Summed& of, const UvGridPlan& plan) {
  const double others =
      plan.others.n_source > 0 ? direct_seconds({plan.others, of.channels, of.rows, of.jones}, false) : 0;
  return grids_seconds(plan) + others;
}

/// Products of complex numbers per pair and source.
double products_nanoseconds(const SidesShape& shape, const SidesCosts& costs) {
  if (!shape.right_matrix) return costs.number * shape.n_sum();
  return shape.looks_diagonal ? costs.diagonal * (shape.diagonal_brightness ? 2 : 4) : costs.full * 8;
}

double sides_seconds(const Summed& of, const SidesShape& shape, const SidesWork& work,
                     const SidesCosts& costs = kValues) {
  const double extended = double(of.sky.n_source - of.sky.n_point) / std::max(double(of.sky.n_source), 1.0);
  const double factors = (of.rows.is_smeared_in_time() ? 1 : 0) + (of.rows.is_smeared_in_frequency() ? 1 : 0);
  const double pair =
      products_nanoseconds(shape, costs) + Costs::kSidesSmeared * factors + Costs::kSidesShaped * extended;
  const double end = shape.left_matrix || shape.right_matrix ? costs.matrix_side : costs.scalar_side;
  const double source = work.pair_cells * pair + work.end_cells * end + work.antenna_cells * Costs::kTurn;
  return 1e-9 * (double(of.sky.n_source) * source * vector_factor() + Costs::kStore * work.pair_cells);
}

/// What derivatives of Jones terms take on top of the values, in one pass with these.
double slopes_seconds(const Summed& of, const SidesPlan& plan) {
  SidesWork work = work_of(plan, of.channels);
  work.antenna_cells = 0;
  const bool both = plan.left_moves && plan.right_moves;
  if (!both) work.end_cells /= 2;
  SidesCosts costs = both ? kSlopes : kValues;
  costs.scalar_side = kSlopes.scalar_side, costs.matrix_side = kSlopes.matrix_side;
  Rows rows = of.rows;  // factors of pairs are there
  rows.du = nullptr;
  Summed same{of.sky, of.channels, rows, of.jones};
  return sides_seconds(same, plan.shape, work, costs);
}

double reverse_seconds(const Summed& of, const SidesPlan& plan) {
  SidesWork work = work_of(plan, of.channels);
  work.antenna_cells *= 2;  // made once more for what sides gain
  // Adjoints of terms are what counts in memory.
  const std::size_t bytes = sizeof(Complex<double>) * (of.jones.targets.n_moving + of.jones.targets.n_steady);
  const std::size_t n_portion = adjoint::window_portions(matrix::side_blocks(of.sky).size(),
                                                         matrix::windows_of_tiles(plan, of.channels).size(), bytes);
  const double copies = 1e-9 * Costs::kPortionByte * double((n_portion - 1) * bytes);
  return sides_seconds(of, plan.shape, work, kReverse) + copies;
}
double rows_reverse_seconds(const Summed& of) {
  const int kind = matrices_vary(of.sky, of.jones) ? 3 : of.jones.n_pair > 0 ? 2 : of.sky.planes.size() > 1 ? 1 : 0;
  const double direct = direct_seconds(of, false);
  if (of.jones.n_pair > 0) return Costs::kRowsReverse[kind] * direct;
  // Smearing takes as long as in the sum, and no longer.
  Rows rows = of.rows;
  rows.du = nullptr;
  const double plain = direct_seconds({of.sky, of.channels, rows, of.jones}, false);
  return Costs::kRowsReverse[kind] * plain + direct - plain;
}

double uv_grid_reverse_seconds(const Summed& of, const UvGridPlan& plan) {
  const double others =
      plan.others.n_source > 0 ? rows_reverse_seconds({plan.others, of.channels, of.rows, of.jones}) : 0;
  return Costs::kGridsReverse * grids_seconds(plan) + others;
}

const char* name_of(MethodKind method) {
  constexpr const char* kNames[] = {"direct in double precision", "direct in single precision", "delay method",
                                    "uv grid", "matrix product over sources"};
  return kNames[static_cast<int>(method)];
}

/// A method with its estimated cost, or why it is out of the question.
struct Candidate {
  MethodKind method;
  double seconds, bound;
  std::string obstacle;
};

std::string reason_of(const Candidate& chosen, const std::vector<Candidate>& all, const Sky<double>& sky,
                      const Channels& channels, double n_row, double tolerance) {
  char text[300];
  const double work = double(sky.n_source) * n_row * double(channels.frequency_hz.size());
  std::snprintf(
      text, sizeof text,
      "%s, %.0f rows, %zu channels to %.3g of the total flux: %s (error below %.2g; about %s of one core, %.2g "
      "source-visibilities/s)",
      sources_text(sky).c_str(), n_row, channels.frequency_hz.size(), tolerance, name_of(chosen.method), chosen.bound,
      seconds_text(chosen.seconds).c_str(), chosen.seconds > 0 ? work / chosen.seconds : 0.0);
  std::string reason = text;
  const char* separator = "; ";
  for (const Candidate& other : all) {
    if (other.method == chosen.method) continue;
    reason += separator + std::string(name_of(other.method)) + ": " +
              (other.obstacle.empty() ? "about " + seconds_text(other.seconds) : other.obstacle);
    separator = ", ";
  }
  return reason;
}

/// The matrix product for all baselines of an array.
Candidate expected_matrix(const Outlook& outlook, const Summed& of) {
  if (outlook.n_pair == 0) return {MethodKind::kMatrix, 0, 0, "not possible, there are no Jones terms"};
  SidesShape shape;
  shape.left_matrix = shape.right_matrix = outlook.matrices;
  if (!outlook.matrices) shape.planes = of.sky.planes;
  const double n_antenna = 0.5 + std::sqrt(0.25 + 2 * double(outlook.n_baseline));
  const double n_time = double(outlook.n_row) / double(std::max<std::size_t>(outlook.n_baseline, 1));
  const double cells = n_time * double(of.channels.frequency_hz.size());
  const SidesWork work{cells * double(outlook.n_baseline), cells * 2 * n_antenna, cells * n_antenna};
  return {MethodKind::kMatrix, sides_seconds(of, shape, work), outlook.tolerance, ""};
}

/// What the nodes of some baselines take besides their sums.
double nodes_seconds(const Summed& of, double n_baseline) {
  return 1e-9 * n_baseline * (of.jones.n_pair > 0 ? Costs::kNodeWithJones : Costs::kNode);
}
double baselines_of(const Rows& rows) {
  if (rows.n_row == 0 || rows.baseline == nullptr) return 0;
  return 1.0 + double(*std::max_element(rows.baseline, rows.baseline + rows.n_row));
}

/// The cheapest of the candidates. `delay` and `uv_grid` are the plans of these methods, or say what is in their way.
Choice choose(const Summed& of, double tolerance, double repeated, double n_baseline, DelayPlan delay,
              UvGridPlan uv_grid, const Candidate& matrix) {
  const auto& [sky, channels, rows, jones, owner, version, ends] = of;
  const double direct = direct_seconds(of, false) * repeated, single = direct_seconds(of, true) * repeated;
  const double n_channel = double(channels.frequency_hz.size());
  const bool delay_works = delay.obstacle.empty(), grid_works = uv_grid.obstacle.empty();
  std::vector<Candidate> all = {
      {MethodKind::kDirectDouble, direct, kDoubleBound, ""},
      {MethodKind::kDirectSingle, single, kSingleBound, singles_meet(tolerance, of) ? "" : "not exact enough"},
      {MethodKind::kDelay, delay_works ? delay_seconds(delay) * repeated + 1e-9 * Costs::kSetup * n_channel : 0,
       delay.bound, delay_works ? "" : "not possible, " + delay.obstacle},
      {MethodKind::kUvGrid, grid_works ? uv_grid_seconds(of, uv_grid) : 0, uv_grid.bound,
       grid_works ? "" : "not possible, " + uv_grid.obstacle},
      matrix};
  for (Candidate& candidate : all) candidate.seconds += nodes_seconds(of, n_baseline);
  const Candidate* best = &all.front();
  for (const Candidate& candidate : all)
    if (candidate.obstacle.empty() && candidate.seconds < best->seconds) best = &candidate;

  Choice choice;
  choice.method = best->method;
  choice.seconds = best->seconds;
  choice.bound = best->bound;
  const double n_row = double(rows.n_row) * repeated;
  choice.source_visibilities = double(sky.n_source) * n_row * double(channels.frequency_hz.size());
  choice.reason = reason_of(*best, all, sky, channels, n_row, tolerance);
  if (best->method == MethodKind::kUvGrid && !uv_grid.parts.empty())
    choice.reason += "; in " + std::to_string(uv_grid.parts.size()) + " parts of the band, as spectra have kinks";
  if (best->method == MethodKind::kDelay) choice.delay = std::move(delay);
  if (best->method == MethodKind::kUvGrid) choice.uv_grid = std::move(uv_grid);
  return choice;
}

}  // namespace

std::string seconds_text(double seconds) {
  char text[32];
  std::snprintf(text, sizeof text, seconds >= 1 ? "%.3g s" : "%.3g ms", seconds >= 1 ? seconds : 1000 * seconds);
  return text;
}

std::string sources_text(const Sky<double>& sky) {
  const std::string count = std::to_string(sky.n_source), all = std::to_string(sky.n_source + sky.n_left_out);
  return sky.n_left_out == 0 ? count + " sources" : count + " of " + all + " sources (others have no flux)";
}

std::string about_text(double seconds) { return "about " + seconds_text(seconds) + " of one core"; }

void check_tolerance(double tolerance) {
  if (tolerance >= kSmallestTolerance) return;
  char text[160];
  std::snprintf(text, sizeof text,
                "a tolerance of %.3g was asked for; the smallest that PSV meets is %.0e of the total flux", tolerance,
                kSmallestTolerance);
  throw Error(text);
}

Choice choose_method(const Summed& of, double tolerance, ThreadPool& threads) {
  check_tolerance(tolerance);
  SidesPlan sides = sides_plan(of, tolerance, threads);
  Candidate matrix{MethodKind::kMatrix, 0, sides.bound, ""};
  if (sides.obstacle.empty())
    matrix.seconds = sides_seconds(of, sides.shape, work_of(sides, of.channels));
  else
    matrix.obstacle = "not possible, " + sides.obstacle;
  double others = direct_seconds(of, singles_meet(tolerance, of));
  if (matrix.obstacle.empty()) others = std::min(others, matrix.seconds);
  DelayPlan delay = plan_delay(of, tolerance, others);
  if (delay.obstacle.empty()) others = std::min(others, delay_seconds(delay));
  UvGridPlan uv_grid = plan_uv_grid(of, tolerance, others);
  Choice choice = choose(of, tolerance, 1, baselines_of(of.rows), std::move(delay), std::move(uv_grid), matrix);
  if (choice.method == MethodKind::kMatrix) {
    if (sides.left_moves || sides.right_moves) choice.slopes_seconds = slopes_seconds(of, sides);
    choice.sides = std::move(sides);
  }
  return choice;
}

Reverse plan_reverse(const Summed& of, adjoint::SourceWish wish, ThreadPool& threads) {
  Reverse way{{}, {}, rows_reverse_seconds(of)};
  SidesPlan sides = sides_plan(of, kSmallestTolerance, threads, wish.weights);
  if (adjoint::reverse_obstacle(sides, of.sky, wish).empty()) {
    const double seconds = reverse_seconds(of, sides);
    if (seconds < way.seconds) way = {std::move(sides), {}, seconds};
  }
  if (wish.weights && !wish.positions && !wish.shapes) {
    UvGridPlan uv_grid = plan_uv_grid_reverse(of, kSmallestTolerance, way.seconds);
    const double seconds = uv_grid.obstacle.empty() ? uv_grid_reverse_seconds(of, uv_grid) : way.seconds;
    if (seconds < way.seconds) way = {{}, std::move(uv_grid), seconds};
  }
  return way;
}

Choice expected_choice(const Outlook& outlook, const Channels& channels) {
  check_tolerance(outlook.tolerance);
  // One row and one source, in the direction that gives a baseline's length as its path; with a power law where spectra
  // vary, whose series has as many terms as other spectra would.
  const std::size_t n_channel = channels.frequency_hz.size();
  Sky<double> sky;
  sky.n_source = sky.n_point = 1;
  sky.l = {1.0}, sky.m = sky.n_high = sky.n_low = {0.0};
  sky.extent.include(1, 0, 0);
  sky.total_flux = 1;
  sky.planes = {Plane::kI};
  if (!outlook.unpolarised) sky.planes.insert(sky.planes.end(), {Plane::kQ, Plane::kU, Plane::kV});
  sky.n_weight_channel = outlook.spectra ? n_channel : 1;
  for (std::size_t f = 0; f < sky.n_weight_channel; ++f)
    sky.weights.insert(sky.weights.end(), sky.planes.size(),
                       outlook.spectra ? 0.25 * std::pow(channels.frequency_hz[f] / channels.highest_hz, -0.7) : 0.25);
  const double spacing = std::abs(analyse_band(channels).spacing_hz.hi);
  const double path = spacing > 0 ? kTypicalTurns * kSpeedOfLight_m_s / spacing : 0, none = 0, second = 1;
  // An exposure that turns the phase by a tenth of a radian.
  const double rate = channels.highest_hz > 0 ? 0.1 * kSpeedOfLight_m_s / (2 * kPi * channels.highest_hz) : 0;
  Rows rows;
  rows.n_row = 1;
  rows.u = &path, rows.v = &none, rows.w = &none;
  if (outlook.smearing) rows.du = &rate, rows.dv = &none, rows.dw = &none, rows.exposure_s = &second;
  const JonesTerms jones{outlook.n_pair, nullptr, outlook.jones_vary};

  DelayPlan delay = plan_delay({sky, channels, rows, jones}, outlook.tolerance);
  UvGridPlan uv_grid =
      typical_uv_grid(sky, {outlook.n_source, outlook.n_row, n_channel, outlook.smearing}, outlook.tolerance);
  sky.n_source = sky.n_point = delay.sky.n_source = delay.sky.n_point = outlook.n_source;
  sky.blocks = {{0, outlook.n_source, kPoint, false, sky.extent}};
  const Summed of{sky, channels, rows, jones};
  if (jones.n_pair > 0) uv_grid.obstacle = "there are Jones terms";
  return choose(of, outlook.tolerance, double(outlook.n_row), double(outlook.n_baseline), std::move(delay),
                std::move(uv_grid), expected_matrix(outlook, of));
}

}  // namespace rimetree::psv::planner
