// A small text file inside a Measurement Set that says how far the writing of a column has come. It exists from before
// the first change until the column is complete, so that whoever finds it knows that a run was interrupted, and when.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rimetree::ms {

/// Until when the rows of one data description and field are complete.
struct CompleteUntil {
  int data_desc_id = 0;
  int field_id = 0;
  double time_s = 0;  ///< centre of the last time slot written and flushed, MJD in seconds
};

/// What one journal says.
struct Progress {
  std::string column;
  bool creating = false;  ///< the column was being created: its cells may be undefined
  std::string started;    ///< UTC, ISO 8601
  std::int64_t rows_written = 0;
  std::int64_t rows_expected = 0;       ///< 0 if the writer was not told
  std::vector<CompleteUntil> complete;  ///< by data description and field; absent: nothing written there
};

/// Path of the journal of `column`.
std::string progress_path(const std::string& ms_path, const std::string& column);

/// Replaces the journal so that readers see the old one or the new one, even after a loss of power. Throws MsError.
void store_progress(const std::string& ms_path, const Progress& progress);

/// Removes the journal of `column` if there is one.
void remove_progress(const std::string& ms_path, const std::string& column);

/// Removes what notes say of solutions that were applied to `column` in place, if there are any: it gets other values.
void remove_applied_notes(const std::string& ms_path, const std::string& column);

/// All journals in a Measurement Set, by column; unreadable ones are reported with rows_expected = -1.
std::vector<Progress> read_progress(const std::string& ms_path);

/// One sentence for a person: how much of which column was written, and up to when.
std::string describe(const Progress& progress);

/// "2026-01-31T23:59:59.5" of MJD seconds.
std::string utc_text(double mjd_s);

}  // namespace rimetree::ms
