// An open Measurement Set (version 2): its metadata and which columns it has. Reading, writing and inspecting are in
// tile_reader.h, tile_writer.h and inspect.h.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "runtime/core/threads/cancellation.h"
#include "runtime/ms/set/left_out.h"
#include "runtime/ms/set/row_index.h"
#include "runtime/ms/set/spare_arrays.h"
#include "runtime/ms/tables/casacore_table.h"
#include "runtime/ms/tables/error.h"
#include "runtime/ms/tables/metadata.h"

namespace rimetree::ms {

/// Opened read-only, or for update (then locked against other writers until destroyed). Move-only; may be used from
/// several threads. Throws MsError if the path does not exist, is no Measurement Set, lacks a table or column that
/// every Measurement Set has, or cannot be written.
class MeasurementSet {
 public:
  explicit MeasurementSet(const std::string& path, Access access = Access::kRead);

  const std::string& path() const { return table_.path(); }
  bool writable() const { return access_ == Access::kUpdate; }
  std::int64_t n_row() const { return table_.n_row(); }
  /// What each row is: read when it is first asked for, and held as long as the set is open or anybody has it.
  std::shared_ptr<const RowIndex> rows() const;
  /// The rows as in_one_order() makes them (one_order.h).
  std::shared_ptr<const RowIndex> rows_in_one_order() const;
  const Metadata& metadata() const { return metadata_; }

  /// Channels and correlations of rows with this DATA_DESC_ID. Throws MsError if there is no such id.
  CellShape cell_shape(int data_desc_id) const;
  const SpectralWindow& spectral_window(int data_desc_id) const;
  const Polarization& polarization(int data_desc_id) const;

  bool has_column(const std::string& name) const { return table_.has_column(name); }
  /// Columns that hold visibilities: complex arrays, in the order of the table.
  std::vector<std::string> visibility_columns() const;
  /// Throws MsError unless `name` is a column of complex visibilities; lists those that are.
  void require_visibilities(const std::string& name) const;

  /// Memory of tiles of this set.
  SpareArrays& spare_arrays() const { return *spare_arrays_; }
  /// What readers of this set count as flagged.
  LeftOut& left_out() const { return *left_out_; }

  /// The main table, for the other files of runtime/ms.
  const CasacoreTable& table() const { return table_; }
  CasacoreTable& table() { return table_; }

 private:
  const DataDescription& data_description(int data_desc_id) const;

  Access access_;
  CasacoreTable table_;
  Metadata metadata_;
  struct HeldRows {
    std::mutex mutex;
    std::shared_ptr<const RowIndex> index, in_one_order;
  };
  std::unique_ptr<HeldRows> rows_ = std::make_unique<HeldRows>();
  std::shared_ptr<SpareArrays> spare_arrays_ = SpareArrays::create();
  std::unique_ptr<LeftOut> left_out_ = std::make_unique<LeftOut>();
};

/// Opens for update; where another program writes, tries again for so long. Throws SetLocked if that does not end, and
/// Cancelled.
std::shared_ptr<MeasurementSet> open_for_writing(const std::string& path, double wait_s = 0,
                                                 Cancellation* cancellation = nullptr);

}  // namespace rimetree::ms
