#include "tests/support/random_rime.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace rimetree::test {

RandomRime::RandomRime(unsigned seed, Trouble trouble, std::size_t most_sources)
    : random_(seed), more_(seed), trouble_(trouble) {
  n_antenna_ = 2 + pick(3);
  n_source_ = 1 + pick(most_sources);
  tensors_ = chance(0.3);
  stations_ = chance(0.4);
  smears_ = chance(0.5);
  beams_ = chance(0.4);
  gains_inside_ = chance(0.3);
  patches_ = !tensors_ && chance(0.3);
  by_element_ = !tensors_ && chance(0.3);
  by_hand_ = chance(0.35);
  whole_n_ = by_hand_ && chance(0.2);
  scaled_ = by_hand_ && chance(0.2);
  drifts_ = !tensors_ && also(by_hand_ ? 0.2 : 0.05);
  if (drifts_) n_source_ = 16 + n_source_ % 2;
  independent_baselines_ = !stations_ && chance(0.5);
  leaves_before_trouble_ = static_cast<int>(pick(12));
  zero_ = constant({}, 0, 0);
  make_array();
  make_sky();
  Names residuals;
  for (std::size_t p = 0; p < n_antenna_; ++p)
    for (std::size_t q = p; q < n_antenna_; ++q) {
      if (p == q && !chance(0.2)) continue;
      std::string v = tensors_ ? of_tensors(p, q) : visibility(p, q);
      if (!gains_inside_ && chance(0.5)) v = product({gain_[p], v, conjugate(gain_[q])}, {true, true, true});
      const std::string root = "V:" + std::to_string(p) + ":" + std::to_string(q);
      tree.node(root, "Identity", {v});
      roots.push_back(root);
      residuals.push_back(made("Condeq", {constant({2, 2}, -1, 1, true), root}));
      if (!by_hand_ || !also(0.3)) continue;  // of short baselines
      roots.push_back(real_sum(p, q));
      residuals.push_back(made("Condeq", {constant({}, -1, 1), roots.back()}));
    }
  tree.node(objective, "ChiSquare", residuals);
}

std::string RandomRime::made(const std::string& class_name, const Names& children, const TestForest::Fields& state) {
  const std::string name = class_name + ":" + std::to_string(n_node_++);
  tree.node(name, class_name, children, state);
  return name;
}

std::string RandomRime::constant(const std::vector<std::int64_t>& shape, double low, double high, bool is_complex,
                                 std::int64_t cells_rank) {
  std::size_t size = is_complex ? 2 : 1;
  for (const std::int64_t n : shape) size *= static_cast<std::size_t>(n);
  std::vector<double> numbers;
  for (std::size_t i = 0; i < size; ++i) numbers.push_back(uniform(low, high));
  const StateArray value{shape, is_complex ? NumberType::complex : NumberType::real, numbers};
  return made("Constant", {}, {{"value", value}, {"cells_rank", cells_rank}});
}

std::string RandomRime::leaf(const std::string& node, const std::vector<double>& dims) {
  if (trouble_ == Trouble::none || leaves_before_trouble_-- != 0) return node;
  const StateArray shape{{static_cast<std::int64_t>(dims.size())}, NumberType::real, dims};
  if (trouble_ == Trouble::missing) return made("TestMissing", {}, {{"dims", shape}});
  if (trouble_ == Trouble::failing) return made("TestFailing", {}, {{"dims", shape}});
  std::int64_t planes = 1;
  if (trouble_ == Trouble::flagged_by_element)
    for (const double n : dims) planes *= static_cast<std::int64_t>(n);
  std::vector<double> bits;
  for (std::int64_t i = 0; i < planes * 6; ++i) bits.push_back(chance(0.3) ? double(1 + pick(3)) : 0);
  return made("TestFlags", {node}, {{"bits", StateArray{{planes, 2, 3}, NumberType::real, bits}}});
}

