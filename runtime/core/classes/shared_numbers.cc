#include "runtime/core/classes/shared_numbers.h"

#include <algorithm>

#include "memory/host_device.h"

namespace rimetree {
namespace {

/// Large arrays lie as results do, aligned and in large pages. Small ones are many.
constexpr std::size_t kLarge = std::size_t{1} << 16;

std::shared_ptr<double> memory_for(std::size_t size) {
  const std::size_t bytes = size * sizeof(double);
  if (bytes < kLarge) {
    const auto array = std::make_shared<double[]>(size);
    return {array, array.get()};
  }
  return {static_cast<double*>(memory::host().allocate(bytes)),
          [bytes](double* data) { memory::host().deallocate(data, bytes); }};
}

}  // namespace

SharedNumbers::SharedNumbers(const double* first, const double* last) : size_(static_cast<std::size_t>(last - first)) {
  if (size_ == 0) return;
  const std::shared_ptr<double> copy = memory_for(size_);
  std::copy(first, last, copy.get());
  data_ = copy;
}

bool operator==(const SharedNumbers& a, const SharedNumbers& b) {
  return std::equal(a.begin(), a.end(), b.begin(), b.end());
}

}  // namespace rimetree
