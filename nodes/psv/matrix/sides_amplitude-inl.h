// What depends on a baseline and a source together: time and bandwidth smearing and the tapers of shapes, as one real
// factor per source and cell. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_AMPLITUDE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_AMPLITUDE_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_AMPLITUDE_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_AMPLITUDE_INL_H_
#endif

#include "nodes/psv/matrix/sides_fill-inl.h"
#include "nodes/psv/profiles-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Terms of the sincs' series that are left out.
inline constexpr double kSincError = 2e-17;

/// A vector of places, each scaled as what it is for needs.
struct CellUvw {
  SideVector u, v, w;
};

/// f(row) and by(lane) of the rows that a pair of ends has at the cells; zero where there is none.
template <class F>
HWY_INLINE SideVector of_rows(const std::int32_t* row, const F& f) {
  return vector_of([&](std::size_t i) { return row[i] >= 0 ? f(static_cast<std::size_t>(row[i]), i) : 0.0; });
}

/// Bound of |u l + v m + w n| for all sources, at the cells where that is a number: what the others give is none by
/// any series, and the largest of a vector must not depend on where they stand in it.
HWY_INLINE double largest(const Extent& extent, const CellUvw& at) {
  const SideTag d;
  const auto by = [&](SideVector x, double y) HWY_ATTR { return hn::Mul(hn::Abs(x), hn::Set(d, y)); };
  const SideVector bound = hn::Add(by(at.u, extent.l), hn::Add(by(at.v, extent.m), by(at.w, extent.n)));
  return hn::GetLane(hn::MaxOfLanes(d, hn::IfThenZeroElse(hn::IsNaN(bound), bound)));
}

/// to[source] = or *= sinc(u l + v m + w n).
template <int kTerms, bool kFirst>
HWY_NOINLINE void smear(const Sky<double>& sky, const SideBlock& block, const CellUvw& at, double* HWY_RESTRICT to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  for (std::size_t s = block.begin; s < block.begin + block.count; ++s, to += lanes) {
    const SideVector x = hn::MulAdd(at.u, hn::Set(d, sky.l[s]),
                                    hn::MulAdd(at.v, hn::Set(d, sky.m[s]), hn::Mul(at.w, hn::Set(d, sky.n_high[s]))));
    const SideVector a = sinc_of<kTerms>(x, 1.0);
    hn::Store(kFirst ? a : hn::Mul(a, hn::Load(d, to)), d, to);
  }
}

inline HWY_NOINLINE void taper(const Sky<double>& sky, const SideBlock& block, const CellUvw& at, bool first,
                               double* HWY_RESTRICT to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  const double scale = argument_scale(block.profile);
  for (std::size_t s = block.begin; s < block.begin + block.count; ++s, to += lanes) {
    const ShapeAxes<double>& axes = sky.axes[s - sky.n_point];
    const SideVector a = tapers_of(block.profile, shape_argument(scale, axes, at.u, at.v, at.w));
    hn::Store(first ? a : hn::Mul(a, hn::Load(d, to)), d, to);
  }
}

/// Factors of a pair of ends, [source][lane].
inline HWY_NOINLINE void fill_amplitudes(const SidesProblem& job, const SidesTile& tile, const CellVector& cells,
                                         const SideBlock& block, std::size_t l, std::size_t r, double* to) {
  const Sky<double>& sky = job.of.sky;
  const Rows& rows = job.of.rows;
  std::int32_t row[kMaxLanes];
  for (std::size_t i = 0; i < hn::Lanes(SideTag()); ++i)
    row[i] = tile.row_at(static_cast<std::size_t>(cells.layer[i]), l, r);
  bool first = true;
  if (job.plan.smear_time) {
    // pi times the frequency times the change over the exposure, over c.
    const auto change = [&](const double* du) {
      return of_rows(
          row, [&](std::size_t of, std::size_t i) { return kPi * cells.turns_high[i] * du[of] * rows.exposure_s[of]; });
    };
    const CellUvw at{change(rows.du), change(rows.dv), change(rows.dw)};
    with_terms(series_terms(largest(sky.extent, at), kSincError),
               [&](auto terms) { smear<decltype(terms)::value, true>(sky, block, at, to); });
    first = false;
  }
  if (job.plan.smear_frequency) {
    const auto across = [&](const double* u) {
      return of_rows(row, [&](std::size_t of, std::size_t i) {
        return job.numbers.half_width[static_cast<std::size_t>(cells.channel[i])] * u[of];
      });
    };
    const CellUvw at{across(rows.u), across(rows.v), across(rows.w)};
    with_terms(series_terms(largest(sky.extent, at), kSincError), [&](auto terms) {
      constexpr int kTerms = decltype(terms)::value;
      first ? smear<kTerms, true>(sky, block, at, to) : smear<kTerms, false>(sky, block, at, to);
    });
    first = false;
  }
  if (block.profile == kPoint) return;
  // shape_argument() divides by c.
  const auto scaled = [&](const double* u) {
    return of_rows(row, [&](std::size_t of, std::size_t i) {
      return job.of.channels.frequency_hz[static_cast<std::size_t>(cells.channel[i])] * u[of];
    });
  };
  taper(sky, block, {scaled(rows.u), scaled(rows.v), scaled(rows.w)}, first, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_AMPLITUDE_INL_H_
