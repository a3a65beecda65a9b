#include "runtime/core/values/tensor_shape.h"

#include <limits>

#include "runtime/core/error.h"

namespace rimetree {

TensorShape::TensorShape(std::initializer_list<std::int32_t> extents) {
  for (const auto length : extents) append(length);
}

void TensorShape::append(std::int64_t length) {
  if (rank == kMaxRank) throw ShapeError("a tensor has at most " + std::to_string(kMaxRank) + " dimensions");
  if (length < 0) throw ShapeError("a tensor dimension is negative");
  if (length > std::numeric_limits<std::int32_t>::max())
    throw ShapeError("a tensor dimension is " + std::to_string(length) + ", expected at most 2^31 - 1");
  extent[rank++] = static_cast<std::int32_t>(length);
}

std::string to_string(const TensorShape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank; ++i) text += (i ? "," : "") + std::to_string(shape.extent[i]);
  return text + "]";
}

}  // namespace rimetree
