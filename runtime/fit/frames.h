// Local coordinates of unknowns that are complex numbers or 2x2 matrices of them: relative to their own value, so that
// a step is a stretch and a turn. What data hardly determine of Jones matrices is a common turn (the phase between the
// feeds on a weakly polarised sky, or any unitary matrix on an unpolarised one): along it chi-square is a valley that
// is curved in real and imaginary parts, where straight steps must be short, and straight in these coordinates.
#pragma once

#include <array>
#include <complex>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace rimetree::fit {

/// Unknowns that are the elements of a complex matrix of side 1 or 2: real and imaginary part of each, row by row.
struct ComplexMatrix {
  std::size_t side = 1;
  std::array<std::uint32_t, 8> unknowns{};
};

/// Coordinates at a point x: a step is `value * local`, with the matrix's value scaled to norm 1; other unknowns are
/// their own coordinates, and so are matrices that cannot be inverted.
class Frames {
 public:
  Frames() = default;
  Frames(const std::vector<ComplexMatrix>& matrices, const std::vector<double>& x);

  std::vector<double> step_to_local(std::vector<double> step) const;
  std::vector<double> step_from_local(std::vector<double> step) const;
  /// Derivatives with respect to local coordinates, from those with respect to unknowns; and back.
  std::vector<double> gradient_to_local(std::vector<double> gradient) const;
  std::vector<double> gradient_from_local(std::vector<double> gradient) const;
  /// The largest norm of a local step relative to its matrix; 0 if there is none.
  double longest_turn(const std::vector<double>& step) const;
  /// The step with which no matrix shrinks to less than a quarter, in any direction. At 0 a number has no direction,
  /// and whatever step would lead away from there is the longest of all.
  std::vector<double> without_vanishing(std::vector<double> step) const;
  /// Where a step from x leads: stretched by the Hermitian part of the local step, turned by the anti-Hermitian one.
  std::vector<double> move(const std::vector<double>& x, const std::vector<double>& step) const;

 private:
  using Matrix = std::array<std::complex<double>, 4>;  // row by row; of side 1 only the first counts
  struct Frame {
    ComplexMatrix of;
    Matrix value{}, inverse{};
    double norm = 0;
  };
  template <class Body>
  void transform(std::vector<double>& vector, const Body& body) const;

  std::vector<Frame> frames_;
};

}  // namespace rimetree::fit
