// Corrects a column of a Measurement Set by inverse Jones matrices, tile by tile, and counts what that flags.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "runtime/ms/runs/correction.h"
#include "runtime/ms/runs/tile_run.h"

namespace rimetree::ms {

struct CorrectionOptions {
  RowSelection rows;                     ///< time_slots = 0: chosen from the memory
  std::optional<ChannelRange> channels;  ///< all if not given
  std::string data_column, column;       ///< to read, and to write
  SharedColumn shared;
  std::size_t memory_bytes = 0;  ///< that tiles may take; 0: as much as makes reading worth while
  int threads = 0;               ///< 0: as ThreadPool
};

/// The matrices for the cells of a tile, of which only the axes are there; `flags_only`: without `inverse`.
using InverseJonesOf = std::function<InverseJones(const Tile& outline, bool flags_only)>;

/// Writes `column`, and FLAG where something is newly flagged. Errors as of ms::run.
RunReport correct(MeasurementSet& ms, const CorrectionOptions& options, const InverseJonesOf& jones, FlagCounts& counts,
                  Cancellation* cancellation = nullptr, const std::function<void(const RunProgress&)>& progress = {});

/// What correcting would flag, results that are not finite left out. Reads flags only.
void count_flags(const MeasurementSet& ms, const CorrectionOptions& options, const InverseJonesOf& jones,
                 FlagCounts& counts, Cancellation* cancellation = nullptr);

/// The most bytes that tiles take at a time.
std::size_t correction_bytes(const MeasurementSet& ms, const CorrectionOptions& options);

}  // namespace rimetree::ms
