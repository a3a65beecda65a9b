// Memory of the emulated devices, from stream-ordered pools.
#pragma once

#include <cstddef>
#include <map>
#include <vector>

namespace rimetree::emulation {

class Stream;

/// Stands for all devices' global memory. Stricter than CUDA: the host faults when it touches it; what is new or freed
/// is all NaN (every bit set); what a stream frees is used again at once, by that stream's next allocation of the size;
/// writing past the end of an allocation stops the program when that is freed.
class DeviceMemory {
 public:
  static DeviceMemory& instance();

  /// While one of these lives, what runs is the device and may touch its memory.
  class Open {
   public:
    Open();
    ~Open();
    Open(const Open&) = delete;
    Open& operator=(const Open&) = delete;
  };

  /// Null where the device has too little left.
  void* allocate(const Stream& stream, std::size_t bytes);
  /// False if nothing alive begins there. It is given back when the stream gets there.
  bool free(Stream& stream, void* data);

  /// Whether this is an address of a device.
  bool contains(const void* data) const;
  /// Whether all of these bytes belong to one array that is alive.
  bool is_alive(const void* data, std::size_t bytes) const;
  std::size_t used(int device) const;

 private:
  struct Block {
    std::size_t bytes;  ///< that were asked for
    std::size_t size;   ///< that it takes, without its guard
    int device;
    bool is_alive;
    const Stream* freed_by;  ///< which may have it again though that stream has not come to freeing it
    long use;                ///< counts who had it
  };

  DeviceMemory();
  void protect(bool open);
  /// What freeing does when its stream comes to it.
  void settle(std::size_t offset, std::size_t bytes, long use);

  char* base_;
  std::size_t top_ = 0;  ///< in use up to here
  int open_ = 0;
  std::map<std::size_t, Block> blocks_;                                   ///< by offset
  std::map<std::pair<int, std::size_t>, std::vector<std::size_t>> idle_;  ///< offsets by device and size
  std::map<int, std::size_t> used_;
};

}  // namespace rimetree::emulation
