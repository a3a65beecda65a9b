#include "runtime/rewrite/new_nodes.h"

#include <algorithm>

#include "runtime/core/fingerprint.h"

namespace rimetree::rewrite {

namespace {

constexpr std::initializer_list<const char*> kSmearingFields = {"n_minus", "smear_time", "smear_frequency",
                                                                "time_width_s", "freq_width_hz"};

bool has_state(const NodeClass& node_class, std::initializer_list<const char*> fields) {
  return std::all_of(fields.begin(), fields.end(), [&](const char* field) {
    return std::any_of(node_class.state.begin(), node_class.state.end(),
                       [&](const StateSpec& spec) { return spec.name == field; });
  });
}

/// The class that computes a formula and has these state fields; nullptr if there is none.
const NodeClass* class_of(const Registry& registry, Algebra algebra, std::initializer_list<const char*> fields = {}) {
  for (const NodeClass* one : registry.classes())
    if (one->algebra == algebra && has_state(*one, fields)) return one;
  return nullptr;
}

StateArray integers(const TensorShape& dims) {
  std::vector<double> lengths;
  for (int i = 0; i < dims.rank; ++i) lengths.push_back(dims[i]);
  return {{dims.rank}, NumberType::real, lengths};
}

/// Of a number of a 2x2 matrix, counted row-major.
StateArray index_of(int number) {
  return {{2}, NumberType::real, {static_cast<double>(number / 2), static_cast<double>(number % 2)}};
}

std::uint64_t key_of(const TensorShape& dims) {
  std::uint64_t key = mix(0, static_cast<std::uint64_t>(dims.rank));
  for (int i = 0; i < dims.rank; ++i) key = mix(key, static_cast<std::uint64_t>(dims[i]));
  return key;
}

}  // namespace

NewNodes::NewNodes(const Forest& forest, const Registry& registry)
    : forest_(forest),
      first_(forest.size()),
      conjugate_transpose_(class_of(registry, Algebra::conjugate_transpose)),
      negation_(class_of(registry, Algebra::negation)),
      difference_(class_of(registry, Algebra::difference)),
      product_(class_of(registry, Algebra::product)),
      quotient_(class_of(registry, Algebra::quotient)),
      composition_(class_of(registry, Algebra::composition, {"dims"})),
      constant_(class_of(registry, Algebra::constant, {"value"})),
      sum_(class_of(registry, Algebra::sum)),
      matrix_product_(class_of(registry, Algebra::matrix_product)),
      selection_(class_of(registry, Algebra::selection, {"index"})),
      transpose_(class_of(registry, Algebra::transpose)),
      phase_(class_of(registry, Algebra::phase, {"n_minus"})),
      source_sum_(class_of(registry, Algebra::source_sum, kSmearingFields)),
      exponential_(class_of(registry, Algebra::exponential)),
      polar_number_(class_of(registry, Algebra::polar_number)),
      smearing_(class_of(registry, Algebra::smearing, kSmearingFields)),
      real_part_(class_of(registry, Algebra::real_part)),
      imaginary_part_(class_of(registry, Algebra::imaginary_part)) {
  complete_ = conjugate_transpose_ && negation_ && difference_ && product_ && quotient_ && composition_ && constant_ &&
              sum_ && matrix_product_ && selection_ && transpose_ && phase_ && source_sum_ && exponential_ &&
              polar_number_ && smearing_ && real_part_ && imaginary_part_;
}

int NewNodes::add(const NodeClass* node_class, std::map<std::string, StateValue> state, std::vector<int> children,
                  bool in_place) {
  int number = owner_;
  if (!in_place) {
    number = static_cast<int>(first_ + owners_.size());
    owners_.push_back(owner_);
    entry_.push_back(nodes_.size());
  }
  nodes_.push_back({node_class, std::move(state), std::move(children), owner_, in_place});
  return number;
}

int NewNodes::shared(const NodeClass* node_class, std::map<std::string, StateValue> state, std::uint64_t state_key,
                     std::vector<int> children) {
  std::uint64_t hash = mix(state_key, reinterpret_cast<std::uintptr_t>(node_class));
  for (const int child : children) hash = mix(hash, static_cast<std::uint64_t>(child));
  const auto [begin, end] = known_.equal_range(hash);
  for (auto it = begin; it != end; ++it) {
    const NewNode& node = nodes_[entry_[static_cast<std::size_t>(it->second.first) - first_]];
    if (node.node_class == node_class && it->second.second == state_key && node.children == children)
      return it->second.first;
  }
  const int number = add(node_class, std::move(state), std::move(children), false);
  known_.emplace(hash, std::pair(number, state_key));
  return number;
}

std::vector<NewNode> NewNodes::without_replacing(std::size_t n) const {
  std::vector<NewNode> kept;
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    if (i >= n || !nodes_[i].replaces) kept.push_back(nodes_[i]);
  return kept;
}

int NewNodes::conjugate_transpose(int node) { return shared(conjugate_transpose_, {}, 0, {node}); }
int NewNodes::negative(int node) { return shared(negation_, {}, 0, {node}); }
int NewNodes::difference(int a, int b) { return shared(difference_, {}, 0, {a, b}); }
int NewNodes::total(int a, int b) { return shared(sum_, {}, 0, {a, b}); }
int NewNodes::quotient(int a, int b) { return shared(quotient_, {}, 0, {a, b}); }
int NewNodes::inverse(int node) { return quotient(constant(1, {}), node); }
int NewNodes::product(int a, int b) { return shared(product_, {}, 0, {a, b}); }
int NewNodes::exponential(int node) { return shared(exponential_, {}, 0, {node}); }
int NewNodes::polar(int amplitude, int angle) { return shared(polar_number_, {}, 0, {amplitude, angle}); }
int NewNodes::transpose(int matrix) { return shared(transpose_, {}, 0, {matrix}); }
int NewNodes::scaled(int matrices, int numbers) { return shared(matrix_product_, {}, 0, {numbers, matrices}); }

int NewNodes::stack(std::span<const int> nodes, const TensorShape& dims) {
  return shared(composition_, {{"dims", integers(dims)}}, key_of(dims), {nodes.begin(), nodes.end()});
}

int NewNodes::constant(double value, const TensorShape& dims) {
  StateArray array{{}, NumberType::real, std::vector<double>(dims.size(), value)};
  for (int i = 0; i < dims.rank; ++i) array.shape.push_back(dims[i]);
  return shared(constant_, {{"value", std::move(array)}}, mix(key_of(dims), value), {});
}

int NewNodes::selected(int tensor, int number) {
  const StateArray index{{1}, NumberType::real, {static_cast<double>(number)}};
  return shared(selection_, {{"index", index}}, mix(std::uint64_t{3}, static_cast<std::uint64_t>(number)), {tensor});
}

int NewNodes::element(int matrix, int number) {
  return shared(selection_, {{"index", index_of(number)}}, mix(std::uint64_t{2}, static_cast<std::uint64_t>(number)),
                {matrix});
}

int NewNodes::row(int matrix, std::int64_t number) {
  const StateArray index{{2}, NumberType::real, {static_cast<double>(number), -1}};
  return shared(selection_, {{"index", index}}, mix(std::uint64_t{1}, static_cast<std::uint64_t>(number)), {matrix});
}

int NewNodes::column(int matrix, std::int64_t number) {
  const StateArray index{{2}, NumberType::real, {-1, static_cast<double>(number)}};
  return shared(selection_, {{"index", index}}, mix(std::uint64_t{4}, static_cast<std::uint64_t>(number)), {matrix});
}

int NewNodes::sum(std::vector<int> terms, bool in_place) { return add(sum_, {}, std::move(terms), in_place); }
int NewNodes::matrix_product(std::vector<int> factors, bool in_place) {
  return add(matrix_product_, {}, std::move(factors), in_place);
}
int NewNodes::elementwise_product(std::vector<int> factors, bool in_place) {
  return add(product_, {}, std::move(factors), in_place);
}
int NewNodes::phase(int lmn, int uvw, int n_minus, bool in_place) {
  return placed(phase_, {{"n_minus", std::int64_t{n_minus}}}, mix(std::uint64_t{7}, std::uint64_t(n_minus)), {lmn, uvw},
                in_place);
}
int NewNodes::first_element(int matrix, bool in_place) {
  return add(selection_, {{"index", index_of(0)}}, {matrix}, in_place);
}
int NewNodes::element_in_place(int matrix, int number) {
  return add(selection_, {{"index", index_of(number)}}, {matrix}, true);
}

int NewNodes::placed(const NodeClass* node_class, std::map<std::string, StateValue> state, std::uint64_t state_key,
                     std::vector<int> children, bool in_place) {
  return in_place ? add(node_class, std::move(state), std::move(children), true)
                  : shared(node_class, std::move(state), state_key, std::move(children));
}

int NewNodes::part(int node, Algebra which, bool in_place) {
  return placed(which == Algebra::real_part ? real_part_ : imaginary_part_, {}, 0, {node}, in_place);
}

int NewNodes::smearing(const SmearingNode& smearing, bool in_place) {
  const char* width = smearing.in_time ? "time_width_s" : "freq_width_hz";
  return placed(smearing_,
                {{"n_minus", std::int64_t{smearing.n_minus}},
                 {"smear_time", smearing.in_time},
                 {"smear_frequency", !smearing.in_time},
                 {width, smearing.width}},
                mix(mix(std::uint64_t{5}, smearing.width), std::uint64_t(2 * smearing.n_minus + smearing.in_time)),
                {smearing.lmn, smearing.uvw}, in_place);
}

int NewNodes::source_sum(const SourceSumNode& sum, bool in_place) {
  std::vector<int> children{sum.lmn, sum.brightness, sum.uvw, sum.shape};
  children.insert(children.end(), sum.jones.begin(), sum.jones.end());
  const auto switches = static_cast<std::uint64_t>(4 * sum.n_minus + 2 * sum.smear_time + sum.smear_frequency);
  return placed(source_sum_,
                {{"n_minus", std::int64_t{sum.n_minus}},
                 {"smear_time", sum.smear_time},
                 {"smear_frequency", sum.smear_frequency},
                 {"time_width_s", sum.time_width_s},
                 {"freq_width_hz", sum.freq_width_hz}},
                mix(mix(mix(std::uint64_t{6}, sum.time_width_s), sum.freq_width_hz), switches), std::move(children),
                in_place);
}

}  // namespace rimetree::rewrite
