// The sub-tables of a new Measurement Set.
#include <casacore/measures/Measures/MDirection.h>
#include <casacore/measures/Measures/MFrequency.h>
#include <casacore/ms/MeasurementSets/MSColumns.h>
#include <casacore/ms/MeasurementSets/MeasurementSet.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "runtime/ms/tables/casacore_create.h"

namespace rimetree::ms {
namespace {

using casacore::IPosition;
using casacore::MS;

bool circular(const MsDescription& description) { return description.correlation_type.front() <= 8; }

casacore::Array<casacore::Double> vector3(double x, double y, double z) {
  casacore::Vector<casacore::Double> values(3);
  values[0] = x;
  values[1] = y;
  values[2] = z;
  return std::move(values);
}

void fill_antennas(MS& set, const MsDescription& description) {
  set.antenna().addRow(description.antennas.size());
  casacore::MSAntennaColumns columns(set.antenna());
  for (std::size_t row = 0; row < description.antennas.size(); ++row) {
    const Antenna& antenna = description.antennas[row];
    columns.name().put(row, antenna.name);
    columns.station().put(row, antenna.station.empty() ? antenna.name : antenna.station);
    columns.type().put(row, "GROUND-BASED");
    columns.mount().put(row, antenna.mount.empty() ? "ALT-AZ" : antenna.mount);
    columns.position().put(row, vector3(antenna.position_m[0], antenna.position_m[1], antenna.position_m[2]));
    columns.offset().put(row, vector3(0, 0, 0));
    columns.dishDiameter().put(row, antenna.diameter_m);
    columns.flagRow().put(row, false);
  }
}

void fill_feeds(MS& set, const MsDescription& description) {
  set.feed().addRow(description.antennas.size());
  casacore::MSFeedColumns columns(set.feed());
  casacore::Vector<casacore::String> types(2);
  types[0] = circular(description) ? "R" : "X";
  types[1] = circular(description) ? "L" : "Y";
  casacore::Matrix<casacore::Complex> response(2, 2, casacore::Complex(0));
  response.diagonal() = casacore::Complex(1);
  for (std::size_t row = 0; row < description.antennas.size(); ++row) {
    columns.antennaId().put(row, static_cast<int>(row));
    columns.feedId().put(row, 0);
    columns.spectralWindowId().put(row, -1);  // all
    columns.time().put(row, 0.5 * (description.time_s.front() + description.time_s.back()));
    columns.interval().put(row, 1e30);  // always
    columns.numReceptors().put(row, 2);
    columns.beamId().put(row, -1);
    columns.beamOffset().put(row, casacore::Matrix<casacore::Double>(2, 2, 0.0));
    columns.polarizationType().put(row, types);
    columns.polResponse().put(row, response);
    columns.position().put(row, vector3(0, 0, 0));
    columns.receptorAngle().put(row, casacore::Vector<casacore::Double>(2, 0.0));
  }
}

void fill_fields(MS& set, const MsDescription& description) {
  casacore::MSFieldColumns columns(set.field());
  const bool icrs = description.fields.front().coordinates == "ICRS";
  columns.setDirectionRef(icrs ? casacore::MDirection::ICRS : casacore::MDirection::J2000);
  set.field().addRow(description.fields.size());
  for (std::size_t row = 0; row < description.fields.size(); ++row) {
    casacore::Matrix<casacore::Double> direction(2, 1);
    direction(0, 0) = description.fields[row].ra_rad;
    direction(1, 0) = description.fields[row].dec_rad;
    columns.name().put(row, description.fields[row].name);
    columns.code().put(row, "");
    columns.time().put(row, description.time_s.front());
    columns.numPoly().put(row, 0);
    columns.delayDir().put(row, direction);
    columns.phaseDir().put(row, direction);
    columns.referenceDir().put(row, direction);
    columns.sourceId().put(row, -1);
    columns.flagRow().put(row, false);
  }
}

void fill_spectral_windows(MS& set, const MsDescription& description) {
  const std::size_t n = description.spectral_windows.size();
  set.spectralWindow().addRow(n);
  set.dataDescription().addRow(n);
  casacore::MSSpWindowColumns columns(set.spectralWindow());
  casacore::MSDataDescColumns descriptions(set.dataDescription());
  for (std::size_t row = 0; row < n; ++row) {
    const SpectralWindow& window = description.spectral_windows[row];
    const casacore::Vector<casacore::Double> frequency_hz(window.frequency_hz), width_hz(window.width_hz);
    const casacore::Vector<casacore::Double> bandwidth_hz(casacore::abs(width_hz));
    columns.numChan().put(row, static_cast<int>(window.n_channel()));
    columns.name().put(row, window.name.empty() ? "SPW" + std::to_string(row) : window.name);
    columns.refFrequency().put(row, frequency_hz[(window.n_channel() - 1) / 2]);
    columns.chanFreq().put(row, frequency_hz);
    columns.chanWidth().put(row, width_hz);
    columns.effectiveBW().put(row, bandwidth_hz);
    columns.resolution().put(row, bandwidth_hz);
    columns.totalBandwidth().put(row, casacore::sum(bandwidth_hz));
    columns.measFreqRef().put(row, casacore::MFrequency::TOPO);
    columns.netSideband().put(row, width_hz[0] < 0 ? -1 : 1);
    columns.ifConvChain().put(row, 0);
    columns.freqGroup().put(row, 0);
    columns.freqGroupName().put(row, "");
    columns.flagRow().put(row, false);
    descriptions.spectralWindowId().put(row, static_cast<int>(row));
    descriptions.polarizationId().put(row, 0);
    descriptions.flagRow().put(row, false);
  }
}

void fill_polarization(MS& set, const MsDescription& description) {
  const std::size_t n = description.correlation_type.size();
  set.polarization().addRow();
  casacore::MSPolarizationColumns columns(set.polarization());
  casacore::Matrix<casacore::Int> product(2, n);
  for (std::size_t i = 0; i < n; ++i) {
    const int index = description.correlation_type[i] - (circular(description) ? 5 : 9);  // 0 to 3: PP PQ QP QQ
    product(0, i) = index / 2;
    product(1, i) = index % 2;
  }
  columns.numCorr().put(0, static_cast<int>(n));
  columns.corrType().put(0, casacore::Vector<casacore::Int>(description.correlation_type));
  columns.corrProduct().put(0, product);
  columns.flagRow().put(0, false);
}

void fill_observation(MS& set, const MsDescription& description) {
  set.observation().addRow();
  casacore::MSObservationColumns columns(set.observation());
  casacore::Vector<casacore::Double> range(2);
  range[0] = description.time_s.front() - description.interval_s / 2;
  range[1] = description.time_s.back() + description.interval_s / 2;
  columns.telescopeName().put(0, description.telescope);
  columns.timeRange().put(0, range);
  columns.observer().put(0, description.observer);
  columns.log().put(0, casacore::Vector<casacore::String>(1, ""));
  columns.scheduleType().put(0, "");
  columns.schedule().put(0, casacore::Vector<casacore::String>(1, ""));
  columns.project().put(0, description.project);
  columns.releaseDate().put(0, range[1]);
  columns.flagRow().put(0, false);
}

void fill_state_and_processor(MS& set) {
  set.state().addRow();
  casacore::MSStateColumns state(set.state());
  state.sig().put(0, true);
  state.ref().put(0, false);
  state.cal().put(0, 0);
  state.load().put(0, 0);
  state.subScan().put(0, 0);
  state.obsMode().put(0, "OBSERVE_TARGET#ON_SOURCE");
  state.flagRow().put(0, false);
  set.processor().addRow();
  casacore::MSProcessorColumns processor(set.processor());
  processor.type().put(0, "CORRELATOR");
  processor.subType().put(0, "");
  processor.typeId().put(0, 0);
  processor.modeId().put(0, -1);
  processor.flagRow().put(0, false);
}

void fill_history(MS& set, const MsDescription& description) {
  set.history().addRow();
  casacore::MSHistoryColumns columns(set.history());
  columns.time().put(0, casacore::Time().modifiedJulianDay() * 86400.0);
  columns.observationId().put(0, 0);
  columns.message().put(0, "created by RimeTree");
  columns.priority().put(0, "NORMAL");
  columns.origin().put(0, "rimetree::ms::create");
  columns.objectId().put(0, 0);
  columns.application().put(0, "RimeTree");
  columns.cliCommand().put(0, casacore::Vector<casacore::String>(1, description.command_line));
  columns.appParams().put(0, casacore::Vector<casacore::String>(1, ""));
}

}  // namespace

void fill_subtables(MS& set, const MsDescription& description) {
  fill_antennas(set, description);
  fill_feeds(set, description);
  fill_fields(set, description);
  fill_spectral_windows(set, description);
  fill_polarization(set, description);
  fill_observation(set, description);
  fill_state_and_processor(set);
  fill_history(set, description);
}

}  // namespace rimetree::ms
