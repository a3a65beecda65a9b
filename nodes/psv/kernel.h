// The fast CPU path of the PSV sum, for skies that do not change in time: phasors advance along regular runs of
// channels symmetrically about the middle of each tile of channels, SIMD runs over rows (baseline and time together),
// accumulators of a tile stay in registers while a block of sources passes. Its accuracy is that of body.h: 1e-12
// (double) or 1e-6 (single) of the total flux for phases up to 1e6 radians.
//
// A caller packs the sky and analyses the channels once per version, lays out the rows of a time-slot group, and
// shares the rows among threads, each with its own Workspace. A row's bits do not depend on how the rows are shared.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "nodes/psv/problem.h"
#include "nodes/psv/scratch.h"
#include "runtime/math/profile.h"

namespace rimetree::psv {

// ---------------------------------------------------------------------------------------------------------- the sky

/// Visibility planes accumulated with real weights: the Stokes-like ones of a Hermitian brightness (1, Q, U, V after
/// linear feeds: (xx+yy)/2, (xx-yy)/2, Re xy, Im xy) or the eight real parts of a general one.
enum class Plane : std::uint8_t { kI, kQ, kU, kV, kXxRe, kXxIm, kXyRe, kXyIm, kYxRe, kYxIm, kYyRe, kYyIm };

/// Largest absolute values over some sources: what bounds their path differences.
struct Extent {
  double l = 0, m = 0, n = 0;
  /// Upper bound of |u l + v m + w n|.
  double bound(double u, double v, double w) const;
  /// The same of rates of change over an exposure (s). What is no number may be anything: infinity, so that nobody
  /// takes it for none.
  double bound_of_change(double du, double dv, double dw, double exposure_s) const;
  void include(double l_value, double m_value, double n_value);
};

/// Sources that pass over a tile of channels together: all of one kind.
struct SourceBlock {
  std::size_t begin = 0, end = 0;
  Profile profile = kPoint;
  bool one_plane = false;  ///< no plane but the first has flux: sources are unpolarised
  Extent extent;
};

/// Sources in a row that have one profile.
struct AlikeSources {
  Profile profile;
  std::size_t begin, end;
};

/// The sources as the kernel reads them, in the order of their profiles, points first, and of each those of one plane
/// before those of several; else the caller's order is kept.
template <class T>
struct Sky {
  std::size_t n_source = 0, n_point = 0;
  std::size_t n_left_out = 0;               ///< sources of the caller's that have no flux
  std::vector<double> l, m, n_high, n_low;  ///< [source]; n - n_minus as n_high + n_low
  std::vector<ShapeAxes<double>> axes;      ///< [source - n_point]
  std::vector<Plane> planes;                ///< those not zero everywhere, padded to 1, 2, 4 or 8
  std::size_t n_weight_channel = 0;         ///< 1, or the number of channels
  std::vector<T> weights;                   ///< [source][weight channel][plane], padded at the end
  std::vector<T> relative_weights;          ///< [source][plane]: of the first plane's; empty where that does not do
  std::vector<double> brightness;           ///< [source][weight channel][4][re, im]; only where Jones terms follow
  /// As `weights`, of the direction in which the brightness may move; empty where nobody asks, or Jones terms follow.
  std::vector<double> tangent_weights;
  std::vector<std::size_t> order;  ///< [source]: the caller's number of each
  std::vector<SourceBlock> blocks;
  Extent extent;
  std::vector<AlikeSources> alike() const;
  /// Where weights do not depend on the channel.
  T first_weight(std::size_t source) const { return weights[source * planes.size()]; }
  double total_flux = 0;          ///< sum over sources of the largest |B| element over channels: the unit of tolerances
  double one_plane_part() const;  ///< of the sources: those of which one plane is summed up
};

/// Time strides are not used, nor channel strides but the brightness's.
struct SkyInput : SkyViews<double> {
  bool brightness_varies = false;  ///< along channels
  /// A direction in which the brightness may move, for derivatives: the planes that it needs are kept as well.
  Strided<Complex<double>> brightness_tangent[4];
  bool with_jones = false;  ///< Jones terms will be applied: keep the brightness matrices
  /// Sources without flux at any channel are left out, but one if there are no others. Not with Jones terms that may
  /// be no numbers, nor with a tangent.
  bool only_with_flux = false;
};

template <class T>
Sky<T> pack_sky(const SkyInput& input);

// ------------------------------------------------------------------------------------------------------ the channels

/// A regular run of channels, nu_k = first_hz + k spacing_hz, that one seed phasor covers, in tiles of kTileChannels.
/// The seed belongs to the middle of the tiles, which may reach beyond the last channel.
struct Run {
  std::size_t first = 0, count = 0, n_tile = 1;
  double width_hz = 0;
  double low_hz = 0, high_hz = 0;  ///< span of the channel centres
  double first_hz = 0, spacing_hz = 0;
  double middle_high = 0, middle_low = 0;        ///< middle frequency / c, turns per metre
  double half_step_high = 0, half_step_low = 0;  ///< half the spacing / c
};
inline double channel_hz(const Run& run, std::size_t k) { return run.first_hz + double(k) * run.spacing_hz; }

/// The channels cut into runs of at most so many channels. Longer runs are faster, shorter ones more general.
struct ChannelCut {
  std::vector<Run> runs;           ///< empty: another cut has the same
  std::vector<double> residual;    ///< [channel]: actual minus regular frequency, over c, turns per metre; padded
  double largest_residual = 0;     ///< turns per metre
  double largest_width_error = 0;  ///< of a run's width, hertz
};

/// How a cut is made: the most channels of a run, and whether they are of one width to the last bit or but for
/// rounding.
struct CutKind {
  std::size_t most_channels;
  bool one_width;
};
inline constexpr CutKind kCutKinds[] = {
    {kMaxTiles * kTileChannels, false}, {kMaxTiles * kTileChannels, true}, {2 * kTileChannels, true}, {1, true}};
inline constexpr std::size_t kCuts = std::size(kCutKinds);
/// Frequencies and widths that differ by less than this part of the frequency are the same but for rounding.
inline constexpr double kRoundedHz = 4 * std::numeric_limits<double>::epsilon();

struct Channels {
  std::vector<double> frequency_hz, width_hz;
  double highest_hz = 0;  ///< largest |frequency|
  ChannelCut cut[kCuts];
};

/// Bound of what bandwidth smearing over such a path misses by widths that are off: sinc(pi path width / c) changes by
/// no more than 0.44 times its argument.
inline double smearing_error(double width_error_hz, double path_m) {
  return 0.44 * kPi * path_m * width_error_hz / kSpeedOfLight_m_s;
}

/// Frequencies in any order (descending, gapped, irregular); widths of either sign, or null for zero.
Channels analyse_channels(const double* frequency_hz, const double* width_hz, std::size_t n_channel);

// -------------------------------------------------------------------------------------------- rows, Jones and results

/// Rows in any order, each one baseline at one time. Metres, metres per second, seconds.
struct Rows {
  std::size_t n_row = 0;
  const double *u = nullptr, *v = nullptr, *w = nullptr;     ///< [row]
  const double *du = nullptr, *dv = nullptr, *dw = nullptr;  ///< [row]; null: no smearing at all
  const double* exposure_s = nullptr;                        ///< [row]; null: no time smearing
  bool smear_time = true, smear_frequency = true;            ///< switches on top of the above
  const std::int32_t *baseline = nullptr, *time = nullptr;   ///< [row]; read only where there are Jones terms

