#include "runtime/ms/tables/writer_mark.h"

#include <fcntl.h>
#include <unistd.h>

namespace rimetree::ms {
namespace {

constexpr off_t kBeyond = off_t{1} << 30;

/// A lock on one byte; casacore locks the first one.
struct flock on_byte(short type, off_t at) {
  struct flock lock {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = at;
  lock.l_len = 1;
  return lock;
}

bool lock_byte(int file, short type, off_t at) {
  struct flock lock = on_byte(type, at);
  return ::fcntl(file, F_OFD_SETLK, &lock) == 0;
}

}  // namespace

LockHolder lock_holder(const std::string& table_path) {
  LockHolder holder;
  const int file = ::open((table_path + "/table.lock").c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return holder;
  struct flock lock = on_byte(F_WRLCK, 0);
  if (::fcntl(file, F_GETLK, &lock) == 0) {
    holder.reads = lock.l_type == F_RDLCK;
    holder.writes = lock.l_type == F_WRLCK;
    holder.process = lock.l_type != F_UNLCK && lock.l_pid > 0 ? lock.l_pid : 0;
  }
  ::close(file);
  return holder;
}

WriterMark::~WriterMark() {
  if (file_ >= 0) ::close(file_);
}

bool WriterMark::take(const std::string& table_path) {
  file_ = ::open((table_path + "/table.lock").c_str(), O_RDWR | O_CLOEXEC);
  return file_ >= 0 && lock_byte(file_, F_RDLCK, 0) && lock_byte(file_, F_WRLCK, kBeyond);
}

}  // namespace rimetree::ms
