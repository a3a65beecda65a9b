// What a class of nodes is in algebra: the formula that its values follow. Whoever reads a tree as a formula - to find
// Jones terms in it, say, or sums over sources - goes by this and never by a class's name, so that a plugin's product
// is treated like the one that comes along.
#pragma once

#include <cstdint>

namespace rimetree {

/// A class may declare a formula only if its values follow it for all states and children that the class accepts. c0,
/// c1, ... are the children in their order; "state" means that there are state fields of these names and meanings. In
/// operations element by element a scalar stands for a tensor of equal elements. Flags are the default rule's or go
/// with their elements.
enum class Algebra : std::uint8_t {
  none,  ///< nothing is said

  // Operations on any tensors.
  identity,             ///< c0
  sum,                  ///< c0 + c1 + ..., element by element; missing children are left out
  difference,           ///< c0 - c1, element by element
  negation,             ///< -c0
  product,              ///< c0 c1 ..., element by element
  quotient,             ///< c0 / c1, element by element
  conjugate,            ///< c0*, element by element
  transpose,            ///< the last two dimensions of c0 exchanged
  conjugate_transpose,  ///< the same, conjugated
  /// c0 c1 ... as matrices, from left to right: [n,m], stacks [source,n,m] matrix by matrix, scalars, and next to a
  /// stack [source] for a scalar per matrix.
  matrix_product,
  complex_number,  ///< c0 + i c1, real children
  polar_number,    ///< c0 exp(i c1), real children
  exponential,     ///< exp(c0), element by element
  cosine,          ///< cos(c0), element by element
  sine,            ///< sin(c0), element by element
  real_part,       ///< Re c0, element by element
  imaginary_part,  ///< Im c0, element by element
  composition,     ///< the elements of c0, c1, ... one after the other, row-major, in the node's dimensions
  selection,       ///< some elements of c0; state index, multi as of class Selector
  /// The sum of the children's values over cells, or over a dimension; state reduction_axes, tensor_axis as of class
  /// Sum.
  reduction,

  // Leaves.
  constant,   ///< the numbers of state value; zero everywhere if these are
  parameter,  ///< what can be solved for; state as of class Parm (runtime/core/node/solution_tiles.h)
  data,       ///< what the data of the request hold
  frequency,  ///< the frequencies of the cells

  /// c0 - c1: data less model; c2, if it is there, times state weight_factor are weights that go along with the result.
  residual,

  // Terms of the measurement equation, by the conventions of runtime/math/conventions.h. Directions are lmn [3] or
  // [source,3], coordinates uvw [3] or with rates [2,3].
  direction,    ///< l, m, n of right ascension and declination c0, seen from the phase centre c1
  coordinates,  ///< u, v, w of a station: c0 phase centre, c1 position, c2 where it is counted from
  phase,        ///< exp(2 pi i nu/c (u l + v m + w (n - n_minus))) of lmn c0 and uvw c1; state n_minus
  smearing,     ///< the loss over a cell's widths, of lmn c0 and uvw c1; state n_minus, smear_time, smear_frequency
  /// What a shape does (runtime/math/profile.h): axes, position angle and, if it is there, the number of a profile c0
  /// [3], [4], [source,3] or [source,4], uvw c1.
  taper,
  spectrum,    ///< Stokes parameters at the frequencies of the cells; children and state as of class Spectrum
  brightness,  ///< the matrix of Stokes parameters c0 [4] or [source,4]; state feed
  source_sum,  ///< all of these for many sources in one pass; children and state as of class PSV
};

}  // namespace rimetree