  bool is_smeared_in_time() const { return du != nullptr && exposure_s != nullptr && smear_time; }
  bool is_smeared_in_frequency() const { return du != nullptr && smear_frequency; }
};

/// A term's derivatives, which lie to each other as its elements do: one of both; of a real term the real parts.
struct TermSlopes {
  Complex<double>* complex = nullptr;
  double* real = nullptr;
  bool of_original = false;  ///< of what the term is the conjugate transpose of
};

/// Where derivatives with respect to the elements of Jones terms go: to places in one array that lie to each other as
/// the elements themselves do.
struct JonesTargets {
  const std::ptrdiff_t* first = nullptr;   ///< [baseline][pair][p, q]: the first element's; -1: is not asked for
  const TermSlopes* slopes = nullptr;      ///< [the same]: where they end up; null: nobody knows
  std::size_t n_moving = 0, n_steady = 0;  ///< places, first those of terms that vary in time
  bool any() const { return first != nullptr; }
};

/// Jones pairs of every baseline, innermost first.
struct JonesTerms {
  int n_pair = 0;
  const JonesPair<double>* pairs = nullptr;  ///< [baseline][pair]
  bool varies_in_frequency = true;
  JonesTargets targets;  ///< derivatives only
  bool varies_in_time = true;
  /// As `pairs`: what these change by along one unknown; a side without views does not depend on it. Null: the values
  /// alone are asked for. Read by the matrix product on the host only.
  const JonesPair<double>* tangents = nullptr;

