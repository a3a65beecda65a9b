// The sides of a tile's antennas for a block of sources: phasor, Jones terms and, on the left, the brightness. SIMD
// runs over cells. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_MATRIX_SIDES_FILL_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_MATRIX_SIDES_FILL_INL_H_
#undef RIMETREE_NODES_PSV_MATRIX_SIDES_FILL_INL_H_
#else
#define RIMETREE_NODES_PSV_MATRIX_SIDES_FILL_INL_H_
#endif

#include "nodes/psv/matrix/sides_sum.h"
#include "nodes/psv/turns-inl.h"
#include "runtime/math/matrix22-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::matrix {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;
using namespace psv::HWY_NAMESPACE;

using SideTag = hn::ScalableTag<double>;
using SideVector = hn::Vec<SideTag>;

/// The cells of a vector: those beyond the last of the tile repeat it.
struct CellVector {
  std::size_t n_valid = 0;
  bool one_layer = false;  ///< all lanes
  bool in_a_row = false;   ///< channels of one layer, none repeated
  std::int32_t layer[kMaxLanes], time[kMaxLanes], channel[kMaxLanes];
  HWY_ALIGN double turns_high[kMaxLanes];  ///< frequency over c
  HWY_ALIGN double turns_low[kMaxLanes];
};

inline CellVector cell_vector(const SidesProblem& job, const SidesTile& tile, std::size_t first) {
  const std::size_t lanes = hn::Lanes(SideTag()), n_channel = job.of.channels.frequency_hz.size();
  const std::size_t n_cell = job.plan.cells(tile, job.of.channels);
  CellVector cells;
  cells.n_valid = std::min(lanes, n_cell - first);
  for (std::size_t i = 0; i < lanes; ++i) {
    const std::size_t cell = std::min(first + i, n_cell - 1), f = cell % n_channel;
    cells.layer[i] = static_cast<std::int32_t>(cell / n_channel);
    cells.time[i] = job.plan.antennas.layers[static_cast<std::size_t>(tile.first_layer + cells.layer[i])].time;
    cells.channel[i] = static_cast<std::int32_t>(f);
    cells.turns_high[i] = job.numbers.turns_high[f];
    cells.turns_low[i] = job.numbers.turns_low[f];
  }
  cells.one_layer = cells.layer[0] == cells.layer[lanes - 1];
  cells.in_a_row = cells.one_layer && cells.n_valid == lanes;
  return cells;
}

/// f(lane)'s as a vector.
template <class F>
HWY_INLINE SideVector vector_of(const F& f) {
  HWY_ALIGN double part[kMaxLanes];
  for (std::size_t i = 0; i < hn::Lanes(SideTag()); ++i) part[i] = f(i);
  return hn::Load(SideTag(), part);
}

/// A view's numbers at the cells.
HWY_INLINE void load_cells(const Strided<Complex<double>>& view, std::ptrdiff_t source, const CellVector& cells,
                           SideVector& re, SideVector& im) {
  const SideTag d;
  if (!view) {
    re = im = hn::Zero(d);
  } else if (cells.one_layer && view.channel == 0) {
    const Complex<double>& z = view.at(source, cells.time[0], 0);
    re = hn::Set(d, z.re), im = hn::Set(d, z.im);
  } else if (cells.in_a_row && view.channel == 1) {
    hn::LoadInterleaved2(d, &view.at(source, cells.time[0], cells.channel[0]).re, re, im);
  } else {
    const auto at = [&](std::size_t i) -> const Complex<double>& {
      return view.at(source, cells.time[i], cells.channel[i]);
    };
    re = vector_of([&](std::size_t i) { return at(i).re; });
    im = vector_of([&](std::size_t i) { return at(i).im; });
  }
}

