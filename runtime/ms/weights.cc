#include "runtime/ms/weights.h"

namespace rimetree::ms {

bool has_weight_spectrum(const CasacoreTable& main, const std::vector<std::int64_t>& rows) {
  // Some writers define the cells but leave them without elements.
  return !rows.empty() && main.has_column("WEIGHT_SPECTRUM") && main.all_defined("WEIGHT_SPECTRUM", rows) &&
         main.cell_shape("WEIGHT_SPECTRUM", rows.front()) != std::vector<std::size_t>{0, 0};
}

std::vector<float> read_weights(const CasacoreTable& main, const std::vector<std::int64_t>& rows, const CellPart& part,
                                bool spectrum) {
  std::vector<float> weights(rows.size() * part.size());
  if (spectrum) {
    main.read_cells("WEIGHT_SPECTRUM", rows, part, weights.data());
    return weights;
  }
  const std::size_t n = part.whole.n_correlation;
  std::vector<float> per_row(rows.size() * n);
  main.read_vectors("WEIGHT", rows, n, per_row.data());
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] = per_row[i / part.size() * n + i % n];
  return weights;
}

}  // namespace rimetree::ms
