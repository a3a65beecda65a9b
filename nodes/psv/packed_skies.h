// Skies that are packed once: a sky whose children are the same results as before is the same sky.
#pragma once

#include <array>
#include <memory>

#include "nodes/psv/kernel.h"
#include "runtime/core/used_lately.h"

namespace rimetree::psv {

/// Numbers for the contents of a packed sky: equal contents have equal ones.
struct SkyVersion {
  std::uint64_t places = 0;  ///< directions and shapes
  std::uint64_t fluxes = 0;
};
SkyVersion version_of(const Sky<double>& sky);

struct PackedSky {
  Sky<double> sky;
  SkyVersion version;
};

class PackedSkies {
 public:
  /// Memory of the children that a sky is made from, and which is not changed once it is shared. Kept as long as the
  /// packed sky is, so that nobody else gets it meanwhile.
  using Children = std::array<std::shared_ptr<void>, 4>;

  /// pack_sky(input), from before if the children are the same, and the sources of them.
  std::shared_ptr<const PackedSky> get(const SkyInput& input, const Children& children);

 private:
  /// Sources and channels of these children.
  struct Key {
    Children children;
    std::ptrdiff_t n_channel, n_source;
    const double* first_l;
    bool with_jones;
    int n_minus;
    friend bool operator==(const Key&, const Key&) = default;
  };
  static constexpr std::size_t kMost = 4;  // skies that one batch sees in turn
  UsedLately<Key, PackedSky> skies_{kMost};
};

}  // namespace rimetree::psv