  /// Of the side p or q of a pair in `pairs`.
  std::ptrdiff_t target_of(const JonesPair<double>* pair, bool is_q) const {
    return targets.any() ? targets.first[2 * (pair - pairs) + (is_q ? 1 : 0)] : -1;
  }
};

/// Whether matrices are to be applied channel by channel. What the terms of either end of a baseline come to is then
/// worked out once for all rows of a call that see the same views at the same time: calls should take many rows that
/// share antennas, a time at a time.
template <class T>
bool matrices_vary(const Sky<T>& sky, const JonesTerms& jones) {
  return jones.n_pair > 0 && (jones.varies_in_frequency || sky.n_weight_channel > 1);
}

/// Where results go: element (i, f) of row r is row[r][i * plane_stride + f], i = XX XY YX YY.
struct Output {
  Complex<double>* const* row = nullptr;  ///< [row]
  std::ptrdiff_t plane_stride = 0;
};

/// Scratch of one thread, for any rows of one sky and set of channels. Movable, not copyable.
template <class T>
class Workspace {
 public:
  Workspace(const Sky<T>& sky, const Channels& channels, const JonesTerms& jones);
  const Scratch<T>& scratch() const { return scratch_; }
  std::size_t bytes() const { return memory_.bytes(); }

 private:
  ScratchMemory memory_;
  Scratch<T> scratch_{};
};

/// Lanes of a SIMD vector of this machine.
std::size_t lanes_of(float);
std::size_t lanes_of(double);
/// Rows that one vector holds; work is best shared out in multiples of it.
template <class T>
std::size_t rows_per_block() {
  return lanes_of(T());
}

/// What one evaluation is of, as the instruction sets' versions of the kernel share it.
template <class T>
struct HostSum {
  const Sky<T>& sky;
  const Channels& channels;
  const Rows& rows;
  const JonesTerms& jones;
  const Scratch<T>& scratch;
};

/// Visibilities of rows [row_begin, row_end). Allocates nothing; may run on several threads with a workspace each.
void evaluate_rows(const HostSum<float>& sum, std::size_t row_begin, std::size_t row_end, const Output& out);
void evaluate_rows(const HostSum<double>& sum, std::size_t row_begin, std::size_t row_end, const Output& out);
template <class T>
void evaluate_rows(const Sky<T>& sky, const Channels& channels, const Rows& rows, const JonesTerms& jones,
                   std::size_t row_begin, std::size_t row_end, Workspace<T>& workspace, const Output& out) {
  evaluate_rows(HostSum<T>{sky, channels, rows, jones, workspace.scratch()}, row_begin, row_end, out);
}

/// Name of the instruction set in use, e.g. "AVX3" (AVX-512).
std::string instruction_set();

// ------------------------------------------------------------------------------------------------- what to expect

struct SmearingLimits {
  double time_rad = 0;       ///< bound of the phase change over an exposure
  double frequency_rad = 0;  ///< bound of the phase change across a channel
  double error = 0;          ///< bound of what the product of sincs may be wrong by, as a fraction of the total flux
};

/// How far the averaging over cells goes beyond what two sincs describe. They are exact where the phase is linear in
/// time at fixed frequency and linear in frequency at fixed time; what they leave out is the product term (the rate
/// changes across the channel) and the curvature in time. See limits.cc for the bound.
SmearingLimits largest_phase_change(const Extent& extent, const Channels& channels, const Rows& rows);

}  // namespace rimetree::psv