void RandomRime::make_array() {
  const bool rates = has_rates_ = smears_ && chance(0.8);
  const auto uvw = [&](double size) {
    std::vector<std::int64_t> shape{3, 2};
    if (rates) shape.insert(shape.begin(), 2);
    std::string node = constant(shape, -size, size, false, 1);
    return leaf(node, rates ? std::vector<double>{2, 3} : std::vector<double>{3});
  };
  baseline_uvw_.assign(n_antenna_, Names(n_antenna_));
  beam_.resize(n_antenna_);
  for (std::size_t p = 0; p < n_antenna_; ++p) {
    // By hand a phase of 1e4 radians is rounded to 1e-12.
    station_uvw_.push_back(uvw(by_hand_ ? 10 : 300));
    gain_.push_back(jones_matrix({}));
    patch_gain_.push_back(jones_matrix({}));
  }
  for (std::size_t p = 0; p < n_antenna_; ++p)
    for (std::size_t q = p; q < n_antenna_; ++q)
      baseline_uvw_[p][q] =
          independent_baselines_ ? uvw(by_hand_ ? 10 : 300) : made("Subtract", {station_uvw_[p], station_uvw_[q]});
}

void RandomRime::make_sky() {
  const auto n = static_cast<std::int64_t>(n_source_);
  const auto beams = [&](const std::vector<std::int64_t>& stack) {
    const bool scalar = beam_is_scalar_ = chance(0.4);
    for (Names& of_antenna : beam_) {
      of_antenna.push_back(scalar ? leaf(constant(stack, 0.5, 1.5), {stack.begin(), stack.end()})
                                  : jones_matrix(stack));
      // One that is written for another station and source as well.
      if (beam_[0].size() > 1 && also(0.15)) of_antenna.back() = beam_[0].front();
    }
  };
  if (tensors_) {
    lmn_ = {leaf(directions(n), {double(n), 3})};
    brightness_ = {made("Stokes", {leaf(constant({n, 4}, 0.2, 1), {double(n), 4})})};
    shape_ = {chance(0.5) ? leaf(constant({n, 3}, 0, 1e-3), {double(n), 3}) : ""};
    beams({n});
    return;
  }
  const std::string all = directions(n);
  const bool selected = chance(0.3);
  moving_ = chance(0.1) || drifts_;
  for (std::size_t s = 0; s < n_source_; ++s) {
    std::string lmn = drifts_    ? drifting_direction()
                      : selected ? made("Selector", {all}, {{"index", array({2}, {double(s), -1})}})
                      : moving_  ? made("Composer", {parm(0.1, 0.2), constant({}, 0.1, 0.2), constant({}, 0.5, 0.9)})
                                 : directions(0);
    lmn_.push_back(leaf(lmn, {3}));
    brightness_.push_back(brightness());
    shape_.push_back(chance(0.3) ? leaf(constant({3}, 0, 1e-3), {3}) : "");
    beams({});
    number_.emplace_back();
    if (!by_element_ || chance(0.5)) continue;
    const bool varies = chance(0.3);
    for (std::size_t i = 0; i < 2 * n_antenna_; ++i)
      number_[s].push_back(varies        ? leaf(constant({2, 3}, 0.5, 1.5, true, 2), {})
                           : chance(0.5) ? leaf(constant({}, 0.5, 1.5), {})
                                         : made("ToComplex", {parm(0.5, 1.5), parm(-0.5, 0.5)}));
  }
}

std::string RandomRime::brightness() {
  switch (pick(5)) {
    case 0:
      return made("Stokes", {leaf(constant({4}, 0.2, 1), {4})});
    case 1:
      return made("Stokes", {made("Composer", {parm(0.5, 1), constant({3}, -0.1, 0.1)})});
    case 2:
      return made("Stokes",
                  {made("Spectrum", {constant({4}, 0.2, 1), constant({2}, -1, 1), constant({}, 0.9e9, 1.1e9)})});
    case 3:  // varies in time
      return leaf(constant({2, 2, 2, 3}, -1, 1, true, 2), {2, 2});
    default:
      return made("Matrix22", {constant({}, 0.5, 1), leaf(constant({}, -0.1, 0.1, true), {}), constant({}, -0.1, 0.1),
                               constant({}, 0.5, 1)});
  }
}

