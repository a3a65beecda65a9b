// From products to terms: whether all that a product is of belongs to one source, or stack, and to one baseline.
#include <algorithm>

#include "runtime/rewrite/source_products.h"

namespace rimetree::rewrite {

namespace {

/// How many nodes below a factor are asked whether they are coordinates.
constexpr int kMostBelowFactor = 64;

/// So many sources that vary in time are a sum of their own.
constexpr std::size_t kFewestMoving = 16;

/// Coordinates of stations, and how often each counts.
using Coordinates = std::vector<std::pair<int, int>>;

/// Whether a factor is made of the baseline's coordinates, cell by cell. As a Jones term it would be written to memory
/// for each source, cell and baseline, which takes longer than what is written.
bool varies_with_baseline(Reading& reading, const Product& product) {
  SourceNodes& nodes = reading.nodes;
  const auto is_coordinate = [&](int node) {
    return std::any_of(product.sight.phases.begin(), product.sight.phases.end(),
                       [node](const ProductSight::Phase& phase) { return phase.uvw == node; });
  };
  for (const Factor& factor : product.factors) {
    if (factor.matrix >= 0 || !nodes.may_vary(factor.node, Axis::time) || !nodes.may_vary(factor.node, Axis::frequency))
      continue;
    std::vector<int> open{factor.node};
    for (int left = kMostBelowFactor; left > 0 && !open.empty(); --left) {
      const int node = open.back();
      open.pop_back();
      if (is_coordinate(node))
        return !reading.refuse(factor.node,
                               "it is made of the baseline's coordinates and varies in time and frequency");
      for (const int child : nodes.children(node))
        if (child >= 0 && nodes.may_vary_in_time(child)) open.push_back(child);
    }
  }
  return false;
}

bool has_real_factors(Reading& reading, const Product& product) {
  if (product.sight.part == Algebra::none) return true;
  for (const Factor& factor : product.factors) {
    if (factor.in_part || (factor.matrix < 0 && reading.nodes.is_real(factor.node))) continue;
    return reading.refuse(factor.node, "it may be complex, beside the real part of a phase");
  }
  return true;
}

/// Adds those that a node is made of.
void add_coordinates(SourceNodes& nodes, int node, int times, Coordinates& all) {
  const std::span<const int> children = nodes.children(node);
  switch (nodes.algebra(node)) {
    case Algebra::identity:
      return add_coordinates(nodes, children[0], times, all);
    case Algebra::negation:
      return add_coordinates(nodes, children[0], -times, all);
    case Algebra::difference:
      add_coordinates(nodes, children[0], times, all);
      return add_coordinates(nodes, children[1], -times, all);
    default:
      break;
  }
  const auto is_it = [&](const auto& one) { return one.first == node || nodes.are_one_place(one.first, node); };
  const auto known = std::find_if(all.begin(), all.end(), is_it);
  if (known == all.end())
    all.emplace_back(node, times);
  else if ((known->second += times) == 0)
    all.erase(known);
}

/// 1 if coordinates are those of the phases' baseline, -1 if they are those of the baseline turned round, else 0.
int sign_of_baseline(SourceNodes& nodes, const Product& product, int other) {
  for (const int sign : {1, -1}) {
    Coordinates difference;
    for (const auto& phase : product.sight.phases)
      add_coordinates(nodes, phase.uvw, phase.negative ? -1 : 1, difference);
    add_coordinates(nodes, other, -sign, difference);
    if (difference.empty()) return sign;
  }
  return 0;
}

/// The phases of a term, its smearing and its shape must be of one baseline; the latter do not ask which way it goes.
bool set_baseline(Reading& reading, const Product& product, SourceTerm& term) {
  SourceNodes& nodes = reading.nodes;
  const auto coordinates = [&](int node) { return node >= 0 ? nodes.children(node)[1] : -1; };
  const int in_time = coordinates(product.sight.losses[kOverExposures]),
            in_frequency = coordinates(product.sight.losses[kOverChannels]);
  const int smeared = in_time >= 0 ? in_time : in_frequency;
  const int tapered = product.sight.losses[kTaper] >= 0 ? nodes.children(product.sight.losses[kTaper])[1] : -1;
  const auto& phases = product.sight.phases;
  if (phases.size() > 2) return reading.refuse(phases.back().uvw, "phases of more than two stations");
  const int single = phases.size() == 1 && !phases[0].negative ? phases[0].uvw : -1;
  const int whole = smeared >= 0 ? smeared : single >= 0 ? single : tapered;
  bool is_turned = false;
  for (const int other : {in_time, in_frequency, tapered}) {
    if (other < 0 || other == single) continue;
    const int sign = sign_of_baseline(nodes, product, other);
    if (sign == 0) return reading.refuse(other, "it is not the baseline of the phases");
    if (other == whole) is_turned = sign < 0;
  }
  if (whole >= 0) {
    (is_turned ? term.minus_uvw : term.uvw) = whole;
    return true;
  }
  for (const auto& phase : phases) {
    int& end = phase.negative ? term.minus_uvw : term.uvw;
    if (end >= 0) return reading.refuse(phase.uvw, "phases of stations that are added");
    end = phase.uvw;
  }
  // Coordinates with rates and without cannot be subtracted.
  if (term.uvw >= 0 && term.minus_uvw >= 0 && !(nodes.dims(term.uvw) == nodes.dims(term.minus_uvw)))
    return reading.refuse(term.minus_uvw,
                          "its coordinates have other dimensions than those that it is subtracted from");
  return true;
}

void set_smearing(const SourceNodes& nodes, const Product& product, SourceTerm& term) {
  const int over_exposures = product.sight.losses[kOverExposures], over_channels = product.sight.losses[kOverChannels];
  term.smears = product.smears();
  for (const int node : {over_exposures, over_channels}) {
    if (node < 0) continue;
    term.smear_time = term.smear_time || nodes.state(node).boolean("smear_time");
    term.smear_frequency = term.smear_frequency || nodes.state(node).boolean("smear_frequency");
  }
  if (over_exposures >= 0) term.time_width_s = width_of(nodes.state(over_exposures), "time_width_s");
  if (over_channels >= 0) term.freq_width_hz = width_of(nodes.state(over_channels), "freq_width_hz");
}

}  // namespace

bool fits(Reading& reading, const Product& product, int stack) {
  SourceNodes& nodes = reading.nodes;
  const int rank = stack > 0 ? 2 : 1;
  const auto is_place = [&](int node) {
    const TensorShape& dims = nodes.dims(node);
    return dims.rank == rank && (stack == 0 || dims[0] == stack);
  };
  if (!is_place(product.sight.lmn)) return reading.refuse(product.sight.lmn, "it is not one direction for each source");
  const int shape = product.sight.losses[kTaper] >= 0 ? nodes.children(product.sight.losses[kTaper])[0] : -1;
  if (shape >= 0 && !is_place(shape)) return reading.refuse(shape, "it is not one shape for each source");
  // One node that sums few sources at one time after the other takes longer than what is written.
  if (nodes.n_moving() < kFewestMoving) {
    if (nodes.may_vary_in_time(product.sight.lmn))
      return reading.refuse(product.sight.lmn, "it is a direction that varies in time");
    if (shape >= 0 && nodes.may_vary_in_time(shape)) return reading.refuse(shape, "it is a shape that varies in time");
  }
  for (const Factor& factor : product.factors) {
    if (factor.matrix >= 0) continue;
    const TensorShape& dims = nodes.dims(factor.node);
    const bool stacked = dims.rank == 1 || dims.rank == 3;
    const bool is_matrix = dims.rank < 2 || (dims[dims.rank - 1] == 2 && dims[dims.rank - 2] == 2);
    if (dims.rank > 3 || !is_matrix || (stacked && (stack == 0 || dims[0] != stack)))
      return reading.refuse(factor.node, "it is neither a number nor a 2x2 matrix for each source");
  }
  return true;
}

std::optional<SourceTerm> term_of(Reading& reading, const Product& product, int stack) {
  const ProductSight& sight = product.sight;
  if (sight.phases.empty()) {
    reading.refuse(
        product.smears() ? std::max(sight.losses[kOverExposures], sight.losses[kOverChannels]) : sight.losses[kTaper],
        "without a phase");
    return {};
  }
  if (!fits(reading, product, stack) || varies_with_baseline(reading, product) || !has_real_factors(reading, product))
    return {};
  SourceTerm term;
  term.lmn = sight.lmn;
  term.n_source = stack;
  term.n_minus = sight.n_minus;
  term.negative = product.negative;
  term.part = sight.part;
  if (sight.losses[kTaper] >= 0) term.shape = reading.nodes.children(sight.losses[kTaper])[0];
  set_smearing(reading.nodes, product, term);
  if (!set_baseline(reading, product, term)) return {};
  for (const int node : {term.lmn, term.shape, term.uvw, term.minus_uvw})
    if (node >= 0 && reading.nodes.is_refused(node)) {
      reading.refuse(node, kMustBeAsWritten);
      return {};
    }
  return term;
}

}  // namespace rimetree::rewrite
