// What a Measurement Set holds, and what in it bites.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/ms/inspect/uvw_check.h"
#include "runtime/ms/set/progress_journal.h"
#include "runtime/ms/tables/error.h"
#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

class MeasurementSet;

/// The channels of a spectral window.
struct ChannelSummary {
  std::string order;         ///< "single", "ascending", "descending" or "irregular" (neither)
  double lowest_hz = 0;      ///< lowest channel centre
  double highest_hz = 0;     ///< highest channel centre
  double spacing_hz = 0;     ///< median distance of neighbours, positive; the width if there is one channel
  double width_hz = 0;       ///< median |CHAN_WIDTH|
  bool regular = true;       ///< all neighbours equally far apart, to 1e-6 of the spacing
  bool equal_widths = true;  ///< to 1e-6 of the width
  bool negative_width = false;
  std::size_t gaps = 0;  ///< neighbours more than 1.5 spacings apart
  // What follows of the others leaves these out.
  std::size_t n_no_frequency = 0;  ///< channels whose CHAN_FREQ is not positive or not finite
  std::size_t n_no_width = 0;      ///< channels whose CHAN_WIDTH is not finite
};

/// Rows of one DATA_DESC_ID and FIELD_ID.
struct GroupSummary {
  int data_desc_id = 0;
  int field_id = 0;
  std::int64_t n_row = 0;
  std::int64_t n_autocorrelation = 0;
  std::int64_t n_time = 0;
  std::int64_t n_baseline = 0;         ///< pairs of antennas in either order, without autocorrelations
  std::int64_t min_rows_per_time = 0;  ///< without autocorrelations and repetitions
  std::int64_t max_rows_per_time = 0;
  std::int64_t n_missing = 0;    ///< n_baseline * n_time - rows
  std::int64_t n_duplicate = 0;  ///< rows of a baseline beyond the first in a time slot
  std::int64_t n_swapped = 0;    ///< rows whose antennas are the other way round than in most rows of their baseline
  std::string weight_column;     ///< the one that counts, WEIGHT_SPECTRUM or WEIGHT, by its first row
};

/// Why sources predicted for a field may stand in wrong places.
struct FieldWarning {
  int field_id = 0;
  std::string text;  ///< one of the summary's warnings
};

/// A column of visibilities.
struct ColumnSummary {
  std::string name;
  bool variable_shape = false;
  std::vector<std::size_t> shape{};  ///< [channel, correlation] of the first row; empty if not defined there
  // Of the values that were looked at: all, or those of some blocks of rows spread over a large column.
  std::int64_t n_looked_at = 0;
  std::int64_t n_not_finite = 0;         ///< NaN or infinite
  std::int64_t n_usable_not_finite = 0;  ///< of these, neither flagged nor without weight
  bool all_zero = false;                 ///< nothing but zeros
};

/// What the cells of the baselines of an antenna to others hold.
struct AntennaCells {
  std::int64_t all = 0;
  std::int64_t usable = 0;  ///< not flagged, of positive weight, of known UVW
  /// Mean |v|^2 of finite usable values of the parallel hands, in DATA or else the first column of visibilities; 0
  /// where there are none.
  double power = 0;
  bool dead = false;        ///< usable, but 0, or nearly all rows have less than 1e-6 of the median antenna's power
  bool no_numbers = false;  ///< usable, but none of the parallel hands is finite
};

struct MsSummary {
  std::string path;
  std::string telescope;
  std::string observer;
  Metadata metadata;
  std::vector<ChannelSummary> channels;       ///< [spectral window]
  std::vector<std::int64_t> rows_of_antenna;  ///< [antenna]
  std::vector<std::string> feeds;             ///< [antenna] receptors by FEED, "X Y" say; empty: it says nothing
  std::vector<std::int64_t> rows_of_field;    ///< [field]
  std::vector<std::int64_t> rows_of_data_description;
  std::vector<GroupSummary> groups;  ///< that have rows

  std::int64_t n_row = 0;
  std::int64_t n_time = 0;             ///< distinct time slots
  std::int64_t n_baseline = 0;         ///< distinct pairs in either order, without autocorrelations
  std::int64_t n_autocorrelation = 0;  ///< rows
  std::string time_reference;          ///< of TIME; empty: the set does not say
  double first_time_s = 0;             ///< earliest TIME, MJD in seconds
  double last_time_s = 0;              ///< latest TIME
  double spacing_s = 0;                ///< median distance of neighbouring time slots of one group; 0 if there is one
  std::vector<double> exposures_s;     ///< distinct finite values of EXPOSURE, at most 16
  std::vector<double> intervals_s;     ///< distinct values of INTERVAL, at most 16
  bool unsorted = false;               ///< TIME is not ascending
  std::int64_t n_exposure_not_finite = 0;  ///< rows
  std::string rows_problem;                ///< why rows cannot be read, so that nothing is known of them; or empty

  bool cells_scanned = false;   ///< the three fractions are of all visibilities
  double flagged_fraction = 0;  ///< FLAG or FLAG_ROW
  double zero_weight_fraction = 0;
  double usable_fraction = 0;  ///< not flagged, and of positive, finite weight
  double negative_weight_fraction = 0;
  double not_finite_weight_fraction = 0;
  std::int64_t n_flag_row = 0;              ///< rows with FLAG_ROW
  std::int64_t n_uvw_not_finite = 0;        ///< rows between different antennas
  std::vector<AntennaCells> antenna_cells;  ///< [antenna]
  std::string weight_column;                ///< the one that counts, or both: "WEIGHT_SPECTRUM or WEIGHT"

  std::vector<ColumnSummary> columns;
  UvwReport uvw;
  std::vector<Progress> progress;  ///< columns whose writing was interrupted (or is going on)
  std::vector<FieldWarning> field_warnings;
  std::vector<std::string> warnings;
};

struct InspectOptions {
  bool scan_cells = true;           ///< read all flags and weights: slow on large sets
  std::size_t uvw_time_slots = 64;  ///< of each data description and field, spread evenly, whose UVW are looked at
};

/// Throws MsError if the set cannot be opened; what is wrong inside it becomes a warning where possible.
MsSummary inspect(const std::string& path, const InspectOptions& options = {});
MsSummary inspect(const MeasurementSet& ms, const InspectOptions& options = {});

/// The order, spacing and gaps of channels; see ChannelSummary.
ChannelSummary summarise_channels(const SpectralWindow& window);

}  // namespace rimetree::ms
