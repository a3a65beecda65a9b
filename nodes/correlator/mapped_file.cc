#include "nodes/correlator/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "runtime/core/error.h"

namespace rimetree::correlator {

MappedFile::MappedFile(const std::string& path) {
  const auto fail = [&path](int file) {
    const std::string reason = std::strerror(errno);
    if (file >= 0) close(file);
    throw Error("cannot read \"" + path + "\": " + reason);
  };
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) fail(file);
  struct stat status {};
  if (fstat(file, &status) != 0) fail(file);
  if (!S_ISREG(status.st_mode)) {
    close(file);
    throw Error("cannot read \"" + path + "\": it is no regular file");
  }
  size_ = static_cast<std::size_t>(status.st_size);
  if (size_ > 0) {
    void* memory = mmap(nullptr, size_, PROT_READ, MAP_SHARED, file, 0);
    if (memory == MAP_FAILED) fail(file);
    bytes_ = static_cast<const std::uint8_t*>(memory);
  }
  close(file);
}

MappedFile::~MappedFile() {
  if (bytes_ != nullptr) munmap(const_cast<std::uint8_t*>(bytes_), size_);
}

}  // namespace rimetree::correlator
