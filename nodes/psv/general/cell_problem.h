// The PSV sum as a function of one cell, for devices: the scalar body (body.h) on a child's numbers where they are,
// with their derivatives or without. For host and device.
#pragma once

#include "nodes/psv/operands.h"
#include "nodes/psv/reference.h"
#include "runtime/device/cell_job.h"

namespace rimetree::psv::general {

/// A child's numbers on the cell, real: element `first` of sources that hold `per_source` each.
template <class In>
struct CellView {
  const In* in = nullptr;  ///< null: absent
  std::size_t slot = 0, first = 0, per_source = 0;

  RT_HD explicit operator bool() const { return in != nullptr; }
  RT_HD bool moves() const { return in != nullptr && in->moves(slot); }
  RT_HD typename In::Real at(std::ptrdiff_t s, std::ptrdiff_t, std::ptrdiff_t) const {
    return (*in)(slot, static_cast<std::size_t>(s) * per_source + first).re;
  }
};
/// The same of complex ones.
template <class In>
struct ComplexCellView {
  CellView<In> view;

  RT_HD explicit operator bool() const { return view.in != nullptr; }
  RT_HD bool moves() const { return view.moves(); }
  RT_HD typename In::Number at(std::ptrdiff_t s, std::ptrdiff_t, std::ptrdiff_t) const {
    return (*view.in)(view.slot, static_cast<std::size_t>(s) * view.per_source + view.first);
  }
};

/// What the sum over all sources is made from, but for the children.
struct GeneralBody : LayoutNumbers {
  static constexpr std::size_t kMostJones = 64;  ///< Jones terms of a baseline

  std::int32_t n_jones = 0;              ///< pairs
  std::uint64_t jones_are_matrices = 0;  ///< a bit for each term
  bool has_exposure = false;

  template <class In, class Out>
  RT_HD void cell(const In& in, Out out) const;
};

/// Members as of a Problem, of one cell.
template <class In>
struct CellProblem {
  using Number = typename In::Real;
  struct Pair {
    ComplexCellView<In> p[4], q[4];
    bool p_is_matrix, q_is_matrix;
  };
  struct Pairs {
    const In* in;
    std::uint64_t matrices;
    RT_HD Pair operator[](int i) const {
      Pair pair;
      const auto slot = kFirstJones + 2 * static_cast<std::size_t>(i);
      pair.p_is_matrix = (matrices >> (2 * i) & 1) != 0;
      pair.q_is_matrix = (matrices >> (2 * i + 1) & 1) != 0;
      set_matrix(in, slot, pair.p_is_matrix, pair.p);
      set_matrix(in, slot + 1, pair.q_is_matrix, pair.q);
      return pair;
    }
  };

  RT_HD CellProblem(const GeneralBody& body, const In& in)
      : n_source(body.n_source),
        n_minus(body.n_minus),
        jones{&in, body.jones_are_matrices},
        n_jones(body.n_jones),
        frequency_hz(&in.frequency_hz),
        width_hz{&in.frequency_width_hz, body.widths.freq_hz},
        exposure_s{body.has_exposure ? &in.time_width_s : nullptr, body.widths.time_s},
        smear_time(body.smear_time),
        smear_frequency(body.smear_frequency) {
    l = {&in, kLmn, 0, 3}, m = {&in, kLmn, 1, 3}, n = {&in, kLmn, 2, 3};
    u = {&in, kUvw, 0, 0}, v = {&in, kUvw, 1, 0}, w = {&in, kUvw, 2, 0};
    if (body.has_rates) du = {&in, kUvw, 3, 0}, dv = {&in, kUvw, 4, 0}, dw = {&in, kUvw, 5, 0};
    if (const auto columns = static_cast<std::size_t>(body.shape_columns); columns > 0) {
      if (body.shapes_are_vectors())
        for (std::size_t i = 0; i < 6; ++i) axes[i] = {&in, kShape, i, columns};
      else
        major = {&in, kShape, 0, columns}, minor = {&in, kShape, 1, columns},
        position_angle = {&in, kShape, 2, columns};
      if (body.has_profiles()) profile = {&in, kShape, static_cast<std::size_t>(body.axis_columns()), columns};
    }
    set_matrix(&in, kBrightness, body.brightness_elements == 4, brightness);
    if (body.brightness_elements == 1) brightness[3] = brightness[0];  // unpolarised
  }

  std::ptrdiff_t n_source;
  int n_minus;
  CellView<In> l, m, n, u, v, w, du, dv, dw, major, minor, position_angle, axes[6], profile;
  ComplexCellView<In> brightness[4];
  Pairs jones;
  int n_jones;
  const double* frequency_hz;
  Widths width_hz, exposure_s;
  bool smear_time, smear_frequency;

 private:
  RT_HD static void set_matrix(const In* in, std::size_t slot, bool is_matrix, ComplexCellView<In>* view) {
    RT_UNROLL
    for (std::size_t e = 0; e < 4; ++e) view[e] = {{e == 0 || is_matrix ? in : nullptr, slot, e, is_matrix ? 4u : 1u}};
  }
};

template <class In, class Out>
RT_HD void GeneralBody::cell(const In& in, Out out) const {
  using T = typename In::Real;
  for_each_element(visibility(CellProblem<In>(*this, in), 0, 0), [&out](int i, const Complex<T>& z) { out[i] = z; });
}

/// Its programs, of values only and with derivatives.
template <bool kDerivatives>
using GeneralProgram = CellProgram<GeneralBody, Complex<double>, Complex<double>, kDerivatives>;

}  // namespace rimetree::psv::general
