// Symmetric equations of a few unknowns.
#pragma once

#include <span>

namespace rimetree::fit {

inline constexpr std::size_t kMostOfSmall = 8;

/// Solves A x = b with A symmetric and not negative, [n, n] with n at most kMostOfSmall. False, and x untouched, where
/// nothing finite solves it. An unknown of which nothing is told is 0.
bool solve_small(std::span<const double> a, std::span<const double> b, std::span<double> x);

}  // namespace rimetree::fit
