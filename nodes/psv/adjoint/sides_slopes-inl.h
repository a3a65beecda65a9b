// The innermost loops of the matrix product in reverse (sides_reverse-inl.h): what a few ends gain for two sources
// stays in registers while the ends pass that they are paired with. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
#undef RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
#else
#define RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
#endif

#include <bitset>
#include <vector>

#include "nodes/psv/matrix/sides_product-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::adjoint {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace matrix;
using namespace matrix::HWY_NAMESPACE;

HWY_INLINE SideNumber conj_of(const SideNumber& a) { return {a.re, hn::Neg(a.im)}; }
HWY_INLINE SideNumber product_of(SideNumber a, const SideNumber& b) {
  multiply(a.re, a.im, b.re, b.im);
  return a;
}
/// sum += a b^*.
HWY_INLINE void add_conjugate(const SideNumber& a, const SideNumber& b, SideNumber& sum) {
  sum.re = hn::MulAdd(a.re, b.re, sum.re);
  sum.im = hn::MulAdd(a.im, b.re, sum.im);
  sum.re = hn::MulAdd(a.im, b.im, sum.re);
  sum.im = hn::NegMulAdd(a.re, b.im, sum.im);
}
HWY_INLINE Matrix<SideVector> load_elements(const double* from) {
  Matrix<SideVector> a;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const SideNumber z = load_number(from + 2 * static_cast<std::size_t>(i) * hn::Lanes(SideTag()));
    a.re[i] = z.re, a.im[i] = z.im;
  }
  return a;
}
/// Pairs of ends, as bits of a block's left and right ends.
using PairSet = std::bitset<kReverseEnds * kReverseEnds>;

/// A block of pairs at one vector of cells. A side's derivatives are laid out as the side is.
struct ReversePairs {
  std::size_t n_source;
  std::array<const double*, 2> side;  ///< left, right: of the first end
  std::array<double*, 2> slope;
  std::array<std::size_t, 2> side_end;  ///< from end to end
  const double* adjoint;                ///< A^*, [left][right][sum][part][lane]: of the first pair
  std::array<std::size_t, 2> adjoint_end;
  const double* amplitude = nullptr;  ///< [left][right][source][lane]
};

/// Which numbers meet: those of an end that gain, from which adjoints, times which numbers of the ends that it is
/// paired with. The derivative with respect to number `of + i of_step` of an end is the sum over partners and k of
///   A[adjoint + i adjoint_step + k adjoint_inner] B[side + k side_inner]^*.
/// A^* B is summed up instead.
struct Gain {
  int n, of, of_step, adjoint, adjoint_step;
  int n_inner, adjoint_inner, side, side_inner;
};

/// What the ends of the left or right side gain, for each structure of the sides; see SidesProduct. `diagonal`: so are
/// the adjoints. Matrices that are diagonal gain off the diagonal, too: such derivatives are wanted.
inline std::vector<Gain> gains_of(SidesProduct kind, bool right, bool diagonal, int n_plane) {
  std::vector<Gain> gains;
  if (kind == SidesProduct::kDiagonals && diagonal) {
    for (const int e : {0, 3}) gains.push_back({1, e, 0, e, 0, 1, 0, e, 0});
  } else if (n_plane > 0) {
    if (right) return {{1, 0, 0, 0, 0, n_plane, 1, 0, 1}};
    for (int p = 0; p < n_plane; p += 2) gains.push_back({std::min(n_plane - p, 2), p, 1, p, 1, 1, 0, 0, 0});
  } else {
    // Rows and columns of L' = A R^H and R' = L^H A: element [i][k] of a matrix has the number 2 i + k.
    for (int k = 0; k < 2; ++k) {
      const bool full = kind == SidesProduct::kMatrices || (right && kind == SidesProduct::kDiagonalRight);
      if (right)
        gains.push_back(full ? Gain{2, 2 * k, 1, 0, 1, 2, 2, k, 2} : Gain{2, 2 * k, 1, 2 * k, 1, 1, 0, 3 * k, 0});
      else
        gains.push_back(full ? Gain{2, k, 2, 0, 2, 2, 1, 2 * k, 1} : Gain{2, k, 2, k, 2, 1, 0, 3 * k, 0});
    }
  }
  return gains;
}

/// Adds the products of an adjoint in memory with two numbers. Each part is read once, and goes soon: registers are
/// few.
HWY_INLINE void add_products_of(const double* from, const SideNumber (&y)[2], SideNumber (&sum)[2]) {
  SideNumber x = load_number(from);
  keep_in_register(x.re), keep_in_register(x.im);
  for (int n = 0; n < 2; ++n) add_product(x, y[n], sum[n]);
}
HWY_INLINE void add_products_of(const double* from, const ThreeParts (&y)[2], ThreeParts (&sum)[2]) {
  const SideTag d;
  SideVector x = hn::Load(d, from);
  keep_in_register(x);
  for (int n = 0; n < 2; ++n) sum[n].re = hn::MulAdd(x, y[n].re, sum[n].re);
  x = hn::Load(d, from + hn::Lanes(d));
  keep_in_register(x);
  for (int n = 0; n < 2; ++n) sum[n].im = hn::MulAdd(x, y[n].im, sum[n].im);
  x = hn::Load(d, from + 2 * hn::Lanes(d));
  keep_in_register(x);
  for (int n = 0; n < 2; ++n) sum[n].both = hn::MulAdd(x, y[n].both, sum[n].both);
}
HWY_INLINE void add_conjugate_to(const SideNumber& a, double* sum) { add_to(conj_of(a), sum); }
HWY_INLINE void add_conjugate_to(const ThreeParts& a, double* sum) {
  add_to(SideNumber{hn::Sub(a.re, a.im), hn::Sub(hn::Add(a.re, a.im), a.both)}, sum);
}

