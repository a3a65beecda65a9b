// The GPU design of R. J. Baxter's MSc thesis (University of Cape Town), written anew from its description, as a
// baseline for benchmarks: one evaluation is one baseline and one group of time slots, unpolarised and polarised
// sources alike.
//
//   V[t,f,j] = sum_s B[s,f,j] smear(t,f,s) exp(-2 pi i nu_f/c (u_t . sigma_s)),   j = XX XY YX YY
//   smear    = sinc(2 pi/c nu dt/2 (du/dt . sigma)) sinc(2 pi/c dnu/2 (u . sigma))
//
// (its u is the opposite of a Measurement Set's). A thread has one time and one frequency and loops over m sources,
// with its sums in shared memory; what it comes to goes to [element][S/m][F][T] in global memory, which a second kernel
// adds up in pairs, log2(S/m) launches, and a third reorders to [T][F][element]. All inputs are sent at every
// evaluation. The bodies compile for host and device.
#pragma once

#include <cstdint>

#include "runtime/math/conventions.h"

namespace rimetree::thesis {

struct Problem {
  std::int32_t n_source = 0, n_time = 0, n_channel = 0;
  std::int32_t sources_per_thread = 16;         ///< m: 16 was best
  const double* uvw = nullptr;                  ///< [6][time]: u v w and their rates
  const double* sigma = nullptr;                ///< [3][source]: l, m, n - 1
  const Complex<double>* brightness = nullptr;  ///< [4][source][channel]
  const double* frequency_hz = nullptr;         ///< [channel]
  const double* half_exposure_s = nullptr;      ///< [time]
  const double* half_width_hz = nullptr;        ///< [channel]
  Complex<double>* partial = nullptr;           ///< [4][S/m][channel][time]
  Complex<double>* out = nullptr;               ///< [time][channel][4]

  RT_HD std::int32_t n_group() const { return (n_source + sources_per_thread - 1) / sources_per_thread; }
};

/// Adds the sources of a group to `sum` [4], at one time and channel.
RT_HD inline void add_group(const Problem& p, std::int32_t group, std::int32_t t, std::int32_t f,
                            Complex<double>* sum) {
  const double k = 2 * kPi / kSpeedOfLight_m_s;
  const std::int32_t first = group * p.sources_per_thread;
  const std::int32_t last = first + p.sources_per_thread < p.n_source ? first + p.sources_per_thread : p.n_source;
  for (std::int32_t s = first; s < last; ++s) {
    double path = 0, rate = 0;
    for (int i = 0; i < 3; ++i) {
      path += p.uvw[i * p.n_time + t] * p.sigma[i * p.n_source + s];
      rate += p.uvw[(3 + i) * p.n_time + t] * p.sigma[i * p.n_source + s];
    }
    const double smear =
        sinc(k * p.frequency_hz[f] * p.half_exposure_s[t] * rate) * sinc(k * p.half_width_hz[f] * path);
    const Complex<double> z = polar(smear, -k * p.frequency_hz[f] * path);
    for (int j = 0; j < 4; ++j) sum[j] += p.brightness[(std::int64_t{j} * p.n_source + s) * p.n_channel + f] * z;
  }
}

RT_HD inline std::int64_t partial_index(const Problem& p, int j, std::int32_t group, std::int32_t t, std::int32_t f) {
  return ((std::int64_t{j} * p.n_group() + group) * p.n_channel + f) * p.n_time + t;
}

/// One step of the reduction: adds the upper half of `n` groups to the lower, at one place of [channel][time].
RT_HD inline void add_pair(const Problem& p, std::int32_t n, int j, std::int32_t group, std::int64_t place) {
  const std::int32_t half = (n + 1) / 2;
  if (group + half >= n) return;
  const std::int64_t plane = std::int64_t{p.n_channel} * p.n_time;
  Complex<double>* at = p.partial + std::int64_t{j} * p.n_group() * plane + place;
  at[group * plane] += at[(group + half) * plane];
}

RT_HD inline void reorder(const Problem& p, int j, std::int32_t t, std::int32_t f) {
  p.out[(std::int64_t{t} * p.n_channel + f) * 4 + j] = p.partial[partial_index(p, j, 0, t, f)];
}

/// The three kernels, one thread after the other.
inline void evaluate_on_host(const Problem& p) {
  for (std::int32_t group = 0; group < p.n_group(); ++group)
    for (std::int32_t f = 0; f < p.n_channel; ++f)
      for (std::int32_t t = 0; t < p.n_time; ++t) {
        Complex<double> sum[4];
        add_group(p, group, t, f, sum);
        for (int j = 0; j < 4; ++j) p.partial[partial_index(p, j, group, t, f)] = sum[j];
      }
  for (std::int32_t n = p.n_group(); n > 1; n = (n + 1) / 2)
    for (int j = 0; j < 4; ++j)
      for (std::int32_t group = 0; group < n / 2; ++group)
        for (std::int64_t place = 0; place < std::int64_t{p.n_channel} * p.n_time; ++place)
          add_pair(p, n, j, group, place);
  for (std::int32_t t = 0; t < p.n_time; ++t)
    for (std::int32_t f = 0; f < p.n_channel; ++f)
      for (int j = 0; j < 4; ++j) reorder(p, j, t, f);
}

}  // namespace rimetree::thesis
