#include "nodes/psv/fourier/chebyshev.h"

#include <array>
#include <cmath>
#include <mutex>
#include <numbers>

namespace rimetree::psv::fourier {

double chebyshev_point(int i, int n_term) {
  return static_cast<double>(std::cos(std::numbers::pi_v<long double> * (i + 0.5L) / static_cast<long double>(n_term)));
}

const std::vector<double>& chebyshev_matrix(int n_term) {
  static std::array<std::once_flag, kMaxTerms + 1> once;
  static std::array<std::vector<double>, kMaxTerms + 1> matrices;
  std::call_once(once.at(static_cast<std::size_t>(n_term)), [n_term] {
    std::vector<double>& m = matrices[static_cast<std::size_t>(n_term)];
    for (int j = 0; j < n_term; ++j)
      for (int i = 0; i < n_term; ++i)
        m.push_back(static_cast<double>((j == 0 ? 1.0L : 2.0L) / n_term *
                                        std::cos(std::numbers::pi_v<long double> * j * (i + 0.5L) / n_term)));
  });
  return matrices[static_cast<std::size_t>(n_term)];
}

}  // namespace rimetree::psv::fourier
