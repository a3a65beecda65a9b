#include "runtime/ms/set/weights.h"

#include <algorithm>
#include <cmath>

#include "runtime/ms/set/row_blocks.h"

namespace rimetree::ms {

bool has_weight_spectrum(const CasacoreTable& main, const std::vector<std::int64_t>& rows) {
  // Some writers define the cells but leave them without elements.
  return !rows.empty() && main.has_column("WEIGHT_SPECTRUM") && main.all_defined("WEIGHT_SPECTRUM", rows) &&
         main.cell_shape("WEIGHT_SPECTRUM", rows.front()) != std::vector<std::size_t>{0, 0};
}

void read_weights(const CasacoreTable& main, const std::vector<std::int64_t>& rows, const CellPart& part, bool spectrum,
                  std::vector<float>* weights) {
  weights->resize(rows.size() * part.size());
  if (spectrum) return main.read_cells("WEIGHT_SPECTRUM", rows, part, weights->data());
  const std::size_t n = part.whole.n_correlation;
  std::vector<float> per_row(rows.size() * n);
  main.read_vectors("WEIGHT", rows, n, per_row.data());
  float* to = weights->data();
  for (std::size_t row = 0; row < rows.size(); ++row, to += part.size()) {
    std::copy_n(&per_row[row * n], n, to);
    for (std::size_t done = n, some = 0; done < part.size(); done += some) {  // twice as many each time
      some = std::min(done, part.size() - done);
      std::copy_n(to, some, to + done);
    }
  }
}

void write_row_weights(CasacoreTable& main, const std::vector<std::int64_t>& rows, const CellShape& shape) {
  const std::size_t n = shape.n_correlation, of_row = shape.n_channel * n;
  for_row_blocks(rows.size(), of_row * sizeof(float), [&](std::size_t begin, std::size_t end) {
    const std::vector<std::int64_t> some{rows.begin() + static_cast<std::ptrdiff_t>(begin),
                                         rows.begin() + static_cast<std::ptrdiff_t>(end)};
    std::vector<float> spectra(some.size() * of_row), weights(some.size() * n), sigmas(weights.size());
    main.read_cells("WEIGHT_SPECTRUM", some, {shape, 0, shape.n_channel}, spectra.data());
    for (std::size_t i = 0; i < weights.size(); ++i) {
      double sum = 0;
      std::size_t count = 0;
      for (std::size_t channel = 0; channel < shape.n_channel; ++channel) {
        const float weight = spectra[i / n * of_row + channel * n + i % n];
        sum += weight;
        count += weight > 0 ? 1 : 0;
      }
      weights[i] = count > 0 ? static_cast<float>(sum / static_cast<double>(count)) : 0.0f;
      sigmas[i] = weights[i] > 0 ? 1 / std::sqrt(weights[i]) : 0.0f;
    }
    main.write_vectors("WEIGHT", some, n, weights.data());
    main.write_vectors("SIGMA", some, n, sigmas.data());
  });
}

}  // namespace rimetree::ms
