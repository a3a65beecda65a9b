// The adjoint of the direct sum on devices, from adjoints of visibilities that are on the host: these go up with their
// rows, in chunks, and the derivatives with respect to the sky come down.
#pragma once

#include "nodes/psv/adjoint/adjoint.h"
#include "nodes/psv/pipeline/pipeline.h"

namespace rimetree::psv::device {
using namespace adjoint;
using namespace pipeline;

struct DeviceAdjoints {
  SourceAdjoints sums;
  std::string report;  ///< what was done
};

/// What pull_back_rows() gives. Where memory is short it cuts smaller chunks; throws memory::OutOfMemory where not even
/// the smallest fits, and Cancelled. It is done in double precision. Same input, devices and budget: same bits.
DeviceAdjoints pull_back_on_devices(const Summed& of, const ResultAdjoints& adjoints, SourceWish wish,
                                    const Machine& machine);

}  // namespace rimetree::psv::device
