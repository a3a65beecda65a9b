// A mark that this program writes to a table, for when casacore's own lock cannot be had because others read.
#pragma once

#include <string>

namespace rimetree::ms {

/// Which other process holds a lock on a table, to read or to write; the process is 0 where that is not known.
struct LockHolder {
  bool reads = false, writes = false;
  int process = 0;
};
LockHolder lock_holder(const std::string& table_path);

/// Holds, on the file table.lock of a table: a shared lock where casacore puts its own, so that no other program can
/// write meanwhile, and an exclusive one beyond the end of the file, so that two runs of this program exclude each
/// other. Both belong to the open file, and so to nobody else in this process.
class WriterMark {
 public:
  WriterMark() = default;
  ~WriterMark();
  WriterMark(const WriterMark&) = delete;
  WriterMark& operator=(const WriterMark&) = delete;

  /// False where another program writes, or the file cannot be locked.
  bool take(const std::string& table_path);

 private:
  int file_ = -1;
};

}  // namespace rimetree::ms
