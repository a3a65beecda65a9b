// A file of any size, read where it is needed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace rimetree::correlator {

/// A file as memory, read only. It must not become shorter while it is open.
class MappedFile {
 public:
  /// Throws Error naming the file where it cannot be read.
  explicit MappedFile(const std::string& path);
  ~MappedFile();
  MappedFile(const MappedFile&) = delete;
  MappedFile& operator=(const MappedFile&) = delete;

  const std::uint8_t* bytes() const { return bytes_; }
  std::size_t size() const { return size_; }

 private:
  const std::uint8_t* bytes_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace rimetree::correlator
