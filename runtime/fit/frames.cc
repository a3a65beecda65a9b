#include "runtime/fit/frames.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace rimetree::fit {

namespace {

using Complex = std::complex<double>;
using Matrix = std::array<Complex, 4>;

// A turn by more than this is no local step, and a matrix closer to a singular one has no frame.
constexpr double kMostLocal = 3, kLeastDeterminant = 1e-3;
// What a step leaves of a matrix at least, relative to it.
constexpr double kLeastLeft = 0.25;

Matrix load(const ComplexMatrix& of, const std::vector<double>& x) {
  Matrix m{};
  for (std::size_t e = 0; e < of.side * of.side; ++e) m[e] = {x[of.unknowns[2 * e]], x[of.unknowns[2 * e + 1]]};
  return m;
}

void store(const ComplexMatrix& of, const Matrix& m, std::vector<double>& x) {
  for (std::size_t e = 0; e < of.side * of.side; ++e)
    x[of.unknowns[2 * e]] = m[e].real(), x[of.unknowns[2 * e + 1]] = m[e].imag();
}

double norm(const Matrix& m) {
  return std::sqrt(std::norm(m[0]) + std::norm(m[1]) + std::norm(m[2]) + std::norm(m[3]));
}

Matrix multiply(std::size_t side, const Matrix& a, const Matrix& b) {
  if (side == 1) return {a[0] * b[0]};
  return {a[0] * b[0] + a[1] * b[2], a[0] * b[1] + a[1] * b[3], a[2] * b[0] + a[3] * b[2], a[2] * b[1] + a[3] * b[3]};
}

Matrix adjoint(const Matrix& m) { return {std::conj(m[0]), std::conj(m[2]), std::conj(m[1]), std::conj(m[3])}; }

/// How far a local step goes straight: a number may turn by any angle, as where a delay beside it takes that back.
double length(std::size_t side, const Matrix& local) { return side == 1 ? std::abs(local[0].real()) : norm(local); }

/// The Hermitian part and the anti-Hermitian one.
std::pair<Matrix, Matrix> parts(const Matrix& m) {
  const Matrix other = adjoint(m);
  std::pair<Matrix, Matrix> found;
  for (std::size_t e = 0; e < 4; ++e)
    found.first[e] = 0.5 * (m[e] + other[e]), found.second[e] = 0.5 * (m[e] - other[e]);
  return found;
}

/// Of a Hermitian matrix.
double least_eigenvalue(std::size_t side, const Matrix& m) {
  if (side == 1) return m[0].real();
  const double mean = 0.5 * (m[0].real() + m[3].real()), half = 0.5 * (m[0].real() - m[3].real());
  return mean - std::sqrt(half * half + std::norm(m[1]));
}

/// exp(i (a0 + a . sigma)) for the anti-Hermitian matrix i (a0 + a . sigma) (sigma: Pauli matrices).
Matrix turn(std::size_t side, const Matrix& anti) {
  if (side == 1) return {std::polar(1.0, anti[0].imag())};
  const double a0 = 0.5 * (anti[0].imag() + anti[3].imag()), z = 0.5 * (anti[0].imag() - anti[3].imag());
  const Complex xy = anti[1];
  const double angle = std::sqrt(z * z + std::norm(xy));
  const double c = std::cos(angle), s = angle > 0 ? std::sin(angle) / angle : 1;
  const Complex common = std::polar(1.0, a0);
  return {common * Complex(c, s * z), common * s * xy, -common * s * std::conj(xy), common * Complex(c, -s * z)};
}

}  // namespace

Frames::Frames(const std::vector<ComplexMatrix>& matrices, const std::vector<double>& x) {
  for (const ComplexMatrix& of : matrices) {
    Frame frame{of, load(of, x), {}, 0};
    frame.norm = fit::norm(frame.value);
    if (!(frame.norm > 0) || !std::isfinite(frame.norm)) continue;
    Matrix& v = frame.value;
    for (Complex& element : v) element /= frame.norm;
    if (of.side == 1) {
      frame.inverse[0] = std::conj(v[0]);
    } else {
      const Complex determinant = v[0] * v[3] - v[1] * v[2];
      if (std::abs(determinant) < kLeastDeterminant) continue;
      frame.inverse = {v[3] / determinant, -v[1] / determinant, -v[2] / determinant, v[0] / determinant};
    }
    frames_.push_back(frame);
  }
}

template <class Body>
void Frames::transform(std::vector<double>& vector, const Body& body) const {
  for (const Frame& frame : frames_)
    store(frame.of, multiply(frame.of.side, body(frame), load(frame.of, vector)), vector);
}

std::vector<double> Frames::step_to_local(std::vector<double> step) const {
  transform(step, [](const Frame& frame) { return frame.inverse; });
  return step;
}

std::vector<double> Frames::step_from_local(std::vector<double> step) const {
  transform(step, [](const Frame& frame) { return frame.value; });
  return step;
}

std::vector<double> Frames::gradient_to_local(std::vector<double> gradient) const {
  transform(gradient, [](const Frame& frame) { return adjoint(frame.value); });
  return gradient;
}

std::vector<double> Frames::gradient_from_local(std::vector<double> gradient) const {
  transform(gradient, [](const Frame& frame) { return adjoint(frame.inverse); });
  return gradient;
}

double Frames::longest_turn(const std::vector<double>& step) const {
  double longest = 0;
  for (const Frame& frame : frames_)
    longest = std::max(longest, fit::norm(multiply(frame.of.side, frame.inverse, load(frame.of, step))) / frame.norm);
  return longest;
}

std::vector<double> Frames::without_vanishing(std::vector<double> step) const {
  for (const Frame& frame : frames_) {
    const std::size_t side = frame.of.side;
    Matrix local = multiply(side, frame.inverse, load(frame.of, step));
    const auto [stretch, anti] = parts(local);
    const double least = least_eigenvalue(side, stretch) / frame.norm;
    if (least >= kLeastLeft - 1) continue;
    for (std::size_t e = 0; e < 4; ++e) local[e] = stretch[e] * ((kLeastLeft - 1) / least) + anti[e];
    store(frame.of, multiply(side, frame.value, local), step);
  }
  return step;
}

std::vector<double> Frames::move(const std::vector<double>& x, const std::vector<double>& step) const {
  std::vector<double> moved(x);
  for (std::size_t k = 0; k < x.size(); ++k) moved[k] += step[k];
  for (const Frame& frame : frames_) {
    const std::size_t side = frame.of.side;
    Matrix local = multiply(side, frame.inverse, load(frame.of, step));
    for (Complex& element : local) element /= frame.norm;
    if (!(length(side, local) <= kMostLocal)) continue;
    auto [stretch, anti] = parts(local);
    stretch[0] += 1;
    stretch[3] += 1;
    Matrix value = multiply(side, multiply(side, frame.value, stretch), turn(side, anti));
    for (Complex& element : value) element *= frame.norm;
    store(frame.of, value, moved);
  }
  return moved;
}

}  // namespace rimetree::fit