/// A term, or what it changes by; as a matrix, or a scalar alone.
HWY_INLINE Matrix<SideVector> load_factor(const JonesFactor& factor, std::ptrdiff_t source, const CellVector& cells,
                                          bool tangent = false) {
  Matrix<SideVector> a;
  const Strided<Complex<double>>* views = tangent ? factor.tangent : factor.view;
  load_cells(views[0], source, cells, a.re[0], a.im[0]);
  if (factor.is_matrix) {
#pragma GCC unroll 3
    for (int i = 1; i < 4; ++i) load_cells(views[i], source, cells, a.re[i], a.im[i]);
  } else {
    a.re[3] = a.re[0], a.im[3] = a.im[0];
    a.re[1] = a.im[1] = a.re[2] = a.im[2] = hn::Zero(SideTag());
  }
  return (tangent ? factor.tangent_is_conjugated : factor.is_conjugated) ? conjugates(a) : a;
}
HWY_INLINE void load_scalar(const JonesFactor& factor, std::ptrdiff_t source, const CellVector& cells, SideVector& re,
                            SideVector& im, bool tangent = false) {
  load_cells((tangent ? factor.tangent : factor.view)[0], source, cells, re, im);
  if (tangent ? factor.tangent_is_conjugated : factor.is_conjugated) im = hn::Neg(im);
}

/// All terms of a side, innermost first.
inline HWY_NOINLINE Matrix<SideVector> chain_matrix(const JonesChains::Chain& chain, bool right, std::ptrdiff_t source,
                                                    const CellVector& cells) {
  Matrix<SideVector> y = load_factor(chain[0], source, cells);
  for (std::size_t k = 1; k < chain.size(); ++k) {
    const Matrix<SideVector> term = load_factor(chain[k], source, cells);
    y = right ? product(y, term) : product(term, y);
  }
  return y;
}
HWY_INLINE void chain_scalar(const JonesChains::Chain& chain, std::ptrdiff_t source, const CellVector& cells,
                             SideVector& re, SideVector& im) {
  load_scalar(chain[0], source, cells, re, im);
  for (std::size_t k = 1; k < chain.size(); ++k) {
    SideVector a, b;
    load_scalar(chain[k], source, cells, a, b);
    multiply(re, im, a, b);
  }
}

/// What the product of all terms of a side changes by.
inline HWY_NOINLINE Matrix<SideVector> chain_matrix_tangent(const JonesChains::Chain& chain, bool right,
                                                            std::ptrdiff_t source, const CellVector& cells) {
  Matrix<SideVector> y = load_factor(chain[0], source, cells), change = load_factor(chain[0], source, cells, true);
  for (std::size_t k = 1; k < chain.size(); ++k) {
    const Matrix<SideVector> term = load_factor(chain[k], source, cells),
                             of_term = load_factor(chain[k], source, cells, true);
    change = right ? sum(product(change, term), product(y, of_term)) : sum(product(term, change), product(of_term, y));
    y = right ? product(y, term) : product(term, y);
  }
  return change;
}
inline HWY_NOINLINE void chain_scalar_tangent(const JonesChains::Chain& chain, std::ptrdiff_t source,
                                              const CellVector& cells, SideVector& re, SideVector& im) {
  SideVector yr, yi;
  load_scalar(chain[0], source, cells, yr, yi);
  load_scalar(chain[0], source, cells, re, im, true);
  for (std::size_t k = 1; k < chain.size(); ++k) {
    SideVector a, b, da, db;
    load_scalar(chain[k], source, cells, a, b);
    load_scalar(chain[k], source, cells, da, db, true);
    multiply(re, im, a, b);
    multiply(da, db, yr, yi);
    re = hn::Add(re, da), im = hn::Add(im, db);
    multiply(yr, yi, a, b);
  }
}

/// An antenna's coordinates in turns per unit direction cosine, as exact pairs.
inline HWY_NOINLINE void scale_antenna(const SidesProblem& job, const SidesTile& tile, std::int32_t antenna,
                                       const CellVector& cells, double* to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto place = [&](std::size_t i) -> const AntennaPosition& {
    const auto layer = static_cast<std::size_t>(tile.first_layer + cells.layer[i]);
    return job.plan.antennas.layers[layer].place[static_cast<std::size_t>(antenna)];
  };
  const SideVector uvw[3] = {vector_of([&](std::size_t i) { return place(i).x; }),
                             vector_of([&](std::size_t i) { return place(i).y; }),
                             vector_of([&](std::size_t i) { return place(i).z; })};
  for (const SideVector u : uvw) {
    const Pair<SideVector> p = exact_product(u, hn::Load(d, cells.turns_high));
    hn::Store(p.high, d, to);
    hn::Store(hn::MulAdd(u, hn::Load(d, cells.turns_low), p.low), d, to + lanes);
    to += 2 * lanes;
  }
}

