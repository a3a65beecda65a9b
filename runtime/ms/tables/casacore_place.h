// Private to the casacore_*.cc files of runtime/ms: which folder a table that is open was opened in. casacore knows the
// tables that a process has open by their names. Where a set was removed and made anew while something of the process
// still had it open, it would read the old one, and write what it had of it into the new one when that is closed.
#pragma once

#include <casacore/tables/Tables/Table.h>

#include <string>

namespace rimetree::ms {

/// The folder of one open table, which stays the same whatever the name leads to later. All under casacore_mutex().
class TablePlace {
 public:
  /// `table`: what is opened next, and lives as long as this. Tables of other folders that had the name are left to
  /// those who have them open, so that casacore opens this one.
  TablePlace(const std::string& path, const casacore::Table* table);
  ~TablePlace();
  TablePlace(const TablePlace&) = delete;
  TablePlace& operator=(const TablePlace&) = delete;

  /// Whether the name leads to another folder now, or to none.
  bool is_replaced() const;

  /// The table stays open until the process ends, as closing it would write, and casacore opens the name anew.
  void leave();

 private:
  std::string name_;
  const casacore::Table* table_;
  int folder_;  ///< while it is open no other folder can have its number
  bool left_ = false;
};

}  // namespace rimetree::ms
