// Derivatives with respect to Jones terms on devices: these collect what each side of the baselines gains, i.e. each
// product of the terms of one end at a time, from the rows that share it; the host takes that through the terms, as it
// multiplied them.
#pragma once

#include <span>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/device/adjoint_job.h"
#include "nodes/psv/pipeline/device_sky.h"

namespace rimetree::psv::device {
using namespace adjoint;
using namespace pipeline;

/// Whether a problem's adjoint goes by sides: where Jones terms have targets, and where they vary along channels.
bool goes_by_sides(const Summed& of, const PackedProblem& packed);

/// How many sides there are on the left or right: products, at each time if they vary in time.
std::int32_t n_side(const PackedProblem& packed, bool right);

/// The rows of a chunk by their sides, in pieces that are short enough to keep a device busy, and their order, as a
/// device reads them: one array of whole numbers.
std::vector<std::int32_t> side_rows(std::span<const DeviceRow> rows, const PackedProblem& packed, bool right);

/// Bytes per row that they take for left and right together, at the most.
inline constexpr std::size_t kSideRowBytes = 2 * (sizeof(SidePiece) + sizeof(std::int32_t));

/// The same on a device.
struct DeviceSideRows {
  DeviceSideRows() = default;
  DeviceSideRows(const void* d_data, std::size_t bytes, std::size_t n_row)
      : d_piece(static_cast<const SidePiece*>(d_data)),
        n_piece((bytes - n_row * sizeof(std::int32_t)) / sizeof(SidePiece)),
        d_order(reinterpret_cast<const std::int32_t*>(d_piece + n_piece)) {}
  const SidePiece* d_piece = nullptr;
  std::size_t n_piece = 0;
  const std::int32_t* d_order = nullptr;
};

/// What sides have gained, [side][source of the range][channel of the range, or one for all][XX XY YX YY, re and im],
/// to what their terms and the brightness have.
void pull_through_terms(const DeviceSky<double>& sky, const ProductRange& range, bool right,
                        std::span<const double> gained, SourceWish wish, SourceAdjoints& out);

}  // namespace rimetree::psv::device
