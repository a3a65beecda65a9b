#include "runtime/ms/tables/casacore_place.h"

#include <casacore/casa/OS/Path.h>
#include <casacore/tables/Tables/PlainTable.h>
#include <casacore/tables/Tables/TableCache.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <vector>

namespace rimetree::ms {
namespace {

/// All that there are.
std::vector<TablePlace*>& places() {
  static auto* const all = new std::vector<TablePlace*>;  // outlives whatever is closed when the process ends
  return *all;
}

std::string name_of(const std::string& path) {
  std::string name = casacore::Path(path).absoluteName();
  while (name.size() > 1 && name.back() == '/') name.pop_back();
  return name;
}

}  // namespace

TablePlace::TablePlace(const std::string& path, const casacore::Table* table)
    : name_(name_of(path)), table_(table), folder_(::open(name_.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC)) {
  for (TablePlace* other : places())
    if (other->name_ == name_ && other->is_replaced()) other->leave();
  places().push_back(this);
}

TablePlace::~TablePlace() {
  places().erase(std::find(places().begin(), places().end(), this));
  if (folder_ >= 0) ::close(folder_);
}

bool TablePlace::is_replaced() const {
  struct stat mine = {}, named = {};
  if (folder_ < 0 || ::fstat(folder_, &mine) != 0) return false;
  if (::stat(name_.c_str(), &named) != 0) return errno == ENOENT || errno == ENOTDIR;
  return mine.st_dev != named.st_dev || mine.st_ino != named.st_ino;
}

void TablePlace::leave() {
  if (left_) return;
  left_ = true;
  new casacore::Table(*table_);
  casacore::PlainTable::tableCache().remove(name_);
}

}  // namespace rimetree::ms
