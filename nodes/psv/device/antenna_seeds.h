// Seeds, which the phasors of a run of channels begin with, and how those of rows follow from those of antennas. A
// row's own take a path, two phases in twice double precision, and their sines and cosines: some hundred multiply-adds
// for each source. Where UVW are differences of one vector per antenna (nodes/psv/antennas.h), they are products of
// those of its two antennas, of which there are far fewer: exp(2 pi i (x_p - x_q)) = exp(2 pi i x_p) exp(-2 pi i x_q).
#pragma once

#include "nodes/psv/pipeline/arrays.h"
#include "runtime/device/job_launch.h"

namespace rimetree::psv::device {
using namespace pipeline;

/// A phase in units of 2^-32 turns: multiples of it are exact, and whole turns fall off.
RT_HD inline std::uint32_t fixed_turns(double turns) {
  using std::rint;                  // numbers that record have their own
  constexpr double kMost = 0x1p30;  // beyond that a double has no phase left; nor has what is not a number
  return abs(turns) < kMost ? static_cast<std::uint32_t>(static_cast<std::int64_t>(rint(turns * 0x1p32))) : 0;
}

/// Both parts are read and written at once.
template <class T>
struct alignas(2 * sizeof(T)) PairedComplex : Complex<T> {
  PairedComplex() = default;
  template <class U>
  RT_HD PairedComplex(Complex<U> z) : Complex<T>{static_cast<T>(z.re), static_cast<T>(z.im)} {}
};

/// The phasor in the middle of a run, and the rotation over half a step between channels.
template <class T>
struct Seed {
  PairedComplex<double> middle, half_step;
};
/// Singles have phases, so that products are differences without an error.
template <>
struct alignas(16) Seed<float> {
  std::uint32_t middle, half_step;  ///< fixed_turns()
  float finite;                     ///< 0, or not a number, which must show
};

/// Of a path difference: phases are reduced in twice double precision. For singles double precision alone is enough:
/// they are right to 1e-9 for a million radians.
template <class T>
RT_HD Seed<T> seed_of(const DeviceRun& run, DoubleDouble<double> path) {
  if constexpr (sizeof(T) == 8)
    return {turn(reduced_turns(path, DoubleDouble<double>{run.middle_high, run.middle_low})),
            turn(reduced_turns(path, DoubleDouble<double>{run.half_step_high, run.half_step_low}))};
  else
    return {fixed_turns(path.hi * run.middle_high), fixed_turns(path.hi * run.half_step_high),
            static_cast<float>(0 * path.hi)};
}
/// Of the path x_p - x_q, from those of x_p and x_q.
RT_HD inline Seed<double> difference(const Seed<double>& p, const Seed<double>& q) {
  return {p.middle * conj(q.middle), p.half_step * conj(q.half_step)};
}
RT_HD inline Seed<float> difference(const Seed<float>& p, const Seed<float>& q) {
  return {p.middle - q.middle, p.half_step - q.half_step, p.finite + q.finite};
}

/// Path difference of a source: in twice double precision, for singles in double.
template <class T>
RT_HD DoubleDouble<double> path_of(const DeviceSource& s, double u, double v, double w) {
  if constexpr (sizeof(T) == 4) return {path_difference_m(u, v, w, s.l, s.m, s.n_high), 0.0};
  return path_difference_exact(u, v, w, s.l, s.m, DoubleDouble<double>{s.n_high, s.n_low});
}

/// An antenna of a time slot, metres: UVW of a row are the difference of two.
struct DeviceAntenna {
  double x, y, z;
};

/// The seeds of all antennas of some rows. Arrays are device memory.
template <class T>
struct AntennaJob {
  const DeviceSource* source = nullptr;
  const DeviceRun* run = nullptr;
  const DeviceAntenna* antenna = nullptr;
  Seed<T>* seed = nullptr;  ///< [run][source][antenna]
  std::int32_t n_source = 0, n_run = 0, n_antenna = 0;

  RT_HD std::int64_t n_thread() const { return std::int64_t{n_run} * n_source * n_antenna; }
  RT_HD void thread(std::int64_t i) const {
    const std::int64_t pair = i / n_antenna;
    const DeviceAntenna& a = antenna[i % n_antenna];
    seed[i] = seed_of<T>(run[pair / n_source], path_of<T>(source[pair % n_source], a.x, a.y, a.z));
  }
};

/// Calls f(array, number of elements) for each array.
template <class T, class F>
void for_each_array(AntennaJob<T>& job, F&& f) {
  f(job.source, job.n_source);
  f(job.run, job.n_run);
  f(job.antenna, job.n_antenna);
  f(job.seed, job.n_thread());
}

}  // namespace rimetree::psv::device
