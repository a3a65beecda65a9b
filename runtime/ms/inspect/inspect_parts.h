// Private to inspect(): its steps, each in a file of its own.
#pragma once

#include "runtime/ms/inspect/inspect.h"
#include "runtime/ms/set/measurement_set.h"
#include "runtime/ms/set/row_index.h"
#include "runtime/ms/set/tile_plan.h"

namespace rimetree::ms {

/// Rows, times, baselines, groups (inspect_rows.cc). `plan` has one time slot per tile and autocorrelations.
void summarise_rows(const MeasurementSet& ms, const RowIndex& index, const TilePlan& plan, MsSummary* summary);

/// What flags, weights, UVW and columns of visibilities hold, by antenna (inspect_cells.cc).
void summarise_cells(const MeasurementSet& ms, const RowIndex& index, MsSummary* summary);

/// Fills summary->uvw (inspect_uvw.cc).
void summarise_uvw(const MeasurementSet& ms, const RowIndex& index, const TilePlan& plan, std::size_t time_slots,
                   MsSummary* summary);

/// Adds what bites to summary->warnings (inspect_warnings.cc).
void add_warnings(MsSummary* summary);

}  // namespace rimetree::ms
