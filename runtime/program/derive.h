// Recordings of derivatives, made from the recordings of what they are the derivatives of: forward, the tangents of all
// numbers along one direction; in reverse, the adjoints of all numbers that are read, by one sweep from the last
// operation to the first (Griewank & Walther, "Evaluating Derivatives", 2nd ed., sections 3.1 and 3.2). Both are added
// to the same recording, such that values are shared. What the derivative of a function is stands with dual numbers
// (runtime/math/dual.h).
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "runtime/program/recording.h"

namespace rimetree::program {

/// The name of no number: a derivative that is zero.
inline constexpr std::int32_t kZero = -1;

/// Names of the tangents of numbers, kZero for those that do not depend on what varies. `of_load` names the tangent of
/// what is read. The recording must be the current one. `n_operation`: of which the names are; what has been recorded
/// after these (tangents along other directions) does not matter.
std::vector<std::int32_t> tangents(Recording& recording, std::span<const std::int32_t> names,
                                   const std::function<std::int32_t(const Load&)>& of_load,
                                   std::size_t n_operation = ~std::size_t{0});

/// An outcome and its adjoint, or what is read and its adjoint.
struct Adjoint {
  std::int32_t name = 0, adjoint = 0;
};

/// Adjoints of all loads that are wanted and matter, in the order of their names. The recording must be the current
/// one. What has no adjoint contributes nothing, be it infinite. Throws NotRecordable where a table is wanted that
/// numbers are looked up in.
std::vector<Adjoint> adjoints(Recording& recording, std::span<const Adjoint> outcomes,
                              const std::function<bool(const Load&)>& is_wanted);

}  // namespace rimetree::program