/// Of an adjoint in memory.
inline constexpr std::size_t kParts = sizeof(Factor) / sizeof(SideVector);
/// Sums that stay in registers: numbers that gain, of two sources.
inline constexpr int kGaining = kParts == 3 ? 4 : 2;

/// Ends whose derivatives are summed up over the same partners, and these.
struct EndGroup {
  std::size_t n_end = 0, n_partner = 0;
  std::array<std::size_t, kReverseEnds> end, partner;
};

/// What N numbers of each end of a group gain.
template <int N, bool kAmplitude>
HWY_NOINLINE void add_gain(const ReversePairs& job, bool right, const Gain& gain, const EndGroup& group) {
  constexpr int kEnds = kGaining / N;
  const std::size_t lanes = hn::Lanes(SideTag()), number = 2 * lanes, parts = kParts * lanes;
  const std::size_t own = right ? 1 : 0, other = right ? 0 : 1;
  const std::size_t amplitude_end[] = {kReverseEnds * kSideSources * lanes, kSideSources * lanes};
  const double *adjoint[kEnds], *amplitude[kEnds];
#pragma GCC unroll 4
  for (int e = 0; e < kEnds; ++e) {
    const std::size_t end = group.end[static_cast<std::size_t>(e)];
    adjoint[e] = job.adjoint + end * job.adjoint_end[own] + static_cast<std::size_t>(gain.adjoint) * parts;
    amplitude[e] = kAmplitude ? job.amplitude + end * amplitude_end[own] : nullptr;
  }
  const std::size_t adjoint_step = static_cast<std::size_t>(gain.adjoint_step) * parts,
                    adjoint_inner = static_cast<std::size_t>(gain.adjoint_inner) * parts,
                    side_inner = static_cast<std::size_t>(gain.side_inner) * number;
  const std::size_t numbers = job.side_end[other] / kEndRoom, of_numbers = job.side_end[own] / kEndRoom;
  for (std::size_t s = 0; s < job.n_source; s += 2) {
    // The last one of an odd number passes twice, and is taken once.
    const std::size_t second = s + 1 < job.n_source ? 1 : 0;
    Factor sum[kEnds][N][2];
#pragma GCC unroll 4
    for (int e = 0; e < kEnds; ++e)
#pragma GCC unroll 2
      for (int i = 0; i < N; ++i) clear(sum[e][i][0]), clear(sum[e][i][1]);
    for (std::size_t p = 0; p < group.n_partner; ++p) {
      const std::size_t partner = group.partner[p];
      const double* side =
          job.side[other] + partner * job.side_end[other] + s * numbers + static_cast<std::size_t>(gain.side) * number;
      std::size_t a = partner * job.adjoint_end[other];
      for (int k = 0; k < gain.n_inner; ++k, side += side_inner, a += adjoint_inner) {
        Factor y[2];
#pragma GCC unroll 4
        for (int e = 0; e < kEnds; ++e) {
          if (e == 0 || kAmplitude)
#pragma GCC unroll 2
            for (std::size_t n = 0; n < 2; ++n) {
              const std::size_t source = n * second;
              y[n] = load_right<kAmplitude>(
                  side + source * numbers,
                  kAmplitude ? amplitude[e] + partner * amplitude_end[other] + (s + source) * lanes : nullptr);
            }
#pragma GCC unroll 2
          for (int i = 0; i < N; ++i)
            add_products_of(adjoint[e] + a + static_cast<std::size_t>(i) * adjoint_step, y, sum[e][i]);
        }
      }
    }
#pragma GCC unroll 4
    for (int e = 0; e < kEnds; ++e) {
      if (static_cast<std::size_t>(e) >= group.n_end) break;
      double* to = job.slope[own] + group.end[static_cast<std::size_t>(e)] * job.side_end[own] + s * of_numbers +
                   static_cast<std::size_t>(gain.of) * number;
#pragma GCC unroll 2
      for (int i = 0; i < N; ++i, to += static_cast<std::size_t>(gain.of_step) * number) {
        add_conjugate_to(sum[e][i][0], to);
        if (second != 0) add_conjugate_to(sum[e][i][1], to + of_numbers);
      }
    }
  }
}

/// Groups of so many ends of one side at the most, with the partners that any of them has.
inline std::vector<EndGroup> groups_of(const PairSet& wanted, bool right, std::size_t n_end) {
  const auto has = [&](std::size_t end, std::size_t partner) {
    return wanted[right ? partner * kReverseEnds + end : end * kReverseEnds + partner];
  };
  std::vector<std::size_t> ends;
  for (std::size_t e = 0; e < kReverseEnds; ++e)
    for (std::size_t p = 0; p < kReverseEnds && (ends.empty() || ends.back() != e); ++p)
      if (has(e, p)) ends.push_back(e);
  std::vector<EndGroup> groups;
  for (std::size_t first = 0; first < ends.size(); first += n_end) {
    EndGroup group;
    group.n_end = std::min(n_end, ends.size() - first);
    for (std::size_t e = 0; e < n_end; ++e) group.end[e] = ends[first + std::min(e, group.n_end - 1)];
    for (std::size_t p = 0; p < kReverseEnds; ++p)
      if (std::any_of(group.end.begin(), group.end.begin() + group.n_end, [&](std::size_t e) { return has(e, p); }))
        group.partner[group.n_partner++] = p;
    groups.push_back(group);
  }
  return groups;
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::adjoint
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_ADJOINT_SIDES_SLOPES_INL_H_
