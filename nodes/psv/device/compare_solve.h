// A model that is compared with data on devices. Data, weights and rows stay there in one version; the model's sky goes
// up as far as it has changed; chi-square and its derivatives with respect to the sky come down, and nothing else.
#pragma once

#include <functional>

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/pipeline/pipeline.h"

namespace rimetree::psv::device {
using namespace adjoint;
using namespace pipeline;

/// A sum that is part of the model. All terms have the same channels, and rows of the same visibilities in the same
/// order.
struct ComparedTerm : Summed {
  SourceWish wish;
};

/// What the model is compared with: the rows of the terms, all channels.
struct ComparedData {
  std::uint64_t version = 0;  ///< of data, weights and rows: what is on a device in this version is not copied again
  /// Writes data and weights of some rows and channels, [row][XX XY YX YY][channel]; weight 0 where there is no datum.
  std::function<void(std::size_t first_row, std::size_t n_row, std::size_t first_channel, std::size_t n_channel,
                     Complex<double>* data, double* weight)>
      write;
};

struct ComparisonResult {
  double chi_square = 0, lost = 0;      ///< sum w |data - model|^2, and what rounding took from it
  std::vector<SourceAdjoints> adjoint;  ///< of `slope` times that, by term
  std::string report;                   ///< what was done
};

/// The model is computed to `tolerance` of the total flux, derivatives in double precision. Where memory is short it
/// cuts smaller chunks; throws memory::OutOfMemory where not even the smallest fits, and Cancelled. Same input, devices
/// and budget: same bits.
ComparisonResult compare_on_devices(std::span<const ComparedTerm> terms, const ComparedData& data, double slope,
                                    double tolerance, const Machine& machine);

}  // namespace rimetree::psv::device
