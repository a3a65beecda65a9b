// What the adjoint of the direct sum collects on a device: derivatives of a real number with respect to what a sky
// holds, from conjugate adjoints of visibilities that are there. They stay on the device until all rows have passed.
#pragma once

#include <map>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/device/adjoint_job.h"
#include "nodes/psv/device/direct_launch.h"

namespace rimetree::psv {

/// Whether the kernel takes a problem: Jones terms and the brightness behind them must not vary along channels.
bool has_device_adjoint(const PackedProblem& packed);

/// Adds to costs what the adjoint needs besides: sums, and those of blocks on their way to be added up.
void add_adjoint_costs(const DeviceProblem& problem, const PackedProblem& packed, DeviceCosts& costs);

class AdjointSums {
 public:
  /// `chunk_sources`: sources per launch; `keep`: all of them are on the device at a time, and so are their sums.
  AdjointSums(const DeviceProblem& problem, const PackedProblem& packed, SourceWish wish, DeviceSky<double>& sky,
              DeviceContext& context, std::size_t chunk_sources, bool keep)
      : p_(problem),
        packed_(packed),
        wish_(wish),
        sky_(sky),
        context_(context),
        chunk_sources_(chunk_sources),
        keep_(keep),
        sums_(zero_adjoints(problem.sky, wish)) {}

  /// Queues rows whose conjugate adjoints are on the device, [row][component][channel of the range] in rows of so many
  /// numbers; `d_out` of the rows is not used.
  void add(const DirectRows& rows, const Complex<double>* d_adjoint, std::size_t row_stride);
  /// Waits for everything, and gives the derivatives.
  const SourceAdjoints& finish();

 private:
  /// Sums of sources [begin, end), those that do not vary along channels and those that do, of a range of channels.
  struct Totals {
    std::size_t begin = 0, end = 0;
    std::int32_t n_sum = 0, first_channel = 0, n_channel = 0;
    bool weights = false, shapes = false;
    memory::ResidentArrays::Handle sums, channel_sums;
    bool any = false;
  };
  Totals& totals_of(const DeviceAdjointJob& job, std::size_t begin);
  void add_up(const memory::ResidentArrays::Handle& partial, std::int64_t n_group, std::int64_t n_value,
              const memory::ResidentArrays::Handle& total, bool accumulate);
  void collect(const Totals& totals);

  const DeviceProblem& p_;
  const PackedProblem& packed_;
  SourceWish wish_;
  DeviceSky<double>& sky_;
  DeviceContext& context_;
  std::size_t chunk_sources_;
  bool keep_;
  SourceAdjoints sums_;
  std::map<std::pair<std::size_t, std::int32_t>, Totals> totals_;  // by first source and first channel
};

}  // namespace rimetree::psv
