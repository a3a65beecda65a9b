#include "runtime/solve/jones/smoothing.h"

#include <cmath>
#include <span>

namespace rimetree::solve {

namespace {

/// What segments give to one of them: from `first` on.
struct Share {
  std::size_t first = 0;
  std::vector<double> part;
};

std::vector<Share> kernel(const std::vector<double>& centre_hz, double width_hz) {
  constexpr double kSigmaOfWidth = 1 / 2.3548200450309493, kFar = 5;
  const std::size_t n = centre_hz.size();
  const auto value = [&](std::size_t to, std::size_t from) {
    const double distance = (centre_hz[to] - centre_hz[from]) / (width_hz * kSigmaOfWidth);
    return std::abs(distance) < kFar ? std::exp(-0.5 * distance * distance) : 0.0;
  };
  std::vector<double> given(n, 0.0);
  for (std::size_t from = 0; from < n; ++from)
    for (std::size_t to = 0; to < n; ++to) given[from] += value(to, from);
  std::vector<Share> rows(n);
  for (std::size_t to = 0; to < n; ++to) {
    std::size_t last = 0;
    rows[to].first = n;
    for (std::size_t from = 0; from < n; ++from)
      if (value(to, from) > 0) rows[to].first = std::min(rows[to].first, from), last = from;
    for (std::size_t from = rows[to].first; from <= last; ++from)
      rows[to].part.push_back(value(to, from) / given[from]);
  }
  return rows;
}

/// Numbers [segment, `stride`], of which columns [begin, end) are convolved.
void convolve(const std::vector<Share>& rows, double* numbers, std::size_t stride, std::size_t begin, std::size_t end) {
  const std::size_t width = end - begin;
  std::vector<double> smooth(rows.size() * width, 0.0);
  for (std::size_t to = 0; to < rows.size(); ++to)
    for (std::size_t k = 0; k < rows[to].part.size(); ++k) {
      const double share = rows[to].part[k], *from = numbers + (rows[to].first + k) * stride + begin;
      double* sum = &smooth[to * width];
      for (std::size_t i = 0; i < width; ++i) sum[i] += share * from[i];
    }
  for (std::size_t to = 0; to < rows.size(); ++to)
    std::copy_n(&smooth[to * width], width, numbers + to * stride + begin);
}

}  // namespace

void smooth_along_frequency(const std::vector<double>& centre_hz, double width_hz, JonesSums& sums,
                            ThreadPool& threads) {
  constexpr std::size_t kColumns = 256;  // of all segments at a time: they stay in a cache
  const std::vector<Share> rows = kernel(centre_hz, width_hz);
  const std::size_t n_frequency = centre_hz.size(), n_time = sums.n_block() / n_frequency;
  const std::span<Complex<double>> products = sums.all_products();
  const std::size_t stride = 2 * products.size() / sums.n_block(), n_part = (stride + kColumns - 1) / kColumns;
  auto* numbers = reinterpret_cast<double*>(products.data());
  threads.parallel_for(n_time * n_part, 1, [&](std::size_t begin, std::size_t end, int) {
    for (std::size_t i = begin; i < end; ++i) {
      const std::size_t first = i % n_part * kColumns;
      convolve(rows, numbers + i / n_part * n_frequency * stride, stride, first, std::min(stride, first + kColumns));
    }
  });
  const std::span<ScalarSums> scalars = sums.all_scalars();
  const std::size_t n_scalar = scalars.size() / sums.n_block();
  std::vector<ScalarSums> smooth(n_frequency);
  for (std::size_t t = 0; t < n_time; ++t)
    for (std::size_t k = 0; k < n_scalar; ++k) {
      const auto at = [&](std::size_t f) -> ScalarSums& { return scalars[(t * n_frequency + f) * n_scalar + k]; };
      for (std::size_t to = 0; to < n_frequency; ++to) {
        smooth[to] = at(to);
        smooth[to].power = smooth[to].data_power = 0;
        for (std::size_t i = 0; i < rows[to].part.size(); ++i) {
          smooth[to].power += rows[to].part[i] * at(rows[to].first + i).power;
          smooth[to].data_power += rows[to].part[i] * at(rows[to].first + i).data_power;
        }
      }
      for (std::size_t to = 0; to < n_frequency; ++to) at(to) = smooth[to];
    }
}

}  // namespace rimetree::solve
