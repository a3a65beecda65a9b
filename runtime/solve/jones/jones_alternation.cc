// Where a fit of gains begins: each number is found with all others held, in turns, which costs no matrix. Of one term
// that is StefCal (Salvini & Wijnholds 2014, A&A 571, A97), of chains the terms follow each other. Far from the
// solution, as with gains of any phase, this needs less than Gauss-Newton, which then has little left to do.
#include "runtime/solve/jones/jones_alternation.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

namespace rimetree::solve {

namespace {

constexpr int kMostRounds = 100;
// Rounds end where they change the model by less than this part: nearer than a fit asks for, so that one look at its
// equations is enough. Where two rounds bring less than so much the fit goes on earlier, which then is quicker.
constexpr double kNear = 1e-5, kThere = 1e-9, kWorthwhile = 0.3;

/// A complex number that is solved for, or a real one.
struct Unknown {
  std::uint32_t re = 0;
  std::int64_t im = -1;   ///< -1: real
  std::size_t layer = 0;  ///< its place in the chain of terms: numbers of one layer are found together
  Complex<double> value, numerator;
  double denominator = 0;
  bool referred = false;  ///< real, so that the phases of the others refer to it: it may turn in between, with them
};

/// What stands at a place of a product, for one feed.
struct Place {
  std::int64_t number = -1;  ///< -1: something that is held
  bool conjugate = false;
  Complex<double> fixed{1.0};
};

bool is(Complex<double> z, double re, double im) { return z.re == re && z.im == im; }

/// The sums of an element that diagonal matrices lead to from the same element of the model alone.
struct OwnSums {
  Complex<double> b;
  double h = 0;
  OwnSums(const JonesProducts& of, const JonesSums& all, std::size_t block, std::uint32_t equation,
          std::size_t element) {
    const std::size_t n = of.n_basis(equation), k = n == 1 ? 0 : element;
    const Complex<double>* sums = all.of_products(block, equation, element);
    b = sums[k];
    h = sums[n + k * (k + 3) / 2].re;  // the lower triangle, row by row
  }
};

/// The numbers of which the factors of a problem are made.
class Numbers {
 public:
  Numbers(const Problem& problem, const JonesProducts& of, const JonesSums& sums, const std::vector<double>& values)
      : problem_(problem), of_(of), sums_(sums), values_(values) {
    for (const std::vector<int>& factors : of_.different()) longest_ = std::max(longest_, factors.size());
    const std::size_t n_frequency = problem_.frequency_segments().size();
    places_.resize(problem_.n_block() * of_.different().size() * of_.n_feed() * longest_);
    std::vector<bool> right(of_.different().size(), false);
    for (std::size_t e = 0; e < of_.n_equation(); ++e)
      for (const auto& [left_side, right_side] : of_.sides(e)) right[right_side] = true;
    for (std::size_t block = 0; block < problem_.n_block(); ++block)
      for (std::size_t product = 0; product < of_.different().size(); ++product) {
        const auto& factors = of_.different()[product];
        const Item item{0, static_cast<std::uint32_t>(block / n_frequency),
                        static_cast<std::uint32_t>(block % n_frequency)};
        for (std::size_t k = 0; k < factors.size(); ++k)
          add(factors[k], item, right[product] ? factors.size() - 1 - k : k, &place(block, product, 0, k));
      }
    std::vector<bool> complex(n_layer_, false);
    for (const Unknown& number : numbers_)
      if (number.im >= 0) complex[number.layer] = true;
    for (Unknown& number : numbers_) number.referred = number.im < 0 && complex[number.layer];
    find_elements();
  }

  /// An element of a block with data and a model: what stands on either side, and its sums.
  struct Element {
    const Place *left, *right;
    OwnSums sums;
  };
  const std::vector<Element>& elements() const { return elements_; }

  std::vector<Unknown>& all() { return numbers_; }
  /// Whether all factors are, and are to stay so.
  bool are_diagonal() const { return are_diagonal_; }

