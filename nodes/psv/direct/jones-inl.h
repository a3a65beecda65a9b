// Jones terms in the PSV kernel: the corrupted brightness J_n .. J_1 B J_1^H .. J_n^H of a block of sources, for a
// vector of rows, as weights of eight real planes. Included once per instruction set.
#if defined(RIMETREE_NODES_PSV_DIRECT_JONES_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef RIMETREE_NODES_PSV_DIRECT_JONES_INL_H_
#undef RIMETREE_NODES_PSV_DIRECT_JONES_INL_H_
#else
#define RIMETREE_NODES_PSV_DIRECT_JONES_INL_H_
#endif

#include "nodes/psv/direct/seed-inl.h"
#include "runtime/math/matrix22-inl.h"

HWY_BEFORE_NAMESPACE();
namespace rimetree::psv::direct {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// One side of a pair for all lanes: element i's parts to gathered[2 i] and gathered[2 i + 1].
HWY_INLINE void gather(const JonesPair<double>& pair, bool is_q, std::ptrdiff_t source, std::ptrdiff_t time,
                       std::ptrdiff_t channel, std::size_t lanes, double* gathered) {
  const Strided<Complex<double>>(&view)[4] = is_q ? pair.q : pair.p;
  const bool is_matrix = is_q ? pair.q_is_matrix : pair.p_is_matrix;
  const bool is_conjugated = is_q ? pair.q_is_conjugated : pair.p_is_conjugated;
  for (int i = 0; i < (is_matrix ? 4 : 1); ++i) {
    const Complex<double> z = view[i] ? view[i].at(source, time, channel) : Complex<double>{};
    gathered[2 * i * lanes] = z.re;
    gathered[(2 * i + 1) * lanes] = is_conjugated ? -z.im : z.im;
  }
}

/// The rows of a vector: which baseline and time each lane is.
struct LaneRows {
  std::int32_t baseline[kMaxLanes], time[kMaxLanes];
};

template <class V>
HWY_INLINE Matrix<V> load_matrix(const double* gathered, std::size_t lanes, bool is_matrix) {
  const hn::DFromV<V> d;
  Matrix<V> a;
  for (int i = 0; i < 4; ++i) {
    a.re[i] = is_matrix || i == 0 ? hn::Load(d, gathered + 2 * i * lanes) : hn::Zero(d);
    a.im[i] = is_matrix || i == 0 ? hn::Load(d, gathered + (2 * i + 1) * lanes) : hn::Zero(d);
  }
  return a;
}

/// Applies one pair to x. Which sides are matrices is the same for all baselines of a batch.
template <class V>
HWY_INLINE void apply_pair(const JonesPair<double>& shape, const double* gathered, std::size_t lanes, std::size_t lane,
                           Matrix<V>& x) {
  const double *at_p = gathered + lane, *at_q = gathered + 8 * lanes + lane;
  const Matrix<V> p = load_matrix<V>(at_p, lanes, shape.p_is_matrix);
  const Matrix<V> q = load_matrix<V>(at_q, lanes, shape.q_is_matrix);
  if (shape.p_is_matrix)
    x = product(p, x);
  else
    scale(x, p.re[0], p.im[0]);
  if (shape.q_is_matrix)
    x = product(x, q);
  else
    scale(x, q.re[0], q.im[0]);
}

/// Weights [source][plane][lane] of a block at one channel.
template <class T>
HWY_NOINLINE void corrupt_block(const Block<T>& block, const JonesTerms& jones, const LaneRows& rows,
                                std::size_t channel, const Scratch<T>& to) {
  const hn::ScalableTag<double> d;
  using V = hn::Vec<decltype(d)>;
  const std::size_t lanes = hn::Lanes(hn::ScalableTag<T>());
  const Sky<T>& sky = *block.sky;
  const std::size_t weight_channel = sky.n_weight_channel == 1 ? 0 : channel;
  for (std::size_t s = 0; s < block.count; ++s) {
    const std::size_t source = block.begin + s;
    const double* b = &sky.brightness[(source * sky.n_weight_channel + weight_channel) * 8];
    // The products of all vectors of doubles in one of T; two at most.
    Matrix<V> x[2];
    for (auto& half : x)
      for (int i = 0; i < 4; ++i) half.re[i] = hn::Set(d, b[2 * i]), half.im[i] = hn::Set(d, b[2 * i + 1]);
    for (int k = 0; k < jones.n_pair; ++k) {
      const JonesPair<double>* pair = nullptr;
      for (std::size_t lane = 0; lane < lanes; ++lane) {
        pair = jones.pairs + std::ptrdiff_t{rows.baseline[lane]} * jones.n_pair + k;
        gather(*pair, false, sky.order[source], rows.time[lane], channel, lanes, to.gathered + lane);
        gather(*pair, true, sky.order[source], rows.time[lane], channel, lanes, to.gathered + 8 * lanes + lane);
      }
      for (std::size_t half = 0; half * hn::Lanes(d) < lanes; ++half)
        apply_pair(*pair, to.gathered, lanes, half * hn::Lanes(d), x[half]);
    }
    for (std::size_t half = 0; half * hn::Lanes(d) < lanes; ++half)
      for (int i = 0; i < 4; ++i) {
        T* weight = to.jones_weight + (s * 8 + 2 * i) * lanes + half * hn::Lanes(d);
        store_as(d, x[half].re[i], weight);
        store_as(d, x[half].im[i], weight + lanes);
      }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace rimetree::psv::direct
HWY_AFTER_NAMESPACE();

#endif  // RIMETREE_NODES_PSV_DIRECT_JONES_INL_H_
