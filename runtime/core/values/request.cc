#include "runtime/core/values/request.h"

#include "runtime/core/fingerprint.h"

namespace rimetree {

double direction_component(int node, std::size_t unknown) {
  const std::uint64_t bits = mix(mix(0x5249'4d45, static_cast<std::uint64_t>(node)), unknown);
  const double size = 0.5 + static_cast<double>(bits >> 11) * 0x1p-53;
  return (bits & 1) != 0 ? size : -size;
}

}  // namespace rimetree
