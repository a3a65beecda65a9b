// What the adjoint of the direct sum collects on a device: derivatives of a real number with respect to what a sky
// holds and to its Jones terms, from conjugate adjoints of visibilities that are there. They stay on the device until
// all rows have passed.
#pragma once

#include <map>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/device/adjoint_job.h"
#include "nodes/psv/device/direct.h"
#include "nodes/psv/device/side_rows.h"

namespace rimetree::psv::device {

/// Adds to costs what the adjoint needs besides: sums, and those of blocks on their way to be added up.
void add_adjoint_costs(const Summed& of, const PackedProblem& packed, DeviceCosts& costs);

/// Rows whose conjugate adjoints are on the device; `d_out` of the rows is not used.
struct AdjointRows {
  DirectRows rows;
  const Complex<double>* d_adjoint = nullptr;  ///< [row][component][channel of the range]
  std::size_t row_stride = 0;                  ///< numbers
  DeviceSideRows sides[2];                     ///< left and right, where the adjoint goes by sides
};

class AdjointSums {
 public:
  /// `chunk_sources`: sources per launch.
  AdjointSums(DeviceSky<double>& sky, SourceWish wish, std::size_t chunk_sources)
      : sky_(sky),
        of_(sky.summed()),
        wish_(wish),
        chunk_sources_(chunk_sources),
        sums_(zero_adjoints(of_.sky, wish, of_.jones.targets)) {}

  /// Queues the work on some rows.
  void add(const AdjointRows& rows);
  /// Waits for everything, and gives the derivatives.
  const SourceAdjoints& finish();

 private:
  using Handle = memory::ResidentArrays::Handle;
  /// Sums of a range of sources: those that do not vary along channels, those that do, and those of sides, of a range
  /// of channels.
  struct Totals {
    ProductRange range;
    std::int32_t n_sum = 0;
    bool weights = false, shapes = false;
    Handle sums, channel_sums, sides[2];
    bool any = false;
  };
  memory::ResidentArrays& arrays() const { return sky_.context().arrays(); }
  AdjointJob job_of(const AdjointRows& rows, std::size_t begin, std::size_t end) const;
  Totals& totals_of(const AdjointJob& job, std::size_t begin);
  void pull(AdjointJob job, Totals& totals);
  void pull_side(AdjointJob job, const DeviceSideRows& rows, bool right, Totals& totals);
  void collect(const Totals& totals);

  DeviceSky<double>& sky_;
  const Summed& of_;
  SourceWish wish_;
  std::size_t chunk_sources_;
  SourceAdjoints sums_;
  std::map<std::pair<std::size_t, std::int32_t>, Totals> totals_;  // by first source and first channel
};

}  // namespace rimetree::psv::device
