// Which method and which of its variants computes rows on a device: the cheapest by a model of its arithmetic, with
// rates that depend on the device's name or architecture only, so that the same input takes the same method and gives
// the same bits on every run. Copies are the same for all methods. What `rimetree bench tune` has measured on a device
// takes the place of the model's efficiencies (tuning.h).
#pragma once

#include <string>

#include "nodes/psv/matrix/plan.h"
#include "nodes/psv/planner/tuning.h"
#include "runtime/device/device_rates.h"

namespace rimetree::psv::planner {

/// The shape of a problem, as far as costs depend on it.
struct DeviceWork {
  double n_source = 0, n_row = 0, n_channel = 0;
  int n_plane = 1;       ///< 1, 2, 4, or 8 for the parts of four correlations
  double one_plane = 0;  ///< part of the sources that are unpolarised: the direct sum leaves out the other planes
  double rows_per_antenna = 0;  ///< where the direct sum makes phasors of rows from those of antennas; else 0
  bool jones = false, jones_vary = false;
  bool smear_time = false, regular = true;
  bool single = false;
};

/// Multiply-adds of one kind and of another that follow each other; seconds at the device's rates.
double direct_seconds(const DeviceWork& work, const DeviceRates& rates);
/// 0 where the device has no such unit.
double matrix_seconds(const DeviceWork& work, const MatrixPlan& plan, const MatrixVariant& variant,
                      const DeviceRates& rates);

struct DeviceMethodChoice {
  bool is_matrix = false;
  MatrixVariant variant;
  std::string reason;  ///< what was chosen, and why not the other
};
DeviceMethodChoice choose_on_device(const DeviceWork& work, const MatrixPlan& plan, const DeviceRates& rates,
                                    const DeviceTuning& tuning);

}  // namespace rimetree::psv::planner
