// Skies that are packed once: a sky whose children are the same results as before is the same sky.
#pragma once

#include <array>
#include <list>
#include <memory>
#include <mutex>

#include "nodes/psv/kernel.h"

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
  /// Memory of the children that a sky is made from, and which is not changed once it is shared. It is not kept: skies
  /// of children that nobody has any more are let go of.
  using Children = std::array<std::shared_ptr<void>, 4>;

  /// pack_sky(input), from before if the children are the same, and the sources of them.
  std::shared_ptr<const PackedSky> get(const SkyInput& input, const Children& children);

 private:
  struct Entry {
    std::array<std::weak_ptr<void>, 4> children;
    std::array<const void*, 4> memory;  // where the children's is
    std::ptrdiff_t n_channel, n_source;
    const double* first_l;
    bool with_jones, only_with_flux;
    int n_minus;
    std::shared_ptr<const PackedSky> sky;
    std::size_t bytes = 0;

    Entry(const SkyInput& input, const Children& of);
    bool is_of(const Entry& other) const;
    bool is_gone() const;
  };
  /// Makes room for one more of so many bytes.
  void make_room(std::size_t bytes);

  static constexpr std::size_t kMost = 4;  // skies that one batch sees in turn
  static constexpr std::size_t kMostBytes = std::size_t{1} << 30;
  std::mutex mutex_;
  std::list<Entry> entries_;  // the last used first
};

}  // namespace rimetree::psv