  /// Turns all numbers so that those are real which are real by what is solved for. All numbers of one feed may turn
  /// together, or, where only one of the feeds has such a number, of both.
  void refer() {
    std::vector<bool> turned(numbers_.size(), false);
    const std::size_t n_product = of_.different().size();
    for (std::size_t block = 0; block < problem_.n_block(); ++block)
      for (std::size_t layer = 0; layer < n_layer_; ++layer) {
        std::array<std::optional<Complex<double>>, 2> phasors;
        const auto each = [&](const auto& body) {
          for (std::size_t product = 0; product < n_product; ++product)
            for (std::size_t feed = 0; feed < of_.n_feed(); ++feed)
              for (std::size_t k = 0; k < longest_; ++k) {
                const std::int64_t number = place(block, product, feed, k).number;
                if (number >= 0 && numbers_[static_cast<std::size_t>(number)].layer == layer)
                  body(feed, static_cast<std::size_t>(number));
              }
        };
        each([&](std::size_t feed, std::size_t n) {
          const double size = abs(numbers_[n].value);
          if (numbers_[n].referred && !turned[n] && size > 0) phasors[feed] = numbers_[n].value * (1 / size);
        });
        if (!phasors[0]) phasors[0] = phasors[1];
        if (!phasors[1]) phasors[1] = phasors[0];
        if (!phasors[0]) continue;
        each([&](std::size_t feed, std::size_t n) {
          if (turned[n]) return;
          numbers_[n].value *= conj(*phasors[feed]);
          turned[n] = true;
        });
      }
    for (Unknown& number : numbers_)
      if (number.im < 0) number.value.im = 0;
  }
  std::size_t n_layer() const { return n_layer_; }
  std::size_t longest() const { return longest_; }
  const Place* places(std::size_t block, std::size_t product, std::size_t feed) const {
    return &places_[((block * of_.different().size() + product) * of_.n_feed() + feed) * longest_];
  }
  /// The product of what stands at the places, without that of a layer, whose number is told.
  Complex<double> product(const Place* places, std::size_t layer, const Place*& of_layer) const {
    Complex<double> rest{1.0};
    for (std::size_t k = 0; k < longest_; ++k) {
      const Place& here = places[k];
      if (here.number < 0) {
        rest *= here.fixed;
        continue;
      }
      const Unknown& number = numbers_[static_cast<std::size_t>(here.number)];
      if (number.layer == layer)
        of_layer = &here;
      else
        rest *= here.conjugate ? conj(number.value) : number.value;
    }
    return rest;
  }
  Complex<double> value(const Place& place) const {
    const Complex<double> value = numbers_[static_cast<std::size_t>(place.number)].value;
    return place.conjugate ? conj(value) : value;
  }

 private:
  void find_elements() {
    for (std::size_t block = 0; block < problem_.n_block(); ++block)
      for (std::uint32_t e = 0; e < of_.n_equation(); ++e) {
        if (!sums_.has_data[e] || of_.n_basis(e) == 0) continue;
        const auto [left, right] = of_.sides(e).front();
        for (std::size_t element = 0; element < of_.n_element(e); ++element) {
          const OwnSums sums(of_, sums_, block, e, element);
          const JonesTerm::Place at = of_.place(e, 0, element);
          if (sums.h > 0) elements_.push_back({places(block, left, at.row), places(block, right, at.column), sums});
        }
      }
  }

  Place& place(std::size_t block, std::size_t product, std::size_t feed, std::size_t k) {
    return places_[((block * of_.different().size() + product) * of_.n_feed() + feed) * longest_ + k];
  }

