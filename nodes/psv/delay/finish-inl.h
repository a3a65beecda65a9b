// Second half of a row by the delay method: from grids of delays to samples along the band, to channels, to
// correlations. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DELAY_FINISH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DELAY_FINISH_INL_H_
#undef RIMETREE_NODES_PSV_DELAY_FINISH_INL_H_
#else
#define RIMETREE_NODES_PSV_DELAY_FINISH_INL_H_
#endif

#include "hwy/cache_control.h"
#include "nodes/psv/delay/spread-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::delay {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Transforms grid g and keeps the modes that the channels need, with the kernel's transform divided out.
inline void sample_grid(const GriddedRow& job, std::size_t g) {
  const Sampling& sampling = job.sampling;
  const auto n_cell = static_cast<std::ptrdiff_t>(sampling.transform->length());
  constexpr auto kPad = static_cast<std::ptrdiff_t>(kGridPad);
  Complex<double>* cells = job.arrays.grid + g * job.arrays.grid_stride + kGridPad;
  for (std::ptrdiff_t i = -kPad; i < 0; ++i) cells[i + n_cell] = cells[i + n_cell] + cells[i];
  for (std::ptrdiff_t i = 0; i < kPad; ++i) cells[i] = cells[i] + cells[i + n_cell];
  sampling.transform->run(cells, job.arrays.spectrum);

  const DelayTag d;
  double* re = job.arrays.sample + 2 * g * job.arrays.sample_stride;
  double* im = re + job.arrays.sample_stride;
  const auto take = [&](std::ptrdiff_t begin, std::ptrdiff_t end, const Complex<double>* from) HWY_ATTR {
    std::ptrdiff_t i = begin;
    for (const auto lanes = static_cast<std::ptrdiff_t>(hn::Lanes(d)); i + lanes <= end; i += lanes) {
      const DelayVec scale = hn::LoadU(d, sampling.correction.data() + i);
      DelayVec x, y;
      hn::LoadInterleaved2(d, reinterpret_cast<const double*>(from + (i - begin)), x, y);
      hn::StoreU(hn::Mul(x, scale), d, re + i);
      hn::StoreU(hn::Mul(y, scale), d, im + i);
    }
    for (; i < end; ++i) {
      re[i] = from[i - begin].re * sampling.correction[static_cast<std::size_t>(i)];
      im[i] = from[i - begin].im * sampling.correction[static_cast<std::size_t>(i)];
    }
  };
  const auto n_sample = static_cast<std::ptrdiff_t>(sampling.n_sample),
             zero = -sampling.first_mode;  // sample of mode 0
  take(0, zero, job.arrays.spectrum + n_cell - zero);
  take(zero, n_sample, job.arrays.spectrum);
}

/// Values of grid g at channels [first, first + count) of a tile; whole vectors are written.
HWY_INLINE void interpolate(const GriddedRow& job, std::size_t g, std::size_t first, std::size_t count,
                            double* HWY_RESTRICT re, double* HWY_RESTRICT im) {
  const DelayTag d;
  const Sampling& sampling = job.sampling;
  const double* from_re = job.arrays.sample + 2 * g * job.arrays.sample_stride + first / sampling.step;
  const double* from_im = from_re + job.arrays.sample_stride;
  const std::size_t lanes = hn::Lanes(d);
  if (sampling.step == 1) {
    for (std::size_t i = 0; i < count; i += lanes) {
      hn::Store(hn::LoadU(d, from_re + i), d, re + i);
      hn::Store(hn::LoadU(d, from_im + i), d, im + i);
    }
    return;
  }
  const std::size_t samples = sampling.block / sampling.step;
  for (std::size_t block = 0; block < count; block += sampling.block, from_re += samples, from_im += samples)
    for (std::size_t i = 0; i < sampling.block; i += 2 * lanes) {
      DelayVec a_re = hn::Zero(d), a_im = a_re, b_re = a_re, b_im = a_re;
      const double* window = sampling.window.data() + i;
      for (std::size_t j = 0; j < sampling.n_window; ++j, window += sampling.block) {
        const DelayVec a = hn::LoadU(d, window), b = hn::LoadU(d, window + lanes);
        const DelayVec x = hn::Set(d, from_re[j]), y = hn::Set(d, from_im[j]);
        a_re = hn::MulAdd(a, x, a_re);
        a_im = hn::MulAdd(a, y, a_im);
        b_re = hn::MulAdd(b, x, b_re);
        b_im = hn::MulAdd(b, y, b_im);
      }
      hn::Store(a_re, d, re + block + i);
      hn::Store(b_re, d, re + block + i + lanes);
      hn::Store(a_im, d, im + block + i);
      hn::Store(b_im, d, im + block + i + lanes);
    }
}

