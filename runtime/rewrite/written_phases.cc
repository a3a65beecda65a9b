// How a phase is read. x is multiplied out into products k nu b s of a number, the frequency, one quantity of the
// baseline and what there is of the source. Quantities of a baseline vary in time, or are what the terms of a sum
// share. There may be three of them: u, v and w, or what plays their part. What stands beside them are l, m and n - 1;
// k c / 2 pi, if it is not one, is a factor of the coordinates. What is not a part of a sum over sources in the end
// stays as it was written.
#include "runtime/rewrite/written_phases.h"

#include <algorithm>
#include <cmath>

#include "runtime/math/conventions.h"

namespace rimetree::rewrite {

WrittenPhases::WrittenPhases(const Forest& forest, const std::vector<bool>& refused, NewNodes& nodes)
    : forest_(forest), refused_(refused), nodes_(nodes), is_real_(forest) {
  find_exponentials();
  find_parts();
  find_sincs();
  if (exponentials_.empty() && sincs_.empty()) return;
  tell_ends_apart();
  std::unordered_map<int, bool> is_phase;
  for (const int node : forest.order()) {
    if (algebra(node) == Algebra::phase) is_phase[node] = true;
    const auto found = exponentials_.find(node);
    if (found == exponentials_.end()) continue;
    const bool made = make(node, found->second);
    count_ += made;
    if (found->second.part == Algebra::none) is_phase[node] = made;
  }
  for (const int node : forest.order())
    if (const auto found = sincs_.find(node); found != sincs_.end()) count_ += make(node, found->second);
  for (const int node : forest.order()) note_delays(node, is_phase);
}

void WrittenPhases::find_exponentials() {
  for (const int node : forest_.order()) {
    const Algebra own = algebra(node);
    if (own != Algebra::exponential && own != Algebra::polar_number && own != Algebra::complex_number &&
        own != Algebra::sum && own != Algebra::difference)
      continue;
    if (refused_[static_cast<std::size_t>(node)] || forest_.node(node).dims().rank > 1) continue;
    if (auto one = exponential(node)) exponentials_.emplace(node, std::move(*one));
  }
}

/// Cosines and sines of what is in no exponential.
void WrittenPhases::find_parts() {
  std::unordered_set<int> known;
  for (const auto& [node, one] : exponentials_) known.insert(one.argument);
  for (const int node : forest_.order()) {
    const Algebra own = algebra(node);
    if ((own != Algebra::cosine && own != Algebra::sine) || refused_[static_cast<std::size_t>(node)]) continue;
    const int argument = forest_.children(node)[0];
    if (forest_.node(node).dims().rank > 1 || known.contains(argument)) continue;
    const Algebra part = own == Algebra::cosine ? Algebra::real_part : Algebra::imaginary_part;
    exponentials_.emplace(node, Exponential{.argument = argument, .part = part});
  }
}

/// What divides sines is smearing, and no sum of sines.
void WrittenPhases::find_sincs() {
  for (const int node : forest_.order()) {
    if (algebra(node) != Algebra::quotient || refused_[static_cast<std::size_t>(node)]) continue;
    if (auto one = sincs(node)) {
      for (const int sine : one->sines) exponentials_.erase(sine);
      sincs_.emplace(node, std::move(*one));
    }
  }
}

/// Of a sum over sources that has a delay of its own for each of them, and no phase: these are what keeps it from being
/// taken together.
void WrittenPhases::note_delays(int sum, const std::unordered_map<int, bool>& is_phase) {
  const bool is_stack =
      algebra(sum) == Algebra::reduction && forest_.node(forest_.children(sum)[0]).dims().rank % 2 == 1;
  if (!is_stack && (algebra(sum) != Algebra::sum || forest_.children(sum).size() < 2)) return;
  std::vector<int> delays;
  std::size_t n_term = 0, n_first = 0;
  for (const int term : forest_.children(sum)) {
    const std::vector<int> own = phases_below(term, is_phase);
    if (own.empty()) return;
    for (const int one : own) {
      const bool of_source = !is_stack || !forest_.node(one).dims().is_scalar();
      if (is_phase.at(one) || !is_delay_.contains(one) || !of_source) return;
    }
    const auto is_own = [&](int one) { return std::ranges::find(own, one) != own.end(); };
    if (n_term++ == 0)
      n_first = own.size();
    else if (std::any_of(delays.begin(), delays.begin() + static_cast<std::ptrdiff_t>(n_first), is_own))
      return;  // the delay of a station
    delays.insert(delays.end(), own.begin(), own.end());
  }
  for (const int one : delays)
    if (is_delay_.erase(one) > 0)
      obstacles_.push_back({one, "its delay is given, and not made of coordinates and directions"});
}

FormReader& WrittenPhases::reader() {
  if (!reader_) reader_.emplace(forest_, refused_);
  return *reader_;
}

std::span<const int> WrittenPhases::numbers() const {
  return reader_ ? std::span<const int>(reader_->numbers()) : std::span<const int>();
}

/// A node as amplitude exp(i x); nothing if it is none.
std::optional<WrittenPhases::Exponential> WrittenPhases::exponential(int node) {
  const std::span<const int> children = forest_.children(node);
  switch (algebra(node)) {
    case Algebra::exponential: {
      const std::span<const int> parts = forest_.children(children[0]);
      const bool is_imaginary = algebra(children[0]) == Algebra::complex_number && is_real(parts[0], 0);
      if (is_imaginary && !refused_[static_cast<std::size_t>(children[0])]) return Exponential{.argument = parts[1]};
      return Exponential{.argument = children[0], .is_complex = true};
    }
    case Algebra::polar_number:
      return Exponential{.argument = children[1], .amplitude = {children[0]}};
    case Algebra::complex_number:
      return of_parts(factors(children[0]), factors(children[1]));
    default:
      break;
  }
  if (children.size() != 2) return {};
  // cos x + i sin x, in either order.
  Factors parts[] = {factors(children[0]), factors(children[1])};
  if (algebra(node) == Algebra::difference) parts[1].negative = !parts[1].negative;
  for (const int imaginary : {0, 1})
    if (take_imaginary_unit(parts[imaginary])) return of_parts(parts[1 - imaginary], parts[imaginary]);
  return {};
}

/// A cos x and A sin x.
std::optional<WrittenPhases::Exponential> WrittenPhases::of_parts(Factors real, Factors imaginary) const {
  const int argument = take_function(real, Algebra::cosine);
  if (argument < 0 || take_function(imaginary, Algebra::sine) != argument || real.all != imaginary.all) return {};
  return Exponential{.argument = argument,
                     .conjugate = real.negative != imaginary.negative,
                     .negative = real.negative,
                     .amplitude = std::move(real.all)};
}

WrittenPhases::Factors WrittenPhases::factors(int node) const {
  Factors result;
  std::vector<int> open{node};
  while (!open.empty()) {
    const int one = open.back();
    open.pop_back();
    const std::span<const int> children = forest_.children(one);
    const Algebra own = algebra(one);
    if (own == Algebra::negation) result.negative = !result.negative;
    if (own == Algebra::negation || own == Algebra::identity || own == Algebra::product)
      open.insert(open.end(), children.begin(), children.end());
    else
      result.all.push_back(one);
  }
  std::sort(result.all.begin(), result.all.end());
  return result;
}

/// Takes i, or -i, out of a product.
bool WrittenPhases::take_imaginary_unit(Factors& factors) {
  for (auto it = factors.all.begin(); it != factors.all.end(); ++it) {
    if (algebra(*it) != Algebra::constant || !reader().is_number(*it)) continue;
    const StateArray& value = forest_.node(*it).state().array("value");
    if (value.type != NumberType::complex || value.data[0] != 0 || std::abs(value.data[1]) != 1) continue;
    if (reader().value_of(*it).im < 0) factors.negative = !factors.negative;
    factors.all.erase(it);
    return true;
  }
  return false;
}

/// Takes a cosine or sine out of a product, and gives what it is of, without a sign; -1 if there is not one of them.
int WrittenPhases::take_function(Factors& factors, Algebra function) const {
  const auto is_it = [&](int node) { return algebra(node) == function; };
  const auto at = std::find_if(factors.all.begin(), factors.all.end(), is_it);
  if (at == factors.all.end() || refused_[static_cast<std::size_t>(*at)]) return -1;
  int argument = forest_.children(*at)[0];
  factors.all.erase(at);
  for (; algebra(argument) == Algebra::negation; argument = forest_.children(argument)[0])
    if (function == Algebra::sine) factors.negative = !factors.negative;
  return argument;
}

bool WrittenPhases::make(int node, const Exponential& found) {
  nodes_.set_owner(node);
  Form form;
  const bool is_read = reader().read(found.argument, form);
  const char* reason = is_read ? put(node, found, form, {.flagged = reader().leaves_out_flagged()}, {}) : "";
  if (reason == nullptr) return true;
  if (split(node, found)) return true;
  if (found.part != Algebra::none) return false;
  if (*reason != 0) obstacles_.push_back({node, reason});
  const auto is_delay = [](const Monomial& one) { return one.frequency == 1; };
  if (is_read && *reason == 0 && std::all_of(form.begin(), form.end(), is_delay)) is_delay_.insert(node);
  return false;
}

/// Puts a phase of a direction in the place of one that is written, times the rest; else gives why it is none, as
/// obstacle() does.
const char* WrittenPhases::put(int node, const Exponential& found, Form form, LeftOut left_out,
                               const std::vector<int>& rest) {
  if (const char* reason = obstacle(form, found.is_complex, 1)) return reason;
  double scale = take_scale(form, found.is_complex);
  // Without a source it is a delay of a station.
  if (std::all_of(form.begin(), form.end(), [](const Monomial& one) { return one.source.empty(); })) return "";
  if (found.conjugate) scale = -scale;
  Columns columns;
  int uvw = -1, n_minus = 0;
  if (!sort_columns(form, columns, uvw, 0)) return "its coordinates are no three numbers of a baseline";
  const TensorShape& dims = forest_.node(node).dims();
  const int lmn = lmn_of(columns, dims.rank == 1 ? dims[0] : 0, n_minus);
  if (std::abs(std::abs(scale) - 1) <= kRounding) scale = scale < 0 ? -1 : 1;
  if (scale != 1) {
    const int written = uvw;
    uvw = scale == -1 ? nodes_.negative(uvw) : nodes_.product(uvw, nodes_.constant(scale, {}));
    scaled_[written] = {uvw, scale};
  }
  std::vector<int> factors = amplitude(found);
  factors.insert(factors.end(), rest.begin(), rest.end());
  const bool is_whole = found.part == Algebra::none;
  int all = nodes_.phase(lmn, uvw, n_minus, is_whole && factors.empty());
  leaving_out_.emplace_back(all, left_out);
  if (!factors.empty()) {
    factors.push_back(all);
    all = nodes_.elementwise_product(std::move(factors), is_whole);
  }
  if (!is_whole) nodes_.part(all, found.part, true);
  return nullptr;
}

std::vector<int> WrittenPhases::amplitude(const Exponential& found) {
  std::vector<int> factors;
  for (const int factor : found.amplitude)
    if (!is_real(factor, 1)) factors.push_back(factor);
  if (found.negative) factors.push_back(nodes_.constant(-1, {}));
  return factors;
}

/// Why an expression does not go with this power of frequency and coordinates; "" where it does not look like it,
/// nullptr where it does.
const char* WrittenPhases::obstacle(const Form& form, bool is_complex, int frequency) {
  const bool any = std::any_of(form.begin(), form.end(), [frequency](const Monomial& one) {
    return !one.baseline.empty() && (one.frequency != 0) == (frequency != 0);
  });
  if (!any) return "";
  for (const Monomial& one : form) {
    if (one.baseline.size() != 1) return "a part of it has not just one factor that belongs to a baseline";
    // Rates times t - t0, multiplied out, would be two phases of billions of turns each.
    if (reader().is_time(one.baseline[0].node)) return "a part of it goes with the time itself";
    if (one.frequency != frequency)
      return frequency == 1 ? "a part of it is not proportional to frequency" : "a part of it varies with frequency";
    const double real = is_complex ? one.coefficient.im : one.coefficient.re;
    const double other = is_complex ? one.coefficient.re : one.coefficient.im;
    if (other != 0 || real == 0 || !std::isfinite(real)) return "it is not real";
  }
  return nullptr;
}

/// Takes the numbers that all products have out of a sum, and gives them by 2 pi / c. Other numbers are the source's.
double WrittenPhases::take_scale(Form& form, bool is_complex) {
  const auto common = form.front().numbers;
  const auto is_common = [&](const std::pair<int, int>& number) {
    return std::all_of(form.begin(), form.end(), [&](const Monomial& one) {
      return std::ranges::find(one.numbers, number) != one.numbers.end();
    });
  };
  double scale = kSpeedOfLight_m_s / (2 * kPi);
  std::vector<std::pair<int, int>> taken;
  for (const auto& number : common)
    if (is_common(number)) {
      taken.push_back(number);
      scale *= std::pow(reader().value_of(number.first).re, number.second);
    }
  for (Monomial& one : form) {
    if (is_complex) one.coefficient = {one.coefficient.im, 0};
    for (const auto& number : one.numbers) {
      if (std::ranges::find(taken, number) != taken.end()) continue;
      const auto [node, power] = number;
      if (power < 0) one.coefficient.re *= std::pow(reader().value_of(node).re, power);
      for (int i = 0; i < power; ++i) one.source.push_back({node, -1, node});
    }
  }
  const double first = form.front().coefficient.re;
  for (Monomial& one : form) one.coefficient.re /= first;
  return scale * first;
}

/// By quantities of the baseline: those of one vector in its order, from an element on; or from the first one on
/// numbers as they are met.
bool WrittenPhases::sort_columns(const Form& form, Columns& columns, int& uvw, int first_element) {
  const int vector = form.front().baseline.front().node;
  const TensorShape& dims = forest_.node(vector).dims();
  const bool is_vector =
      (dims == TensorShape{3} || dims == TensorShape{2, 3}) &&
      std::all_of(form.begin(), form.end(), [&](const Monomial& one) {
        const Atom& atom = one.baseline.front();
        return atom.node == vector && atom.element >= first_element && atom.element < first_element + 3;
      });
  if (is_vector) columns.resize(3);
  for (const Monomial& one : form) {
    const Atom& atom = one.baseline.front();
    auto at = columns.begin() + (is_vector ? atom.element - first_element : 0);
    if (!is_vector) {
      at = std::find_if(columns.begin(), columns.end(), [&](const Column& known) { return known.baseline == atom; });
      if (at == columns.end()) at = columns.insert(at, Column{atom, {}});
    }
    at->monomials.push_back(&one);
  }
  uvw = vector;
  if (is_vector) return true;
  if (columns.size() > 3 || first_element > 0) return false;
  std::vector<int> numbers;
  for (const Column& column : columns) {
    if (column.baseline.element < 0 && !forest_.node(column.baseline.node).dims().is_scalar()) return false;
    numbers.push_back(node_of(column.baseline));
  }
  columns.resize(3);
  while (numbers.size() < 3) numbers.push_back(nodes_.constant(0, {}));
  uvw = nodes_.stack(numbers, {3});
  return true;
}

bool WrittenPhases::is_real(int node, double wanted) {
  if (!reader().is_number(node)) return false;
  const StateArray& value = forest_.node(node).state().array("value");
  return value.type == NumberType::real && value.data[0] == wanted && reader().value_of(node).re == wanted;
}

}  // namespace rimetree::rewrite
