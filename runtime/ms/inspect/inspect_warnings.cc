#include <algorithm>
#include <cmath>
#include <cstdio>
#include <utility>

#include "runtime/ms/inspect/inspect_parts.h"

namespace rimetree::ms {
namespace {

std::string number(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", value);
  return text;
}

std::string degrees(double rad) { return number(rad * 57.29577951308232) + " deg"; }

/// The first names of many, and how many there are.
std::string some_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 12;
  std::string text;
  for (std::size_t i = 0; i < std::min(kMost, names.size()); ++i) text += (i == 0 ? "" : " ") + names[i];
  return names.size() <= kMost ? text : text + " ... (" + std::to_string(names.size()) + " in all)";
}

/// Never 0 of what is there.
std::string percent(double fraction) { return number(100 * fraction) + " %"; }

void warn_about_times(const MsSummary& summary, std::vector<std::string>* warnings) {
  if (summary.n_row == 0) {
    warnings->push_back("there are no rows");
    return;
  }
  if (!summary.time_reference.empty() && summary.time_reference != "UTC") {
    warnings->push_back("TIME is in " + summary.time_reference +
                        ", and is taken for UTC: what follows from how the Earth turns, as parallactic angles, is off");
  }
  const double longest_s = summary.exposures_s.empty() ? 0 : summary.exposures_s.back();
  if (summary.n_exposure_not_finite > 0) {
    warnings->push_back(std::to_string(summary.n_exposure_not_finite) +
                        " rows have an EXPOSURE that is not a number: nothing can be predicted for them");
  }
  const double shortest_s = summary.exposures_s.empty() ? 1 : summary.exposures_s.front();
  if (shortest_s <= 0 && longest_s <= 0) {
    warnings->push_back(std::string("EXPOSURE is ") + (shortest_s < 0 ? "negative" : "zero") +
                        " everywhere: time smearing cannot be computed from it");
  } else if (shortest_s <= 0) {
    warnings->push_back("EXPOSURE is zero or negative in some rows: they are not smeared in time");
  }
  if (longest_s > 0 && summary.spacing_s > 5 * longest_s) {
    warnings->push_back("EXPOSURE (at most " + number(longest_s) + " s) is much less than the spacing of times (" +
                        number(summary.spacing_s) + " s): time smearing computed from it may be too small");
  }
  if (longest_s > 0 && summary.spacing_s > 0 && longest_s > 1.01 * summary.spacing_s &&
      summary.exposures_s.size() == 1) {
    warnings->push_back("EXPOSURE (" + number(longest_s) + " s) is more than the spacing of times (" +
                        number(summary.spacing_s) + " s)");
  }
  const bool differ = summary.exposures_s.size() != summary.intervals_s.size() ||
                      !std::equal(summary.exposures_s.begin(), summary.exposures_s.end(), summary.intervals_s.begin(),
                                  [](double a, double b) { return std::abs(a - b) <= 1e-3 * std::abs(a); });
  if (differ && longest_s > 0 && !summary.intervals_s.empty()) {
    warnings->push_back("EXPOSURE and INTERVAL differ (" + number(summary.exposures_s.front()) + " to " +
                        number(longest_s) + " s against " + number(summary.intervals_s.front()) + " to " +
                        number(summary.intervals_s.back()) + " s): EXPOSURE is used");
  }
  if (summary.exposures_s.size() > 1 && longest_s > 0) {
    warnings->push_back("rows have different EXPOSURE, " + number(summary.exposures_s.front()) + " to " +
                        number(longest_s) + " s (baseline-dependent averaging?)");
  }
  if (summary.unsorted) warnings->push_back("rows are not in the order of TIME: reading is slower");
}

void warn_about_rows(const MsSummary& summary, std::vector<std::string>* warnings) {
  std::int64_t missing = 0, duplicate = 0, swapped = 0;
  for (const GroupSummary& group : summary.groups) {
    swapped += group.n_swapped;
    missing += group.n_missing;
    duplicate += group.n_duplicate;
  }
  if (missing > 0) {
    warnings->push_back(std::to_string(missing) + " rows are missing: not every baseline is there at every time");
  }
  if (swapped > 0) {
    warnings->push_back(std::to_string(swapped) + " rows have their antennas the other way round than other rows of " +
                        "the same baseline: calibrate takes the two orders as one baseline, unless both are there at " +
                        "one time; all else takes them as two, each with its UVW as stored");
  }
  if (duplicate > 0) {
    warnings->push_back(std::to_string(duplicate) + " rows repeat a baseline at the same time (sub-arrays, several " +
                        "receivers?): they are read in tiles of their own");
  }
  std::vector<std::string> absent, unplaced, lost, flagged;
  int without_position = 0;
  for (std::size_t id = 0; id < summary.metadata.antennas.size(); ++id) {
    const Antenna& antenna = summary.metadata.antennas[id];
    const std::string name = antenna.name + " (" + std::to_string(id) + ")";
    const bool used = id < summary.rows_of_antenna.size() && summary.rows_of_antenna[id] > 0;
    if (!antenna.has_finite_position()) lost.push_back(name);
    if (!used) absent.push_back(name);
    if (used && antenna.is_at_zero()) unplaced.push_back(name);
    if (used && antenna.flagged) flagged.push_back(name);
    without_position += antenna.is_at_zero();
  }
  if (!absent.empty()) warnings->push_back("antennas without data: " + some_of(absent));
  if (!lost.empty()) warnings->push_back("antennas whose position is not a number: " + some_of(lost));
  if (without_position > 0) warnings->push_back(std::to_string(without_position) + " antennas are at position 0");
  if (!flagged.empty()) {
    warnings->push_back("antennas with data of which FLAG_ROW of table ANTENNA says that they are flagged: " +
                        some_of(flagged) + "; of their data those count as flagged of which FLAG or FLAG_ROW says so");
  }
  if (!unplaced.empty()) warnings->push_back("antennas with data but at position 0: " + some_of(unplaced));
}

/// Visibilities are those of the feeds that the correlations name: what FEED says of single antennas is not looked at.
void warn_about_feeds(const MsSummary& summary, std::vector<std::string>* warnings) {
  constexpr int kFirstCircular = 5, kFirstLinear = 9, kLastLinear = 12;  // casacore's numbers of RR and XX to YY
  bool circular = false, linear = false;
  for (const Polarization& one : summary.metadata.polarizations)
    for (const int type : one.correlation_type) {
      circular |= type >= kFirstCircular && type < kFirstLinear;
      linear |= type >= kFirstLinear && type <= kLastLinear;
    }
  if (circular == linear) return;
  const std::string usual = circular ? "R L" : "X Y";
  std::vector<std::string> others;
  for (std::size_t id = 0; id < summary.feeds.size(); ++id) {
    const std::string& feeds = summary.feeds[id];
    const bool used = id < summary.rows_of_antenna.size() && summary.rows_of_antenna[id] > 0;
    if (!used || feeds.empty() || usual.find(feeds) != std::string::npos) continue;
    others.push_back(summary.metadata.antennas[id].name + " (" + std::to_string(id) + ", " + feeds + ")");
  }
  if (others.empty()) return;
  warnings->push_back("FEED says that antennas have other feeds than " + usual + ", as the correlations have: " +
                      some_of(others) + "; they are predicted and solved for as if they had those of the " +
                      "correlations, of which a full matrix can make theirs");
}

/// Those that rows are of are an error before.
void warn_about_data_descriptions(const MsSummary& summary, std::vector<std::string>* warnings) {
  for (const DataDescription& description : summary.metadata.data_descriptions) {
    if (description.problem.empty()) continue;
    warnings->push_back(description.problem + "; no row of the set is of it, and it is passed over");
  }
}

std::vector<std::string> channel_warnings(const ChannelSummary& channels) {
  std::vector<std::string> found;
  if (channels.n_no_frequency > 0) {
    found.push_back(std::to_string(channels.n_no_frequency) +
                    " channels have no positive frequency in CHAN_FREQ: nothing can be done with them");
  }
  if (channels.n_no_width > 0) {
    found.push_back(std::to_string(channels.n_no_width) +
                    " channels have a CHAN_WIDTH that is not a number: nothing can be done with them");
  }
  if (channels.order == "descending") found.push_back("channels descend in frequency");
  if (channels.order == "irregular") found.push_back("channels are in no order of frequency");
  if (channels.order != "irregular" && !channels.regular) found.push_back("channels are not equally spaced");
  if (channels.gaps > 0) found.push_back(std::to_string(channels.gaps) + " gaps between channels");
  if (!channels.equal_widths) found.push_back("channels have different widths");
  if (channels.negative_width) found.push_back("CHAN_WIDTH is negative: its magnitude is used");
  if (channels.order.empty()) return found;
  if (channels.width_hz == 0) {
    found.push_back("CHAN_WIDTH is zero: bandwidth smearing cannot be computed from it");
  } else if (std::abs(channels.width_hz - channels.spacing_hz) > 0.01 * channels.spacing_hz) {
    found.push_back("CHAN_WIDTH (" + number(channels.width_hz) + " Hz) differs from the spacing (" +
                    number(channels.spacing_hz) + " Hz): smearing uses the width");
  }
  return found;
}

/// One warning for all windows of which the same is to be said.
void warn_about_channels(const MsSummary& summary, std::vector<std::string>* warnings) {
  std::vector<std::pair<std::string, std::vector<std::string>>> windows_of;
  for (std::size_t id = 0; id < summary.channels.size(); ++id) {
    for (const std::string& warning : channel_warnings(summary.channels[id])) {
      auto at =
          std::find_if(windows_of.begin(), windows_of.end(), [&](const auto& one) { return one.first == warning; });
      if (at == windows_of.end()) at = windows_of.insert(at, {warning, {}});
      at->second.push_back(std::to_string(id));
    }
  }
  for (const auto& [warning, ids] : windows_of) {
    warnings->push_back("spectral window" + std::string(ids.size() > 1 ? "s " : " ") + some_of(ids) + ": " + warning);
  }
}

void warn_about_uvw(const MsSummary& summary, std::vector<std::string>* warnings) {
  const UvwReport& uvw = summary.uvw;
  if (uvw.family == "unknown" && summary.n_row > 0) {
    warnings->push_back("the sign of UVW is unknown" + (uvw.reason.empty() ? "" : ": " + uvw.reason));
  }
  if (summary.n_uvw_not_finite > 0) {
    warnings->push_back(std::to_string(summary.n_uvw_not_finite) +
                        " rows have UVW that are not finite: nothing can be " + "predicted for them");
  }
  if (uvw.closure_tested && !uvw.decomposable) {
    warnings->push_back("UVW are not differences of one vector per antenna (loops of baselines miss by up to " +
                        number(uvw.misclosure_m) + " m): they are used per baseline");
  }
}

std::string place(double ra_rad, double dec_rad) { return "RA " + degrees(ra_rad) + ", Dec " + degrees(dec_rad); }

/// Whether the phase centres are where the table says, and in a frame that is known.
std::vector<FieldWarning> field_warnings(const MsSummary& summary) {
  std::vector<FieldWarning> warnings;
  const std::vector<Field>& fields = summary.metadata.fields;
  for (std::size_t id = 0; id < fields.size(); ++id) {
    const Field& field = fields[id];
    const std::string which = "field " + field.name + ": the phase centre is ";
    if (!field.frame.empty() && field.frame.back() == '?') {
      const std::string frame = field.frame.substr(0, field.frame.size() - 1);
      warnings.push_back({static_cast<int>(id), which + "given in the frame " + frame +
                                                    " and was not converted to J2000: it counts as J2000"});
    }
    if (!std::isfinite(field.ra_rad + field.dec_rad)) {
      warnings.push_back({static_cast<int>(id), which + "not a number: nothing can be predicted for it"});
    }
  }
  for (const UvwDirection& direction : summary.uvw.directions) {
    const Field& field = fields[direction.field_id];
    const std::string which = "UVW of field " + std::to_string(direction.field_id) + " (" + field.name + ") ";
    if (direction.points_elsewhere) {
      warnings.push_back({direction.field_id, which + "point at " + place(direction.ra_rad, direction.dec_rad) + ", " +
                                                  degrees(direction.offset_rad) +
                                                  " from the phase centre that FIELD names (" +
                                                  place(field.ra_rad, field.dec_rad) + ")"});
    } else if (direction.field_residual > 0.02) {
      warnings.push_back({direction.field_id, which + "differ by " + number(100 * direction.field_residual) +
                                                  " % from what the antenna positions predict"});
    }
  }
  return warnings;
}

void warn_about_antennas(const MsSummary& summary, std::vector<std::string>* warnings) {
  std::vector<std::string> useless, dead, lost;
  for (std::size_t id = 0; id < summary.antenna_cells.size(); ++id) {
    const AntennaCells& cells = summary.antenna_cells[id];
    const std::string name = summary.metadata.antennas[id].name + " (" + std::to_string(id) + ")";
    if (cells.all > 0 && cells.usable == 0) useless.push_back(name);
    if (cells.dead) dead.push_back(name);
    if (cells.no_numbers) lost.push_back(name);
  }
  if (!useless.empty() && summary.usable_fraction > 0) {
    warnings->push_back("antennas of which everything is flagged or without weight: " + some_of(useless));
  }
  if (!lost.empty()) {
    warnings->push_back("antennas of which no unflagged value is finite: " + some_of(lost));
  }
  if (!dead.empty()) {
    warnings->push_back("antennas that look dead (unflagged, but less than a thousandth of the usual amplitude): " +
                        some_of(dead));
  }
}

void warn_about_cells(const MsSummary& summary, std::vector<std::string>* warnings) {
  if (summary.cells_scanned && summary.n_row > 0) {
    if (summary.flagged_fraction == 1) {
      warnings->push_back("every visibility is flagged");
    } else if (summary.usable_fraction == 0) {
      warnings->push_back("every visibility is flagged or has zero weight");
    }
    const auto weights = [&](double fraction, const std::string& what) {
      if (fraction > 0) {
        warnings->push_back(percent(fraction) + " of the visibilities have " + what + " in " + summary.weight_column);
      }
    };
    weights(summary.zero_weight_fraction, "zero weight");
    weights(summary.negative_weight_fraction, "negative weight (they are not used)");
    weights(summary.not_finite_weight_fraction, "a weight that is not a number (they are not used)");
    warn_about_antennas(summary, warnings);
  }
  for (const ColumnSummary& column : summary.columns) {
    if (column.n_not_finite > 0) {
      const double looked_at = static_cast<double>(column.n_looked_at);
      warnings->push_back(percent(static_cast<double>(column.n_not_finite) / looked_at) + " of the values in " +
                          column.name + " are not finite (NaN or infinite); " +
                          percent(static_cast<double>(column.n_usable_not_finite) / looked_at) +
                          " without being flagged");
    }
    if (column.shape.empty() && summary.n_row > 0) {
      warnings->push_back("column " + column.name + " exists but holds nothing in row 0");
    }
  }
  if (summary.columns.empty()) warnings->push_back("there is no column of complex visibilities");
  for (const Progress& progress : summary.progress) warnings->push_back(describe(progress));
}

}  // namespace

void add_warnings(MsSummary* summary) {
  const bool rows = summary->rows_problem.empty();  // else nothing is known of them
  if (rows) warn_about_times(*summary, &summary->warnings);
  if (rows) warn_about_rows(*summary, &summary->warnings);
  if (rows) warn_about_feeds(*summary, &summary->warnings);
  if (rows) warn_about_data_descriptions(*summary, &summary->warnings);
  warn_about_channels(*summary, &summary->warnings);
  summary->field_warnings = field_warnings(*summary);
  for (const FieldWarning& warning : summary->field_warnings) summary->warnings.push_back(warning.text);
  if (rows) warn_about_uvw(*summary, &summary->warnings);
  warn_about_cells(*summary, &summary->warnings);
}

}  // namespace rimetree::ms