/// One plane at the channels of a tile: its terms summed by Clenshaw's recurrence. `work`: [6][channel].
inline HWY_NOINLINE void sum_terms(const GriddedRow& job, std::size_t plane, std::size_t first, std::size_t count,
                                   double* HWY_RESTRICT re, double* HWY_RESTRICT im, double* HWY_RESTRICT work) {
  const DelayTag d;
  const std::size_t g = plane * job.n_term;
  if (job.n_term == 1) return interpolate(job, g, first, count, re, im);
  double *u[2] = {work, work + kDelayTile}, *b1[2] = {work + 2 * kDelayTile, work + 3 * kDelayTile};
  double *b2[2] = {work + 4 * kDelayTile, work + 5 * kDelayTile}, *out[2] = {re, im};
  std::fill_n(work + 2 * kDelayTile, 4 * kDelayTile, 0.0);
  const double step = 2.0 / double(job.plan.band.n_channel - 1);
  for (std::size_t j = job.n_term; j-- > 0;) {
    interpolate(job, g + j, first, count, u[0], u[1]);
    for (int part = 0; part < 2; ++part) {
      for (std::size_t i = 0; i < count; i += hn::Lanes(d)) {
        const DelayVec k = hn::Iota(d, double(first + i));
        const DelayVec x = hn::MulSub(k, hn::Set(d, j > 0 ? 2 * step : step), hn::Set(d, j > 0 ? 2.0 : 1.0));
        const DelayVec last = hn::Load(d, b1[part] + i);
        const DelayVec next = hn::MulAdd(x, last, hn::Sub(hn::Load(d, u[part] + i), hn::Load(d, b2[part] + i)));
        hn::Store(next, d, (j > 0 ? b2[part] : out[part]) + i);
      }
      std::swap(b1[part], b2[part]);
    }
  }
}

/// Interleaves `count` complex numbers; whole vectors are written.
HWY_INLINE void interleave(const double* HWY_RESTRICT re, const double* HWY_RESTRICT im, std::size_t count,
                           double* HWY_RESTRICT to) {
  const DelayTag d;
  for (std::size_t i = 0; i < count; i += hn::Lanes(d))
    hn::StoreInterleaved2(hn::Load(d, re + i), hn::Load(d, im + i), d, to + 2 * i);
}

/// Copies past the caches: lines that nobody will read soon are not fetched before they are written, which halves the
/// memory traffic of results that do not fit into a cache.
HWY_INLINE void stream(const double* HWY_RESTRICT from, std::size_t count, double* HWY_RESTRICT to) {
  const DelayTag d;
  const std::size_t lanes = hn::Lanes(d), mask = lanes * sizeof(double) - 1;
  const std::size_t past = reinterpret_cast<std::uintptr_t>(to) & mask;
  const std::size_t head = std::min(count, past == 0 ? 0 : (mask + 1 - past) / sizeof(double));
  std::size_t i = std::size_t(std::copy_n(from, head, to) - to);
  for (; i + lanes <= count; i += lanes) hn::Stream(hn::LoadU(d, from + i), d, to + i);
  std::copy_n(from + i, count - i, to + i);
}

/// Planes I, Q, U, V as correlations XX, XY, YX, YY, both [4][re, im][channel].
HWY_INLINE void stokes_to_correlations(const double* HWY_RESTRICT planes, std::size_t count, double* HWY_RESTRICT e) {
  const DelayTag d;
  const auto at = [](int i, int part, std::size_t k) {
    return static_cast<std::size_t>(2 * i + part) * kDelayTile + k;
  };
  for (std::size_t k = 0; k < count; k += hn::Lanes(d)) {
    const auto load = [&](int i, int part) HWY_ATTR { return hn::Load(d, planes + at(i, part, k)); };
    const DelayVec i_re = load(0, 0), i_im = load(0, 1), q_re = load(1, 0), q_im = load(1, 1);
    const DelayVec u_re = load(2, 0), u_im = load(2, 1), v_re = load(3, 0), v_im = load(3, 1);
    hn::Store(hn::Add(i_re, q_re), d, e + at(0, 0, k));
    hn::Store(hn::Add(i_im, q_im), d, e + at(0, 1, k));
    hn::Store(hn::Sub(u_re, v_im), d, e + at(1, 0, k));
    hn::Store(hn::Add(u_im, v_re), d, e + at(1, 1, k));
    hn::Store(hn::Add(u_re, v_im), d, e + at(2, 0, k));
    hn::Store(hn::Sub(u_im, v_re), d, e + at(2, 1, k));
    hn::Store(hn::Sub(i_re, q_re), d, e + at(3, 0, k));
    hn::Store(hn::Sub(i_im, q_im), d, e + at(3, 1, k));
  }
}

/// The visibilities of a row whose sources are on the grids.
inline void finish_row(const GriddedRow& job, Complex<double>* to, std::ptrdiff_t plane_stride) {
  const SeriesSky& sky = job.plan.sky;
  const std::size_t n_plane = sky.planes.size(), n_channel = job.plan.band.n_channel;
  for (std::size_t g = 0; g < n_plane * job.n_term; ++g) sample_grid(job, g);
  double *planes = job.arrays.tile, *e = planes + 8 * kDelayTile, *work = planes + 16 * kDelayTile;
  std::fill_n(planes, 8 * kDelayTile, 0.0);  // those that the sky does not have stay zero
  for (std::size_t first = 0; first < n_channel; first += kDelayTile) {
    const std::size_t count = std::min(kDelayTile, n_channel - first);
    for (std::size_t p = 0; p < n_plane; ++p) {
      double* plane = planes + 2 * sky.slot_of(p) * kDelayTile;
      sum_terms(job, p, first, count, plane, plane + kDelayTile, work);
    }
    if (sky.stokes) stokes_to_correlations(planes, count, e);
    const double* from = sky.stokes ? e : planes;
    for (int i = 0; i < 4; ++i, from += 2 * kDelayTile) {
      interleave(from, from + kDelayTile, count, work);
      auto* place = reinterpret_cast<double*>(to + i * plane_stride + first);
      job.past_caches ? stream(work, 2 * count, place) : void(std::copy_n(work, 2 * count, place));
    }
  }
  if (job.past_caches) hwy::FlushStream();
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::delay
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DELAY_FINISH_INL_H_