  /// What a factor has on its diagonal; `places` of the first feed, those of the other are `longest_` further.
  void add(int node, const Item& item, std::size_t layer, Place* places) {
    const JonesProduct factor = of_.product({node}, item);
    are_diagonal_ = are_diagonal_ && is_diagonal(factor);
    for (std::size_t feed = 0; feed < of_.n_feed(); ++feed) {
      const std::size_t e = feed * of_.n_feed() + feed;
      Place& place = places[feed * longest_];
      place.fixed = factor.value[e];
      std::int64_t re = -1, im = -1;
      bool conjugate = false, others = false;
      for (const auto& [unknown, slope] : factor.derivatives) {
        if (is(slope[e], 0, 0)) continue;
        if (is(slope[e], 1, 0) && re < 0)
          re = unknown;
        else if ((is(slope[e], 0, 1) || is(slope[e], 0, -1)) && im < 0)
          im = unknown, conjugate = slope[e].im < 0;
        else
          others = true;
      }
      // The number is what its unknowns say, and nothing besides.
      if (others || re < 0 || factor.value[e].re != values_[static_cast<std::size_t>(re)]) continue;
      const double imaginary = im < 0 ? 0 : values_[static_cast<std::size_t>(im)];
      if (factor.value[e].im != (conjugate ? -imaginary : imaginary)) continue;
      const auto [known, is_new] = known_.try_emplace(static_cast<std::uint32_t>(re), numbers_.size());
      if (is_new) {
        numbers_.push_back({static_cast<std::uint32_t>(re), im, layer, {factor.value[e].re, imaginary}, {}, 0});
        n_layer_ = std::max(n_layer_, layer + 1);
      }
      const Unknown& number = numbers_[known->second];
      if (number.layer != layer || number.im != im) continue;  // it occurs twice: held in one of the places
      place = {static_cast<std::int64_t>(known->second), conjugate, {1.0}};
    }
  }

  const Problem& problem_;
  const JonesProducts& of_;
  const JonesSums& sums_;
  const std::vector<double>& values_;
  bool is_diagonal(const JonesProduct& factor) const {
    if (of_.n_feed() == 1) return true;
    for (const std::size_t e : {1, 2}) {
      if (!is(factor.value[e], 0, 0)) return false;
      for (const auto& [unknown, slope] : factor.derivatives)
        if (!is(slope[e], 0, 0)) return false;
    }
    return true;
  }

