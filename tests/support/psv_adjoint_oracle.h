// What the adjoint of PSV is, for tests of its kernels: the scalar body on traced numbers.
#pragma once

#include "nodes/psv/body.h"
#include "runtime/math/traced.h"
#include "tests/support/psv_case.h"

namespace rimetree::testing {

using T = Traced<double>;

/// Derivatives by source, in the case's order, as the body gives them.
struct Expected {
  std::vector<double> lmn, shape;           // [source][3]
  std::vector<Complex<double>> brightness;  // [element][source][channel or 1]
  std::vector<Complex<double>> jones;       // as Case::jones_values
};

/// The same places in another array, from time `time` on.
inline psv::Strided<Complex<T>> same_place(const Case& c, const psv::Strided<Complex<double>>& view, std::int32_t time,
                                           const std::vector<Complex<T>>& values) {
  return {values.data() + (view.data - c.jones_values.data()) + time * view.time, view.source, 0, view.channel};
}

/// `adjoint`: [row][XX XY YX YY][channel].
inline Expected expected_adjoints(const Case& c, const std::vector<Complex<double>>& adjoint) {
  const std::size_t n_source = c.sources.size(), n_channel = c.n_channel();
  const std::size_t n_weight = c.options.spectra ? n_channel : 1;
  const std::size_t columns = c.axes_are_vectors() ? 6 : 3;
  Expected found{std::vector<double>(3 * n_source), std::vector<double>(columns * n_source),
                 std::vector<Complex<double>>(4 * n_source * n_weight),
                 std::vector<Complex<double>>(c.jones_values.size())};
  Tape<double> tape;
  const auto input = [&](double x, double& target) { return T(x, tape.input(&target), &tape); };
  std::vector<T> lmn(3 * n_source), shape(columns * n_source);
  std::vector<Complex<T>> brightness;
  const std::vector<double>* from[6] = {&c.l, &c.m, &c.n, &c.major, &c.minor, &c.angle};
  for (std::size_t s = 0; s < n_source; ++s)
    for (std::size_t i = 0; i < 3; ++i) {
      lmn[3 * s + i] = input((*from[i])[s], found.lmn[3 * s + i]);
      if (c.extended() && columns == 3) shape[3 * s + i] = input((*from[3 + i])[s], found.shape[3 * s + i]);
    }
  for (std::size_t i = 0; i < c.axes.size(); ++i) shape[i] = input(c.axes[i], found.shape[i]);
  for (std::size_t i = 0; i < c.brightness.size(); ++i)
    brightness.emplace_back(input(c.brightness[i].re, found.brightness[i].re),
                            input(c.brightness[i].im, found.brightness[i].im));
  std::vector<Complex<T>> jones;
  for (std::size_t i = 0; i < c.jones_values.size(); ++i)
    jones.emplace_back(input(c.jones_values[i].re, found.jones[i].re), input(c.jones_values[i].im, found.jones[i].im));
  const std::vector<T> profile(c.profile.begin(), c.profile.end());
  const std::size_t mark = tape.size();
  for (std::size_t row = 0; row < c.n_row(); ++row) {
    psv::Problem<T> problem;
    const auto count = static_cast<std::ptrdiff_t>(n_weight);
    psv::Strided<T>* place[6] = {&problem.l,     &problem.m,     &problem.n,
                                 &problem.major, &problem.minor, &problem.position_angle};
    for (std::size_t i = 0; i < 3; ++i) {
      *place[i] = {lmn.data() + i, 3, 0, 0};
      if (c.extended() && columns == 3) *place[3 + i] = {shape.data() + i, 3, 0, 0};
    }
    for (std::size_t i = 0; i < 6 && columns == 6; ++i) problem.axes[i] = {shape.data() + i, 6, 0, 0};
    if (c.options.disks) problem.profile = {profile.data(), 1, 0, 0};
    for (std::size_t e = 0; e < 4; ++e)
      problem.brightness[e] = {brightness.data() + e * n_source * n_weight, count, 0, n_weight > 1 ? 1 : 0};
    std::vector<psv::JonesPair<T>> pairs;
    for (int k = 0; k < c.n_pair; ++k) {
      const auto& from = c.jones_pairs[static_cast<std::size_t>(c.row_baseline[row] * c.n_pair + k)];
      auto& pair = pairs.emplace_back();
      pair.p_is_matrix = from.p_is_matrix, pair.q_is_matrix = from.q_is_matrix;
      for (int e = 0; e < 4; ++e) {
        pair.p[e] = same_place(c, from.p[e], c.row_time[row], jones);
        pair.q[e] = same_place(c, from.q[e], c.row_time[row], jones);
      }
    }
    problem.jones = pairs.data();
    problem.n_jones = c.n_pair;
    std::vector<T> store;
    store.reserve(6);
    psv::Strided<T>* uvw[6] = {&problem.u, &problem.v, &problem.w, &problem.du, &problem.dv, &problem.dw};
    for (std::size_t i = 0; i < (c.options.smearing ? 6u : 3u); ++i) {
      store.push_back(i < 3 ? c.uvw[i][row] : c.duvw[i - 3][row]);
      *uvw[i] = {&store.back(), 0, 0, 0};
    }
    problem.frequency_hz = c.frequency.data();
    problem.width_hz = c.width.data();
    problem.exposure_s = c.exposure.data() + row;
    for (std::size_t f = 0; f < n_channel; ++f)
      for (std::size_t s = 0; s < n_source; ++s) {
        const Jones<T> v =
            psv::contribution(problem, static_cast<std::ptrdiff_t>(s), 0, static_cast<std::ptrdiff_t>(f));
        const Complex<T> element[4] = {v.xx, v.xy, v.yx, v.yy};
        for (std::size_t e = 0; e < 4; ++e) {
          const Complex<double> a = adjoint[(row * 4 + e) * n_channel + f];
          tape.seed(element[e].re.number, a.re);
          tape.seed(element[e].im.number, a.im);
        }
        tape.sweep(mark);
      }
  }
  tape.flush();
  return found;
}

/// dL/d(weight in a plane) from dL/d(brightness).
inline double along_plane(psv::Plane plane, const Complex<double> (&b)[4]) {
  switch (plane) {
    case psv::Plane::kI:
      return b[0].re + b[3].re;
    case psv::Plane::kQ:
      return b[0].re - b[3].re;
    case psv::Plane::kU:
      return b[1].re + b[2].re;
    case psv::Plane::kV:
      return b[1].im - b[2].im;
    default: {
      const int i = static_cast<int>(plane) - static_cast<int>(psv::Plane::kXxRe);
      return i % 2 == 0 ? b[i / 2].re : b[i / 2].im;
    }
  }
}

}  // namespace rimetree::testing
