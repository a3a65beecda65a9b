// Chebyshev points and series on [-1, 1].
#pragma once

#include <vector>

namespace rimetree::psv::fourier {

inline constexpr int kMaxTerms = 40;  ///< of a series in frequency

/// Point i of n, from 1 downwards.
double chebyshev_point(int i, int n_term);
/// Coefficients from values at these points, [term][point]; made once per number of at most kMaxTerms.
const std::vector<double>& chebyshev_matrix(int n_term);

}  // namespace rimetree::psv::fourier