  std::size_t longest_ = 0, n_layer_ = 0;
  bool are_diagonal_ = true;
  std::vector<Place> places_;  // [block, product, feed, factor]
  std::vector<Unknown> numbers_;
  std::vector<Element> elements_;
  std::map<std::uint32_t, std::size_t> known_;
};

/// Calls body(left places, right places, b, h) for all elements with data and a model.
template <class Body>
void for_each_element(const Numbers& numbers, const Body& body) {
  for (const auto& [left, right, sums] : numbers.elements()) body(left, right, sums.b, sums.h);
}

/// Chi-square without the data's power, which is the same at all values.
double relative_chi_square(const Numbers& numbers) {
  double sum = 0;
  for_each_element(numbers, [&](const Place* left, const Place* right, Complex<double> b, double h) {
    const Place* none = nullptr;
    constexpr std::size_t kNoLayer = ~std::size_t{0};
    const Complex<double> c = numbers.product(left, kNoLayer, none) * numbers.product(right, kNoLayer, none);
    sum += squared_modulus(c) * h - 2 * (c.re * b.re + c.im * b.im);
  });
  return sum;
}

/// The numbers of one layer with all others held; how much of the model changes. `share`: how far to go.
double find_layer(Numbers& numbers, std::size_t layer, double share) {
  for (Unknown& number : numbers.all()) number.numerator = {}, number.denominator = 0;
  for_each_element(numbers, [&](const Place* left, const Place* right, Complex<double> b, double h) {
    const Place *of_left = nullptr, *of_right = nullptr;
    const Complex<double> rest_left = numbers.product(left, layer, of_left),
                          rest_right = numbers.product(right, layer, of_right);
    const Complex<double> value_left = of_left ? rest_left * numbers.value(*of_left) : rest_left,
                          value_right = of_right ? rest_right * numbers.value(*of_right) : rest_right;
    const auto add = [&](const Place& place, Complex<double> slope) {
      Unknown& number = numbers.all()[static_cast<std::size_t>(place.number)];
      const Complex<double> sum = conj(slope) * b;
      number.numerator += place.conjugate ? conj(sum) : sum;
      number.denominator += squared_modulus(slope) * h;
    };
    if (of_left) add(*of_left, rest_left * value_right);
    if (of_right) add(*of_right, rest_right * value_left);
  });
  double change = 0, power = 0;
  for (Unknown& number : numbers.all()) {
    if (number.layer != layer || !(number.denominator > 0)) continue;
    Complex<double> target = number.numerator * (1 / number.denominator);
    // An amplitude that comes out negative has phases beside it that are not found yet, and would keep them from it.
    if (number.im < 0 && !number.referred) target = {target.re < 0 ? abs(target) : target.re, 0};
    const Complex<double> step = target - number.value;
    change += squared_modulus(step) * number.denominator;
    power += squared_modulus(target) * number.denominator;
    number.value += step * share;
  }
  return power > 0 ? change / power : 0;
}

/// Chi-square of each group at these numbers.
std::vector<double> chi_squares(const Problem& problem, const JonesProducts& of, const JonesSums& all,
                                const Numbers& numbers) {
  std::vector<double> found(problem.n_group(), 0.0);
  constexpr std::size_t kNoLayer = ~std::size_t{0};
  for (const Item& item : all.items()) {
    const std::int32_t g = problem.group_of(item);
    if (g < 0) continue;
    const std::size_t block = all.block_of(item);
    if (of.n_basis(item.equation) == 0) {
      for (std::size_t element = 0; element < of.n_element(item.equation); ++element)
        found[static_cast<std::size_t>(g)] += all.scalars(block, item.equation, element).power;
      continue;
    }
    const auto [left, right] = of.sides(item.equation).front();
    for (std::size_t element = 0; element < of.n_element(item.equation); ++element) {
      const OwnSums sums(of, all, block, item.equation, element);
      const Place* none = nullptr;
      const JonesTerm::Place at = of.place(item.equation, 0, element);
      const Complex<double> c = numbers.product(numbers.places(block, left, at.row), kNoLayer, none) *
                                numbers.product(numbers.places(block, right, at.column), kNoLayer, none);
      found[static_cast<std::size_t>(g)] +=
          std::max(0.0, all.scalars(block, item.equation, element).power + squared_modulus(c) * sums.h -
                            2 * (c.re * sums.b.re + c.im * sums.b.im));
    }
  }
  return found;
}

}  // namespace

std::vector<double> alternate(const Problem& problem, const JonesProducts& products, const JonesSums& sums,
                              std::vector<double>& values, Cancellation& cancellation) {
  Numbers numbers(problem, products, sums, values);
  if (numbers.all().empty() || !numbers.are_diagonal()) return {};
  const double before = relative_chi_square(numbers);
  const std::vector<double> found = chi_squares(problem, products, sums, numbers);
  std::array<double, 2> last{INFINITY, INFINITY};  // changes of the two rounds before
  for (int round = 0; round < kMostRounds; ++round) {
    double change = 0;
    // Steps of all antennas together go too far: every second one goes half the way.
    for (std::size_t layer = 0; layer < numbers.n_layer(); ++layer)
      change = std::max(change, find_layer(numbers, layer, round % 2 == 0 ? 1.0 : 0.5));
    if (change < kThere * kThere || (change < kNear * kNear && change > kWorthwhile * kWorthwhile * last[0])) break;
    last = {last[1], change};
    if (cancellation.check()) throw Cancelled();
  }
  numbers.refer();
  if (!(relative_chi_square(numbers) < before)) return {};
  for (const Unknown& number : numbers.all()) {
    values[number.re] = number.value.re;
    if (number.im >= 0) values[static_cast<std::size_t>(number.im)] = number.value.im;
  }
  return found;
}

}  // namespace rimetree::solve
