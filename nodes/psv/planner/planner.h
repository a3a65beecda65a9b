// Which method computes the visibilities of a set of rows: the cheapest of those that are known to meet the tolerance.
//
//   direct, double     1e-12 of the total flux (kernel.h)
//   direct, single     1e-6
//   delay              what is asked for, down to 1e-12, on regular bands without Jones terms (delay.h)
//   uv grid            what is asked for, down to 1e-12, of points without Jones terms (uv_grid/uv_grid.h)
//   matrix product     what is asked for, down to 1e-12, with Jones terms where UVW are differences of antennas
//                      (matrix/sides_plan.h)
//
// Costs are modelled from constants measured on one core, not measured anew, so that the same input gets the same
// method and hence the same bits on every run.
#pragma once

#include <optional>
#include <string>

#include "nodes/psv/adjoint/sides_reverse.h"
#include "nodes/psv/delay/delay.h"
#include "nodes/psv/matrix/sides_plan.h"
#include "nodes/psv/summed.h"
#include "nodes/psv/uv_grid/uv_grid.h"

namespace rimetree::psv::planner {
using namespace delay;
using namespace matrix;
using namespace uv_grid;

enum class MethodKind : std::uint8_t { kDirectDouble, kDirectSingle, kDelay, kUvGrid, kMatrix };

struct Choice {
  MethodKind method = MethodKind::kDirectDouble;
  double seconds = 0;                 ///< estimate for all rows on one core
  double slopes_seconds = 0;          ///< the same of derivatives of Jones terms in one pass, on top; 0: not asked for
  double source_visibilities = 0;     ///< sources x rows x channels
  double bound = 0;                   ///< of the error, as a fraction of the total flux
  std::string reason;                 ///< one sentence: what was chosen, and why not the others
  std::optional<DelayPlan> delay;     ///< of the delay method, to be finished before use
  std::optional<UvGridPlan> uv_grid;  ///< of the uv grid
  std::optional<SidesPlan> sides;     ///< of the matrix product
};

/// As notes say it.
std::string seconds_text(double seconds);
std::string about_text(double seconds);
/// "1000 sources", and of how many these are if some are left out.
std::string sources_text(const Sky<double>& sky);

/// Throws Error for a tolerance below kSmallestTolerance.
void check_tolerance(double tolerance);

/// Throws Error for a tolerance below kSmallestTolerance.
Choice choose_method(const Summed& of, double tolerance, ThreadPool& threads);

/// How to go back: by the matrix product or the uv grid where these can give what is wished for and cost least, else
/// row by row. Going back takes about three times as long as the sum row by row or by the matrix product, about twice
/// as long by the uv grid.
struct Reverse {
  std::optional<SidesPlan> sides;
  std::optional<UvGridPlan> uv_grid;
  double seconds = 0;  ///< estimate on one core
};
Reverse plan_reverse(const Summed& of, adjoint::SourceWish wish, ThreadPool& threads);

/// What is known before there are data.
struct Outlook {
  std::size_t n_source = 0, n_row = 0, n_baseline = 1;
  int n_pair = 0;           ///< of Jones terms
  bool matrices = false;    ///< some of these are
  bool jones_vary = false;  ///< along the band
  bool spectra = false;     ///< that vary along the band
  bool unpolarised = false;
  bool smearing = false;
  double tolerance = 1e-12;
};
/// The choice for a sky with all Stokes parameters, unless it is known to be unpolarised, and, where they vary, power
/// laws, at delays of kTypicalTurns per channel. It cannot be evaluated.
Choice expected_choice(const Outlook& outlook, const Channels& channels);
inline constexpr double kTypicalTurns = 0.05;

}  // namespace rimetree::psv::planner