std::string RandomRime::jones_matrix(const std::vector<std::int64_t>& stack) {
  std::vector<std::int64_t> shape = stack;
  shape.insert(shape.end(), {2, 2});
  const std::vector<double> dims(shape.begin(), shape.end());
  if (stack.empty() && chance(0.4)) {
    const std::string g = made("ToComplex", {parm(0.5, 1.5), parm(-0.5, 0.5)});
    return made("Matrix22", {g, constant({}, -0.1, 0.1), constant({}, 0, 0), g});
  }
  if (chance(0.5)) return leaf(constant(shape, -1, 1, true), dims);
  shape.insert(shape.end(), {chance(0.5) ? 2 : 1, 3});
  return leaf(constant(shape, -1, 1, true, 2), dims);
}

std::string RandomRime::conjugate(const std::string& node) {
  if (chance(0.7)) return made("ConjTranspose", {node});
  if (chance(0.3)) return made("Transpose", {node}, {{"conj", true}});
  return chance(0.5) ? made("Conj", {made("Transpose", {node})}) : made("Transpose", {made("Conj", {node})});
}

/// [n,3], or [3] for n = 0.
std::string RandomRime::directions(std::int64_t n) {
  std::vector<double> numbers;
  for (std::int64_t s = 0; s < std::max<std::int64_t>(n, 1); ++s) {
    const double l = uniform(0.1, 0.5), m = uniform(0.1, 0.5);
    numbers.insert(numbers.end(), {l, m, std::sqrt(1 - l * l - m * m)});
  }
  const std::vector<std::int64_t> shape = n > 0 ? std::vector<std::int64_t>{n, 3} : std::vector<std::int64_t>{3};
  return made("Constant", {}, {{"value", StateArray{shape, NumberType::real, numbers}}});
}

std::string RandomRime::drifting_direction() {
  const auto over_time = [&](double low, double high) {
    const std::string later = made("Subtract", {made("Time", {}), constant({}, 5e9, 5e9)});
    const std::string way = made("Multiply", {constant({}, -1e-3, 1e-3), later});
    return made("Add", {constant({}, low, high), way});
  };
  return made("Composer",
              {over_time(0.1, 0.5), also(0.5) ? over_time(0.1, 0.5) : constant({}, 0.1, 0.5), over_time(0.7, 0.9)});
}

/// Phases, smearing and taper.
RandomRime::Names RandomRime::scalars(std::size_t p, std::size_t q, const std::string& lmn, const std::string& shape) {
  Names all;
  if (stations_) {
    all.push_back(phase(lmn, station_uvw_[p], shape));
    all.push_back(made(chance(0.5) ? "Conj" : "ConjTranspose", {phase(lmn, station_uvw_[q], shape)}));
  } else {
    all.push_back(phase(lmn, baseline_uvw_[p][q], shape));
  }
  if (smears_) {
    const Names smearing = smearing_of(lmn, baseline_uvw_[p][q]);
    all.insert(all.end(), smearing.begin(), smearing.end());
  }
  if (!shape.empty()) all.push_back(made("SourceShape", {shape, baseline_uvw_[p][q]}));
  return all;
}

/// Factors from left to right, in a random association.
std::string RandomRime::product(Names factors, std::vector<bool> is_matrix) {
  if (factors.size() == 1) return factors[0];
  const auto matrices = std::count(is_matrix.begin(), is_matrix.end(), true);
  if (matrices <= 1 && chance(0.4)) return made("Multiply", factors);
  if (chance(0.4)) return made("MatrixMultiply", factors);
  const auto half = static_cast<std::ptrdiff_t>(1 + pick(factors.size() - 1));
  const std::string left =
      product({factors.begin(), factors.begin() + half}, {is_matrix.begin(), is_matrix.begin() + half});
  const std::string right =
      product({factors.begin() + half, factors.end()}, {is_matrix.begin() + half, is_matrix.end()});
  return made(matrices <= 1 && chance(0.5) ? "Multiply" : "MatrixMultiply", {left, right});
}

