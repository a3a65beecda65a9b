#include "runtime/core/values/result.h"

#include <algorithm>
#include <cstring>

#include "runtime/core/fingerprint.h"

namespace rimetree {

std::uint64_t fingerprint(const ParameterId& parameter) {
  std::uint64_t all = 0;
  for (const std::int32_t one : {parameter.parm, parameter.coefficient, parameter.time_tile, parameter.frequency_tile})
    all = mix(all, static_cast<std::uint64_t>(one));
  return all;
}

Flags::Flags(memory::Pool& pool, std::size_t planes, const CellShape& cells) : planes_(planes), cells_(cells) {
  data_ = pool.allocate(size() * sizeof(std::int32_t));
  std::memset(data_.get(), 0, size() * sizeof(std::int32_t));
}

const Vells* Result::derivative(ParameterId parameter) const {
  const auto it =
      std::lower_bound(derivatives.begin(), derivatives.end(), parameter,
                       [](const Derivative& derivative, ParameterId id) { return derivative.parameter < id; });
  return it != derivatives.end() && it->parameter == parameter ? &it->value : nullptr;
}

}  // namespace rimetree