/// Phasors of an antenna, [source][re, im][lane].
inline HWY_NOINLINE void fill_phasors(const Sky<double>& sky, std::size_t begin, std::size_t count,
                                      const double* HWY_RESTRICT scaled, double* HWY_RESTRICT to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  const auto pair = [&](std::size_t i) HWY_ATTR {
    return Pair<SideVector>{hn::Load(d, scaled + 2 * i * lanes), hn::Load(d, scaled + (2 * i + 1) * lanes)};
  };
  for (std::size_t s = begin; s < begin + count; ++s, to += 2 * lanes) {
    const SideVector turns = turns_of(pair(0), pair(1), pair(2), hn::Set(d, sky.l[s]), hn::Set(d, sky.m[s]),
                                      hn::Set(d, sky.n_high[s]), hn::Set(d, sky.n_low[s]));
    SideVector re, im;
    phasor_of_turns(turns, re, im);
    hn::Store(re, d, to);
    hn::Store(im, d, to + lanes);
  }
}

/// Complex numbers of a line of the cache, at the least.
inline constexpr std::size_t kPerLine = 4;

/// Terms that are needed soon: what limits sides is how long memory takes. They go to the second-level cache: few
/// requests of the first one can be under way, and lines of terms as far apart as theirs are share few of its places.
struct SoonNeeded {
  const JonesChains::Chain* chain = nullptr;
  std::size_t begin = 0, n_source = 0, n_cell = 0;  ///< cells in a row

  /// Asks for those of a source of the block.
  HWY_INLINE void ask(const Sky<double>& sky, std::size_t s, const CellVector& cells) const {
    if (chain == nullptr || s >= n_source) return;
    constexpr int kSecondLevel = 2;
    for (const JonesFactor& factor : *chain)
      for (const auto* views : {factor.view, factor.tangent})
        for (int i = 0; i < (factor.is_matrix ? 4 : 1); ++i) {
          const Strided<Complex<double>>& view = views[i];
          if (!view || view.channel != 1) continue;
          const Complex<double>* first =
              &view.at(static_cast<std::ptrdiff_t>(sky.order[begin + s]), cells.time[0], cells.channel[0]);
          for (std::size_t k = 0; k < n_cell; k += kPerLine) __builtin_prefetch(first + k, 0, kSecondLevel);
        }
  }
};

/// What the sides of some sources are made of, for one vector of cells.
struct SideFill {
  const SidesProblem& job;
  const CellVector& cells;
  std::size_t begin, count;
  const double* phasor;  ///< [source][re, im][lane]
  SoonNeeded soon;
  bool tangent = false;  ///< what the sides change by
  std::size_t numbers(int n_element) const { return static_cast<std::size_t>(2 * n_element) * hn::Lanes(SideTag()); }
};

template <class V>
HWY_INLINE void store_matrix(const Matrix<V>& a, double* to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    hn::Store(a.re[i], d, to + 2 * i * lanes);
    hn::Store(a.im[i], d, to + (2 * i + 1) * lanes);
  }
}

/// The brightness of a packed source.
HWY_INLINE Matrix<SideVector> load_brightness(const SidesProblem& job, std::size_t source, const CellVector& cells) {
  const Sky<double>& sky = job.of.sky;
  const auto* first = reinterpret_cast<const Complex<double>*>(&sky.brightness[source * sky.n_weight_channel * 8]);
  Matrix<SideVector> b;
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i)
    load_cells({first + i, 0, 0, sky.n_weight_channel > 1 ? 4 : 0}, 0, cells, b.re[i], b.im[i]);
  return job.finite ? finite_part(b) : b;
}