/// An element of a source's brightness as one of a baseline's visibility, with the stations' numbers, or zero.
std::string RandomRime::element(std::size_t p, std::size_t q, std::size_t s, std::size_t e) {
  if (e % 3 != 0 && chance(0.5)) return constant({}, 0, 0);
  const auto row = static_cast<double>(e / 2), column = static_cast<double>(e % 2);
  Names factors = chance(0.7) ? Names{made("Selector", {brightness_[s]}, {{"index", array({2}, {row, column})}})}
                              : Names{leaf(constant({}, 0.5, 1, chance(0.5)), {})};
  const std::vector<std::string>& numbers = number_[s];
  if (!numbers.empty()) {
    factors.insert(factors.begin(), numbers[2 * p + e / 2]);
    factors.push_back(made("Conj", {numbers[2 * q + e % 2]}));
  }
  for (const std::string& scalar : scalars(p, q, lmn_[s], shape_[s]))
    factors.insert(factors.begin() + static_cast<std::ptrdiff_t>(pick(factors.size() + 1)), scalar);
  if (numbers.empty() && chance(0.2)) {  // of the product instead
    const bool adjoint = chance(0.3);
    factors = scalars(p, q, lmn_[s], shape_[s]);
    factors.push_back(adjoint ? conjugate(brightness_[s]) : brightness_[s]);
    std::vector<bool> is_matrix(factors.size(), false);
    is_matrix.back() = true;
    const std::string all = product(factors, is_matrix);
    return made("Selector", {chance(0.3) ? conjugate(all) : all}, {{"index", array({2}, {row, column})}});
  }
  const std::string all = product(factors, std::vector<bool>(factors.size(), false));
  return chance(0.1) ? made("Negate", {all}) : all;
}

std::string RandomRime::of_elements(std::size_t p, std::size_t q, const std::vector<std::size_t>& sources) {
  Names elements;
  const bool are_alone = chance(0.25);  // nothing can tell that they are elements of one matrix
  for (std::size_t e = 0; e < 4; ++e) {
    Names terms;
    for (const std::size_t s : sources) terms.push_back(element(p, q, s, e));
    const std::string all = terms.size() == 1 && !are_alone ? terms[0] : made("Add", terms);
    elements.push_back(are_alone ? made("ToComplex", {made("Real", {all}), made("Imag", {all})}) : all);
  }
  if (chance(0.5)) return made("Matrix22", elements);
  return made("Composer", elements, {{"dims", array({2}, {2, 2})}});
}

std::string RandomRime::term(std::size_t p, std::size_t q, std::size_t s) {
  if (by_element_) {
    const std::string own = of_elements(p, q, {s});
    return beams_ ? product({beam_[p][s], own, conjugate(beam_[q][s])}, {true, !beam_is_scalar_, true}) : own;
  }
  Names factors{brightness_[s]}, pairs;
  const auto enclose = [&](const std::string& left, const std::string& right) {
    factors.insert(factors.begin(), left);
    factors.push_back(right);
    pairs.insert(pairs.end(), {left, right});
  };
  if (beams_) enclose(beam_[p][s], conjugate(beam_[q][s]));
  if (gains_inside_) enclose(gain_[p], conjugate(gain_[q]));
  if (!stations_ && !has_rates_ && !by_hand_ && chance(0.2)) {
    const std::string shape = shape_[s].empty() ? constant({3}, 0, 0) : shape_[s];
    Names children{lmn_[s], brightness_[s], baseline_uvw_[p][q], shape};
    children.insert(children.end(), pairs.begin(), pairs.end());
    return made("PSV", children);
  }
  std::vector<bool> is_matrix(factors.size(), true);
  Names numbers = scalars(p, q, lmn_[s], shape_[s]);
  if (also(0.15)) numbers.push_back(of_both_stations(p, q, s));
  std::string divisor;
  if (stations_ && !by_hand_ && chance(0.15)) {  // instead of its conjugate
    divisor = made("VisPhaseShift", {"lmn=" + lmn_[s], "uvw=" + station_uvw_[q]});
    numbers.erase(numbers.begin() + 1);
  }
  for (std::string scalar : numbers) {
    if (chance(0.1)) {
      scalar = made("Matrix22", {scalar, zero_, zero_, scalar});
      factors.insert(factors.begin(), scalar);
      is_matrix.insert(is_matrix.begin(), true);
      continue;
    }
    const auto at = static_cast<std::ptrdiff_t>(pick(factors.size() + 1));
    factors.insert(factors.begin() + at, scalar);
    is_matrix.insert(is_matrix.begin() + at, false);
  }
  std::string all = product(std::move(factors), std::move(is_matrix));
  if (!divisor.empty()) all = made("Divide", {all, divisor});
  if (!chance(0.15)) return all;
  return made("Divide", {all, leaf(constant({2}, 0.5, 2, chance(0.5), 1), {})});
}

