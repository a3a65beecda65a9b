// How exact the grids of each plane and term of the spectra must be.
//
// An error of grids is a fraction of the flux that is on them. What a series brings to a correlation may be wrong by
// its share of the tolerance, so that Chebyshev terms of high order, or Stokes Q, U and V next to I, are served by
// narrower kernels and fewer points in W than most of the flux is; what has less flux than its share is left out.
#pragma once

#include "nodes/psv/uv_grid/uv_grid.h"

namespace rimetree::psv::uv_grid {

/// Chooses kernels, series and grids of a plan, which has its sky, means and boxes, for errors of at most `tolerance`
/// of the total flux, and gives a bound of these. Says in `obstacle` where there are none.
double choose_grids(UvGridPlan& plan, double total_flux, double tolerance);

/// The same where each series has these fractions of the flux, [plane][term].
double choose_grids_for(UvGridPlan& plan, const std::vector<double>& flux, double tolerance);

/// The same for derivatives with respect to what is on the grids. Of each plane they are as exact as that where it
/// moves most, and less so in terms in which it moves little.
double choose_grids_in_reverse(UvGridPlan& plan, double tolerance);

}  // namespace rimetree::psv::uv_grid