/// A side with matrices: J_n .. J_1 B K on the left, J_1^H .. J_n^H K* on the right. Gives bits that are zero where all
/// products of terms are diagonal.
inline HWY_NOINLINE SideVector fill_matrices(const SideFill& f, const JonesChains::Chain& chain, bool right,
                                             double* HWY_RESTRICT to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  const Sky<double>& sky = f.job.of.sky;
  const bool unpolarised = f.job.plan.shape.unpolarised;
  SideVector off = hn::Zero(d);
  for (std::size_t s = 0; s < f.count; ++s, to += f.numbers(4)) {
    const std::size_t source = f.begin + s;
    f.soon.ask(sky, s, f.cells);
    const auto place = static_cast<std::ptrdiff_t>(sky.order[source]);
    Matrix<SideVector> a = chain.size() == 1 ? load_factor(chain[0], place, f.cells, f.tangent)
                           : f.tangent       ? chain_matrix_tangent(chain, right, place, f.cells)
                                             : chain_matrix(chain, right, place, f.cells);
    off = hn::Or(off, hn::Or(hn::Or(hn::Abs(a.re[1]), hn::Abs(a.im[1])), hn::Or(hn::Abs(a.re[2]), hn::Abs(a.im[2]))));
    if (f.job.finite) a = finite_part(a);
    SideVector zr = hn::Load(d, f.phasor + 2 * s * lanes), zi = hn::Load(d, f.phasor + (2 * s + 1) * lanes);
    if (right) {
      zi = hn::Neg(zi);
    } else if (unpolarised) {
      SideVector re, im;
      const auto* b = reinterpret_cast<const Complex<double>*>(&sky.brightness[source * sky.n_weight_channel * 8]);
      load_cells({b, 0, 0, sky.n_weight_channel > 1 ? 4 : 0}, 0, f.cells, re, im);
      if (f.job.finite) re = finite_part(re);
      zr = hn::Mul(zr, re), zi = hn::Mul(zi, re);
    } else {
      a = product(a, load_brightness(f.job, source, f.cells));
    }
    scale(a, zr, zi);
    store_matrix(a, to);
  }
  return off;
}

/// The weight of a plane.
HWY_INLINE SideVector weights_at(const SidesProblem& job, std::size_t source, std::size_t plane,
                                 const CellVector& cells) {
  const std::size_t n_channel = job.of.sky.n_weight_channel, n_plane = job.plan.shape.planes.size();
  const double* w = &job.plan.shape.weights[source * n_channel * n_plane + plane];
  return n_channel == 1 ? hn::Set(SideTag(), *w)
                        : vector_of([&](std::size_t i) { return w[std::size_t(cells.channel[i]) * n_plane]; });
}

/// A side of scalars: on the left times the planes' weights or, where there are none, the brightness.
inline HWY_NOINLINE void fill_scalars(const SideFill& f, const JonesChains::Chain& chain, bool right,
                                      double* HWY_RESTRICT to) {
  const SideTag d;
  const std::size_t lanes = hn::Lanes(d);
  const Sky<double>& sky = f.job.of.sky;
  const SidesShape& shape = f.job.plan.shape;
  const std::size_t n_plane = shape.planes.size();
  for (std::size_t s = 0; s < f.count; ++s) {
    const std::size_t source = f.begin + s;
    f.soon.ask(sky, s, f.cells);
    SideVector re, im;
    const auto place = static_cast<std::ptrdiff_t>(sky.order[source]);
    if (chain.size() == 1)
      load_scalar(chain[0], place, f.cells, re, im, f.tangent);
    else
      f.tangent ? chain_scalar_tangent(chain, place, f.cells, re, im) : chain_scalar(chain, place, f.cells, re, im);
    if (f.job.finite) re = finite_part(re), im = finite_part(im);
    const SideVector zi = hn::Load(d, f.phasor + (2 * s + 1) * lanes);
    multiply(re, im, hn::Load(d, f.phasor + 2 * s * lanes), right ? hn::Neg(zi) : zi);
    if (right || n_plane > 0) {
      for (std::size_t p = 0; p < (right ? 1 : n_plane); ++p, to += 2 * lanes) {
        const SideVector by = right ? hn::Set(d, 1.0) : weights_at(f.job, source, p, f.cells);
        hn::Store(hn::Mul(re, by), d, to);
        hn::Store(hn::Mul(im, by), d, to + lanes);
      }
      continue;
    }
    Matrix<SideVector> b = load_brightness(f.job, source, f.cells);
    scale(b, re, im);
    store_matrix(b, to);
    to += f.numbers(4);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::matrix
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_MATRIX_SIDES_FILL_INL_H_