std::string RandomRime::sum(Names terms) {
  if (terms.size() == 1 && chance(0.5)) return terms[0];
  if (terms.size() == 2 && chance(0.2)) return made("Subtract", terms);
  if (chance(0.1)) return made("Negate", {made("Add", terms)});
  if (chance(0.1)) terms.push_back(constant({2, 2}, -1, 1, true));
  if (also(0.1)) terms.insert(terms.begin(), zero_);  // as Python's sum() does
  return made("Add", terms);
}

std::string RandomRime::visibility(std::size_t p, std::size_t q) {
  if (by_element_ && !patches_ && chance(0.5)) {
    std::vector<std::size_t> all(n_source_);
    std::iota(all.begin(), all.end(), 0);
    return of_elements(p, q, all);
  }
  Names terms;
  for (std::size_t s = 0; s < n_source_; ++s) terms.push_back(term(p, q, s));
  if (!patches_ || terms.size() < 2) return sum(terms);
  const auto half = static_cast<std::ptrdiff_t>(1 + pick(terms.size() - 1));
  const std::string first = sum({terms.begin(), terms.begin() + half});
  const std::string patch = product(
      {patch_gain_[p], sum({terms.begin() + half, terms.end()}), conjugate(patch_gain_[q])}, {true, true, true});
  return sum({first, patch});
}

std::string RandomRime::of_tensors(std::size_t p, std::size_t q) {
  Names factors = scalars(p, q, lmn_[0], shape_[0]);
  const TestForest::Fields over_sources{{"reduction_axes", std::vector<std::string>{}},
                                        {"tensor_axis", std::int64_t{0}}};
  if (!beams_ && chance(0.3)) {  // element by element
    Names elements;
    for (int e = 0; e < 4; ++e) {
      Names own = factors;
      own.push_back(made("Selector", {brightness_[0]}, {{"index", array({3}, {-1, double(e / 2), double(e % 2)})}}));
      if (chance(0.3)) own.push_back(constant({}, 0.5, 1.5, true));
      elements.push_back(e % 3 != 0 && chance(0.3) ? zero_ : made("Sum", {made("Multiply", own)}, over_sources));
    }
    const std::string all = made("Matrix22", elements);
    return gains_inside_ ? made("MatrixMultiply", {gain_[p], all, conjugate(gain_[q])}) : all;
  }
  if (gains_inside_) factors.insert(factors.begin(), gain_[p]);
  if (beams_) factors.push_back(beam_[p][0]);
  factors.push_back(brightness_[0]);
  if (beams_) factors.push_back(conjugate(beam_[q][0]));
  if (gains_inside_) factors.push_back(conjugate(gain_[q]));
  return made("Sum", {made("MatrixMultiply", factors)}, over_sources);
}

}  // namespace rimetree::test
