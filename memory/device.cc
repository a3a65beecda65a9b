#include "memory/device.h"

namespace rimetree::memory {

OutOfMemory::OutOfMemory(const std::string& device, std::size_t bytes)
    : message_("out of memory on " + device + ": " + std::to_string(bytes) +
               " bytes were asked for; lower the memory budget or evaluate fewer time slots at once") {}

}  // namespace rimetree::memory
