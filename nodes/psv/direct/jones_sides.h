// The Jones terms of the two ends of baselines: antennas are shared by many baselines, so that what one end does to a
// source is worked out once for all rows that see it at the same time.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

#include "nodes/psv/kernel.h"

namespace rimetree::psv::direct {

/// All terms of one end, p or q, at one time (0 where no term varies in time).
struct JonesSide {
  const JonesPair<double>* pairs = nullptr;
  bool is_q = false;
  std::int32_t time = 0;

  const auto& views(int pair) const { return is_q ? pairs[pair].q : pairs[pair].p; }
  bool is_matrix(int pair) const { return is_q ? pairs[pair].q_is_matrix : pairs[pair].p_is_matrix; }
  bool is_conjugated(int pair) const { return is_q ? pairs[pair].q_is_conjugated : pairs[pair].p_is_conjugated; }
};

/// The different sides among some rows: ends whose views are the same, and their derivatives' places, are one side.
class SideTable {
 public:
  void clear() {
    n_side_ = 0;
    slots_.fill(kEmpty);
  }
  std::size_t size() const { return n_side_; }
  bool has_room_for(std::size_t n) const { return n_side_ + n <= kJonesSides; }
  const JonesSide& operator[](std::size_t i) const { return sides_[i]; }

  /// Number of the side; there must be room for it.
  std::uint16_t add(const JonesTerms& jones, const JonesPair<double>* pairs, bool is_q, std::int32_t time) {
    JonesSide side{pairs, is_q, 0};
    for (int k = 0; k < jones.n_pair; ++k)
      for (const Strided<Complex<double>>& view : side.views(k))
        if (view && view.time != 0) side.time = time;
    for (std::size_t slot = hash_of(side);; slot = (slot + 1) % kSlots) {
      if (slots_[slot] == kEmpty) {
        sides_[n_side_] = side;
        return slots_[slot] = static_cast<std::uint16_t>(n_side_++);
      }
      if (same(sides_[slots_[slot]], side, jones)) return slots_[slot];
    }
  }

 private:
  static constexpr std::size_t kSlots = 4 * kJonesSides;
  static constexpr std::uint16_t kEmpty = 0xffff;

  static std::size_t hash_of(const JonesSide& side) {
    const auto address = reinterpret_cast<std::uintptr_t>(side.views(0)[0].data) / sizeof(Complex<double>);
    return (address * 0x9e3779b97f4a7c15U + static_cast<std::uint32_t>(side.time) * 0xd1b54a32d192ed03U) >> 54;
  }
  static_assert(kSlots == std::size_t{1} << 10);

  static bool same(const JonesSide& a, const JonesSide& b, const JonesTerms& jones) {
    if (a.is_q != b.is_q || a.time != b.time) return false;
    for (int k = 0; k < jones.n_pair; ++k) {
      if (a.is_matrix(k) != b.is_matrix(k) || a.is_conjugated(k) != b.is_conjugated(k)) return false;
      if (jones.target_of(a.pairs + k, a.is_q) != jones.target_of(b.pairs + k, b.is_q)) return false;
      for (int e = 0; e < (a.is_matrix(k) ? 4 : 1); ++e) {
        const Strided<Complex<double>>&x = a.views(k)[e], &y = b.views(k)[e];
        if (x.data != y.data || x.source != y.source || x.time != y.time || x.channel != y.channel) return false;
      }
    }
    return true;
  }

  std::size_t n_side_ = 0;
  std::array<JonesSide, kJonesSides> sides_;
  std::array<std::uint16_t, kSlots> slots_;
};

/// Sides of the two ends of a row.
struct RowSides {
  std::uint16_t p, q;
};

}  // namespace rimetree::psv::direct
