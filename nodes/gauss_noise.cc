// GaussNoise: independent normal deviates of given mean and standard deviation on every cell
//
// Children: none.
// State: stddev (default 1, any unit), mean (default 0), seed (default 0), dims (default scalar), complex (default
// false: real numbers; true: real and imaginary part each have standard deviation stddev, and mean is that of the real
// part).
// Result: dims, unit of stddev; varies along time and freq. Flags: none. Derivative: none.
// The numbers are a function of the seed, the node's name, the time (to 10 us) and the frequency (to the millihertz),
// and over a Measurement Set of the data description, the field and the layer, for several of these may have rows of
// one time and frequency. They do not change with the number of threads or with how the data are cut into groups of
// time slots. Channels of one frequency are independent; cells that are nearer than that, but apart, would have the
// same noise, and are refused. Salmon et al. 2011, SC11 (Philox4x32-10). MeqTrees: GaussNoise.
#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "runtime/core/classes/plugin_api.h"
#include "runtime/core/error.h"
#include "runtime/core/fingerprint.h"
#include "runtime/core/node/node.h"
#include "runtime/math/philox.h"

namespace rimetree {

class GaussNoise final : public Node {
 public:
  explicit GaussNoise(const State& state) : Node(state) {
    for (const std::int64_t extent : state.integers("dims")) wanted_.append(extent);
  }

  static NodeClass info() {
    return {.name = "GaussNoise",
            .summary = "Normally distributed noise, the same in every run.",
            .result = "dimensions as the state says, unit of stddev; varies along time and freq",
            .reference = "Salmon et al. 2011, SC11 (Philox4x32-10); Box & Muller 1958; MeqTrees GaussNoise",
            .state = {{.name = "stddev",
                       .type = StateType::real,
                       .default_value = 1.0,
                       .unit = "any",
                       .doc = "standard deviation; of complex noise that of the real and of the imaginary part",
                       .limits = {.least = 0}},
                      {.name = "mean",
                       .type = StateType::real,
                       .default_value = 0.0,
                       .unit = "that of stddev",
                       .doc = "mean; of complex noise that of the real part"},
                      {.name = "seed",
                       .type = StateType::integer,
                       .default_value = std::int64_t{0},
                       .doc = "with the node's name, time and frequency decides the numbers: nodes of different names "
                              "are independent, and so are data descriptions and fields of a Measurement Set"},
                      {.name = "dims",
                       .type = StateType::array,
                       .default_value = StateArray{{0}, NumberType::real, {}},
                       .doc = "dimensions of the result, e.g. [2,2]; empty: a scalar"},
                      {.name = "complex",
                       .type = StateType::boolean,
                       .default_value = false,
                       .doc = "whether the noise is complex"}}};
  }

  TensorShape result_dims(std::span<const TensorShape* const>) const override { return wanted_; }
  NodeTraits own_traits() const override {
    return {.depends_on = kData | kDomain, .varies_along = set_of(Axis::time) | set_of(Axis::frequency)};
  }

 protected:
  void evaluate(Evaluation& evaluation) const override {
    const double stddev = state().real("stddev"), mean = state().real("mean");
    const std::vector<std::uint64_t> times = whole(evaluation.cells().axis(Axis::time).centre, 1e5, "times");
    const std::vector<std::uint64_t> frequencies =
        whole(evaluation.cells().axis(Axis::frequency).centre, 1e3, "frequencies");

    const std::vector<std::uint64_t> keys = keys_of_channels(key_of_rows(evaluation.request.tile), frequencies);

    CellShape shape;
    shape[Axis::time] = static_cast<std::int32_t>(times.size());
    shape[Axis::frequency] = static_cast<std::int32_t>(frequencies.size());
    const bool complex = state().boolean("complex");
    Vells value = evaluation.make(complex ? NumberType::complex : NumberType::real, shape);
    std::size_t i = 0;
    for (std::uint32_t element = 0; element < dims().size(); ++element)
      for (const std::uint64_t time : times)
        for (std::size_t channel = 0; channel < frequencies.size(); ++channel) {
          const std::uint64_t frequency = frequencies[channel], key = keys[channel];
          const auto key_0 = static_cast<std::uint32_t>(key), key_1 = static_cast<std::uint32_t>(key >> 32);
          // 48 bits each for time (89 years) and frequency (281 GHz), 32 for the element: no two cells share a counter.
          const auto high = static_cast<std::uint32_t>((time >> 32 & 0xffff) << 16 | (frequency >> 32 & 0xffff));
          const PhiloxWords counter{
              {static_cast<std::uint32_t>(time), static_cast<std::uint32_t>(frequency), high, element}};
          const Complex<double> z = normal_pair(philox4x32(counter, key_0, key_1));
          if (complex)
            value.complex()[i++] = {mean + stddev * z.re, stddev * z.im};
          else
            value.real()[i++] = mean + stddev * z.re;
        }
    evaluation.set(std::move(value));
  }

 private:
  /// One for all rows of a tile, and the same however many of them it has. The first data description, field and layer
  /// have the numbers of cells without data.
  std::uint64_t key_of_rows(const Tile* tile) const {
    std::uint64_t key = mix(static_cast<std::uint64_t>(state().integer("seed")), name());
    if (tile == nullptr) return key;
    std::uint64_t what = 0;
    for (const int number : {tile->data_desc_id, tile->field_id, tile->layer}) {
      ++what;
      if (number > 0) key = mix(mix(key, what), static_cast<std::uint64_t>(number));
    }
    return key;
  }

  /// Channels of one frequency, as where windows overlap, are told apart by how many came before.
  static std::vector<std::uint64_t> keys_of_channels(std::uint64_t key, const std::vector<std::uint64_t>& frequencies) {
    std::map<std::uint64_t, std::uint64_t> before;
    std::vector<std::uint64_t> keys;
    for (const std::uint64_t frequency : frequencies) {
      const std::uint64_t n = before[frequency]++;
      keys.push_back(n == 0 ? key : mix(key, n));
    }
    return keys;
  }

  /// Coordinates in whole units of 1 / `per`; one 0 where the cells do not have the axis.
  static std::vector<std::uint64_t> whole(const std::vector<double>& centres, double per, const char* what) {
    if (centres.empty()) return {0};
    std::vector<std::uint64_t> result;
    std::vector<std::pair<std::uint64_t, double>> sorted;
    for (const double centre : centres) {
      result.push_back(static_cast<std::uint64_t>(static_cast<std::int64_t>(std::rint(centre * per))));
      sorted.emplace_back(result.back(), centre);
    }
    std::sort(sorted.begin(), sorted.end());
    for (std::size_t i = 1; i < sorted.size(); ++i)
      if (sorted[i].first == sorted[i - 1].first && sorted[i].second != sorted[i - 1].second)
        throw Error(std::string(what) + " are so near to each other that cells would have the same noise: it tells " +
                    "times apart to 10 us, frequencies to 1 mHz");
    return result;
  }

  TensorShape wanted_;
};

RIMETREE_REGISTER_NODE(GaussNoise);

}  // namespace rimetree
