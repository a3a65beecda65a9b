#include "runtime/ms/tiles/tile_values.h"

#include <algorithm>

#include "runtime/core/error.h"
#include "runtime/ms/tiles/tile_request.h"

namespace rimetree::ms {

namespace {

/// All cells of one node, [element, time, channel].
void copy(const Vells& from, std::size_t n_time, std::size_t n_channel, Complex<double>* to) {
  const auto stride = broadcast_strides(from.cells());
  const auto at_time = static_cast<std::size_t>(stride[0]), at_channel = static_cast<std::size_t>(stride[1]);
  for (std::size_t element = 0; element < from.dims().size(); ++element)
    for (std::size_t t = 0; t < n_time; ++t, to += n_channel) {
      const std::size_t first = element * from.cells_per_element() + t * at_time;
      if (from.is_complex())
        for (std::size_t f = 0; f < n_channel; ++f) to[f] = from.complex()[first + f * at_channel];
      else
        for (std::size_t f = 0; f < n_channel; ++f) to[f] = from.real()[first + f * at_channel];
    }
}

}  // namespace

TileValues values_on_tile(TileStream& tiles, std::size_t index, Evaluator& evaluator, const std::vector<int>& nodes,
                          Cancellation& cancellation) {
  const std::shared_ptr<Tile> tile = tiles.get(index);
  Request request;
  request.cells = cells_of(*tile);
  request.tile = tile.get();
  request.data_id = next_data_id();
  const std::vector<ResultPtr> results = evaluator.evaluate(request, nodes, &cancellation);
  TileValues found;
  found.n_time = tile->n_time(), found.n_channel = tile->n_channel();
  std::vector<const Vells*> present;
  for (const ResultPtr& result : results) {
    if (result->status == Result::Status::failed) report_failures(result->failures, tiles.key(index));
    found.there.push_back(result->ok());
    if (!result->ok()) continue;
    if (!present.empty() && !(result->value.dims() == found.dims))
      throw Error("values of nodes with different tensor dimensions are asked for together: " + to_string(found.dims) +
                  " and " + to_string(result->value.dims()));
    found.dims = result->value.dims();
    present.push_back(&result->value);
  }
  bring_to_host(present);
  const std::size_t n_value = found.dims.size() * found.n_time * found.n_channel;
  found.values = std::make_shared_for_overwrite<Complex<double>[]>(nodes.size() * n_value);
  evaluator.thread_pool().parallel_for(
      results.size(), 64,
      [&](std::size_t first, std::size_t last, int) {
        for (std::size_t k = first; k < last; ++k)
          if (found.there[k] != 0) copy(results[k]->value, found.n_time, found.n_channel, &found.values[k * n_value]);
      },
      &cancellation);
  return found;
}

}  // namespace rimetree::ms
