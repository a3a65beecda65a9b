// Where a fit of full matrices begins: the rows of all matrices are found with the other side of each baseline held, in
// turns (StefCal for full matrices: Salvini & Wijnholds 2014, A&A 571, A97, section 4.4). Element (i, l) of L M R is
// the sum over a and e of L_ia M_ae R_el: linear in a row of L, and in a column of R, which is the conjugate of a row
// of the other antenna's matrix. What a row is found from are two by two sums, no matrix of all unknowns.
//
// A sky of which little is polarised hardly tells what all matrices have in common on the sky's side, J U instead of J
// with U unitary: rows that are found in turns come there slowly, and so does the fit of all unknowns. Steps of U alone
// follow that valley.
#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>

#include "runtime/fit/small_system.h"
#include "runtime/solve/jones/jones_alternation.h"

namespace rimetree::solve {

namespace {

constexpr int kMostRounds = 200;
constexpr int kRoundsToTurn = 4;  // of rows, between steps of what all matrices have in common
// As for numbers (jones_alternation.cc).
constexpr double kNear = 1e-4, kThere = 1e-9, kWorthwhile = 0.3;

/// An element of a row: a complex number that is solved for, a real one, or something that is held.
struct Element {
  std::int64_t re = -1, im = -1;  ///< unknowns; -1: held
  Complex<double> value;
  bool is_held() const { return re < 0; }
  bool is_real() const { return re >= 0 && im < 0; }
};

struct Row {
  std::array<Element, 2> elements;
  std::int32_t group = -1;
  bool turns = false;  ///< its real numbers refer the phases of others to them, and may turn with these in between
  // What it is found from: Hermitian sums of the slopes' products, and those with the misfit.
  double h00 = 0, h11 = 0;
  Complex<double> h01, g0, g1;

  bool is_free(std::size_t element, bool imaginary) const {
    const Element& of = elements[element];
    return !of.is_held() && (!imaginary || !of.is_real() || turns);
  }
};

Complex<double> sum_at(const Complex<double>* h, std::size_t k, std::size_t l) {
  return k >= l ? h[k * (k + 1) / 2 + l] : conj(h[l * (l + 1) / 2 + k]);
}

/// The rows of which the matrices of a problem are made.
class Rows {
 public:
  Rows(const Problem& problem, const JonesProducts& of, const JonesSums& sums, const std::vector<double>& values)
      : problem_(problem), of_(of), sums_(sums), values_(values), rows_of_(problem.n_block() * of.different().size()) {
    std::vector<bool> right(of_.different().size(), false);
    for (std::size_t e = 0; e < of_.n_equation(); ++e) right[of_.sides(e).front()[1]] = true;
    const std::size_t n_frequency = problem_.frequency_segments().size();
    for (std::size_t block = 0; block < problem_.n_block(); ++block)
      for (std::size_t product = 0; product < of_.different().size(); ++product) {
        const Item item{0, static_cast<std::uint32_t>(block / n_frequency),
                        static_cast<std::uint32_t>(block % n_frequency)};
        const JonesProduct matrix = of_.product(of_.different()[product], item);
        for (std::size_t i = 0; i < 2; ++i)
          rows_of_[block * of_.different().size() + product][i] = add(matrix, i, right[product]);
      }
    const bool complex = std::any_of(rows_.begin(), rows_.end(), [](const Row& row) {
      return std::any_of(row.elements.begin(), row.elements.end(), [](const Element& one) { return one.im >= 0; });
    });
    for (Row& row : rows_) row.turns = complex;
    for (const Item& item : sums_.items()) {
      const std::size_t block = sums_.block_of(item);
      const auto [l, r] = of_.sides(item.equation).front();
      for (std::size_t e = 0; e < of_.n_element(); ++e) {
        visibilities_.push_back({rows_of_[block * of_.different().size() + l][e / 2],
                                 rows_of_[block * of_.different().size() + r][e % 2],
                                 sums_.of_products(block, item.equation, e), problem_.group_of(item)});
        for (const std::uint32_t row : {visibilities_.back().left, visibilities_.back().right})
          rows_[row].group = visibilities_.back().group;
      }
    }
  }

  bool can_be_found() const { return all_known_ && !rows_.empty(); }
  const std::vector<Row>& all() const { return rows_; }

  /// Chi-square without the data's power, which is the same at all values.
  double relative_chi_square() const {
    double sum = 0;
    for (const Visibility& one : visibilities_) {
      const Coefficients c = coefficients(one);
      for (std::size_t k = 0; k < 4; ++k) sum -= (conj(c.of[k]) * (one.sums[k] + c.misfit[k])).re;
    }
    return sum;
  }

  /// Chi-square of each group.
  std::vector<double> chi_squares() const {
    std::vector<double> found(problem_.n_group(), 0.0);
    auto visibility = visibilities_.begin();
    for (const Item& item : sums_.items())
      for (std::size_t e = 0; e < of_.n_element(); ++e, ++visibility) {
        if (visibility->group < 0) continue;
        const Coefficients c = coefficients(*visibility);
        double chi_square = sums_.scalars(sums_.block_of(item), item.equation, e).power;
        for (std::size_t k = 0; k < 4; ++k) chi_square -= (conj(c.of[k]) * (visibility->sums[k] + c.misfit[k])).re;
        found[static_cast<std::size_t>(visibility->group)] += std::max(0.0, chi_square);
      }
    return found;
  }

  /// All rows with the other sides held; how much of the model changes. `share`: how far to go.
  double find(double share) {
    for (Row& row : rows_) row.h00 = row.h11 = 0, row.h01 = row.g0 = row.g1 = {};
    for (const Visibility& one : visibilities_) add_to_rows(one);
    double change = 0, power = 0;
    for (Row& row : rows_) move(row, share, change, power);
    return power > 0 ? change / power : 0;
  }

  /// A step of I + A that all matrices of a group are multiplied with from the right, where nothing of them is held but
  /// phases.
  void find_common() {
    std::vector<Common> groups(problem_.n_group());
    for (const Visibility& one : visibilities_) {
      if (one.group < 0) continue;
      Common& common = groups[static_cast<std::size_t>(one.group)];
      const auto &x = rows_[one.left].elements, &z = rows_[one.right].elements;
      for (const auto* row : {&x, &z})
        for (const Element& element : *row) common.may_turn = common.may_turn && !element.is_held();
      if (common.may_turn) add_to_common(one, common);
    }
    for (Common& common : groups) {
      double trace = 0;
      for (std::size_t i = 0; i < 8; ++i) trace += common.h[9 * i];
      if (!common.may_turn || !(trace > 0)) continue;
      // Phases are not told; all else is, if only by a little.
      for (std::size_t i = 0; i < 8; ++i) common.h[9 * i] += 1e-12 * trace;
      if (!fit::solve_small(common.h, common.g, common.a)) continue;
      double length = 0;
      for (const double part : common.a) length += part * part;
      // A long step is a direction only.
      if (length > 0.25)
        for (double& part : common.a) part *= 0.5 / std::sqrt(length);
    }
    for (Row& row : rows_) {
      if (row.group < 0) continue;
      const auto& a = groups[static_cast<std::size_t>(row.group)].a;
      const Complex<double> x0 = row.elements[0].value, x1 = row.elements[1].value;
      row.elements[0].value += x0 * Complex<double>{a[0], a[1]} + x1 * Complex<double>{a[4], a[5]};
      row.elements[1].value += x0 * Complex<double>{a[2], a[3]} + x1 * Complex<double>{a[6], a[7]};
    }
  }

  /// Turns the matrices, a column at a time, so that those numbers are real which are real by what is solved for.
  void refer() {
    std::vector<bool> turned(rows_.size(), false);
    for (std::size_t first = 0; first < rows_of_.size(); first += of_.different().size()) {
      const auto of_block = std::span(rows_of_).subspan(first, of_.different().size());
      std::array<std::optional<Complex<double>>, 2> phasors;
      for (const auto& pair : of_block)
        for (const std::uint32_t r : pair)
          for (std::size_t a = 0; a < 2; ++a) {
            const Element& one = rows_[r].elements[a];
            if (one.is_real() && !turned[r] && abs(one.value) > 0) phasors[a] = one.value * (1 / abs(one.value));
          }
      if (!phasors[0]) phasors[0] = phasors[1];
      if (!phasors[1]) phasors[1] = phasors[0];
      for (const auto& pair : of_block)
        for (const std::uint32_t r : pair) {
          for (std::size_t a = 0; phasors[0] && !turned[r] && a < 2; ++a)
            if (!rows_[r].elements[a].is_held()) rows_[r].elements[a].value *= conj(*phasors[a]);
          turned[r] = true;
        }
    }
    for (Row& row : rows_)
      for (Element& one : row.elements)
        if (one.is_real()) one.value.im = 0;
  }

 private:
  struct Visibility {
    std::uint32_t left, right;  ///< rows
    const Complex<double>* sums;
    std::int32_t group;
  };
  /// What the matrices of a group have in common: A by real and imaginary parts, [row, column], and what tells it.
  struct Common {
    std::array<double, 64> h{};
    std::array<double, 8> g{}, a{};
    bool may_turn = true;
  };
  void add_to_common(const Visibility& one, Common& common) const {
    const auto &x = rows_[one.left].elements, &z = rows_[one.right].elements;
    const Coefficients c = coefficients(one);
    std::array<std::array<Complex<double>, 4>, 8> slopes{},
        seen{};  // of the coefficients, and what the sums make of them
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t m = 0; m < 2; ++m) {  // x_a += x_m A_ma, z_e += z_m A_me
        const std::size_t a = k / 2, e = k % 2, of_left = 2 * (2 * m + a), of_right = 2 * (2 * m + e);
        const Complex<double> left = x[m].value * conj(z[e].value), right = x[a].value * conj(z[m].value);
        slopes[of_left][k] += left, slopes[of_left + 1][k] += left * Complex<double>{0, 1};
        slopes[of_right][k] += right, slopes[of_right + 1][k] += right * Complex<double>{0, -1};
      }
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t k = 0; k < 4; ++k) {
        common.g[i] += (conj(slopes[i][k]) * c.misfit[k]).re;
        for (std::size_t l = 0; l < 4; ++l) seen[i][k] += sum_at(one.sums + 4, k, l) * slopes[i][l];
      }
    for (std::size_t i = 0; i < 8; ++i)
      for (std::size_t j = 0; j < 8; ++j)
        for (std::size_t k = 0; k < 4; ++k) common.h[8 * i + j] += (conj(slopes[i][k]) * seen[j][k]).re;
  }

  /// Of the fixed visibilities M_00 M_01 M_10 M_11, and what is left of the sums with the data.
  struct Coefficients {
    std::array<Complex<double>, 4> of, misfit;
  };
  Coefficients coefficients(const Visibility& one) const {
    const auto &x = rows_[one.left].elements, &z = rows_[one.right].elements;
    Coefficients c;
    for (std::size_t k = 0; k < 4; ++k) c.of[k] = x[k / 2].value * conj(z[k % 2].value);
    const Complex<double>*b = one.sums, *h = b + 4;
    for (std::size_t k = 0; k < 4; ++k) {
      c.misfit[k] = b[k];
      for (std::size_t l = 0; l < 4; ++l) c.misfit[k] += sum_at(h, k, l) * c.of[l] * -1.0;
    }
    return c;
  }

  void add_to_rows(const Visibility& one) {
    const auto &x = rows_[one.left].elements, &z = rows_[one.right].elements;
    const Complex<double>* h = one.sums + 4;
    const Coefficients c = coefficients(one);
    Row &left = rows_[one.left], &right = rows_[one.right];
    // Slopes with respect to the left are conj(z), to the conjugate of the right x.
    const auto on_left = [&](std::size_t a, std::size_t b) {
      Complex<double> sum{};
      for (std::size_t e = 0; e < 2; ++e)
        for (std::size_t f = 0; f < 2; ++f) sum += z[e].value * sum_at(h, 2 * a + e, 2 * b + f) * conj(z[f].value);
      return sum;
    };
    const auto on_right = [&](std::size_t e, std::size_t f) {
      Complex<double> sum{};
      for (std::size_t a = 0; a < 2; ++a)
        for (std::size_t b = 0; b < 2; ++b) sum += conj(x[a].value) * sum_at(h, 2 * a + e, 2 * b + f) * x[b].value;
      return sum;
    };
    const Complex<double> of_left[2] = {z[0].value * c.misfit[0] + z[1].value * c.misfit[1],
                                        z[0].value * c.misfit[2] + z[1].value * c.misfit[3]};
    const Complex<double> of_right[2] = {conj(x[0].value) * c.misfit[0] + conj(x[1].value) * c.misfit[2],
                                         conj(x[0].value) * c.misfit[1] + conj(x[1].value) * c.misfit[3]};
    const double left00 = on_left(0, 0).re, left11 = on_left(1, 1).re, right00 = on_right(0, 0).re,
                 right11 = on_right(1, 1).re;
    const Complex<double> left01 = on_left(0, 1), right01 = conj(on_right(0, 1));
    left.h00 += left00, left.h11 += left11, left.h01 += left01;
    left.g0 += of_left[0], left.g1 += of_left[1];
    right.h00 += right00, right.h11 += right11, right.h01 += right01;
    right.g0 += conj(of_right[0]), right.g1 += conj(of_right[1]);
  }

  /// By real and imaginary parts, of which some may be held.
  static void move(Row& row, double share, double& change, double& power) {
    const std::array<double, 16> h{row.h00,     0,          row.h01.re, -row.h01.im,  //
                                   0,           row.h00,    row.h01.im, row.h01.re,   //
                                   row.h01.re,  row.h01.im, row.h11,    0,            //
                                   -row.h01.im, row.h01.re, 0,          row.h11};
    std::array<double, 4> g{row.g0.re, row.g0.im, row.g1.re, row.g1.im}, step, value;
    std::array<double, 16> free = h;
    for (std::size_t k = 0; k < 4; ++k) {
      if (row.is_free(k / 2, k % 2 == 1)) continue;
      for (std::size_t l = 0; l < 4; ++l) free[4 * k + l] = free[4 * l + k] = 0;
      free[5 * k] = 1, g[k] = 0;
    }
    if (!fit::solve_small(free, g, step)) return;  // without data, or with one polarisation only
    for (std::size_t k = 0; k < 4; ++k) {
      Complex<double>& of = row.elements[k / 2].value;
      double& part = k % 2 == 0 ? of.re : of.im;
      value[k] = part + step[k];
      part += share * step[k];
    }
    for (std::size_t k = 0; k < 4; ++k)
      for (std::size_t l = 0; l < 4; ++l) {
        change += step[k] * h[4 * k + l] * step[l];
        power += value[k] * h[4 * k + l] * value[l];
      }
  }

  /// Row i of a matrix on the left, or column i of one on the right as the conjugate of a row.
  std::uint32_t add(const JonesProduct& matrix, std::size_t i, bool right) {
    Row row;
    for (std::size_t a = 0; a < 2; ++a) {
      const std::size_t e = right ? 2 * a + i : 2 * i + a;
      Element& one = row.elements[a];
      one.value = right ? conj(matrix.value[e]) : matrix.value[e];
      for (const auto& [unknown, slope] : matrix.derivatives) {
        const Complex<double> own = right ? conj(slope[e]) : slope[e];
        if (own.re == 0 && own.im == 0) continue;
        if (own.re == 1 && own.im == 0 && one.re < 0)
          one.re = unknown;
        else if (own.re == 0 && own.im == 1 && one.im < 0)
          one.im = unknown;
        else
          all_known_ = false;
      }
      const auto is_value = [&](std::int64_t unknown, double part) {
        return unknown < 0 || values_[static_cast<std::size_t>(unknown)] == part;
      };
      // A number is what its unknowns say, and nothing besides.
      if (one.re < 0 && one.im >= 0) all_known_ = false;
      if (!is_value(one.re, one.value.re) || !is_value(one.im, one.value.im)) all_known_ = false;
    }
    const std::int64_t a = row.elements[0].re, b = row.elements[1].re;
    if (a < 0 && b < 0) return append(row);
    const auto [known, is_new] = known_.try_emplace({a, b}, static_cast<std::uint32_t>(rows_.size()));
    if (is_new) {
      for (const std::int64_t unknown : {a, b})
        if (unknown >= 0 && !in_row_.try_emplace(unknown, known->second).second) all_known_ = false;  // in two rows
      return append(row);
    }
    for (std::size_t k = 0; k < 2; ++k) {
      const Element &old = rows_[known->second].elements[k], &one = row.elements[k];
      if (old.im != one.im || (one.is_held() && !(old.value == one.value))) all_known_ = false;
    }
    return known->second;
  }
  std::uint32_t append(const Row& row) {
    rows_.push_back(row);
    return static_cast<std::uint32_t>(rows_.size() - 1);
  }

  const Problem& problem_;
  const JonesProducts& of_;
  const JonesSums& sums_;
  const std::vector<double>& values_;
  std::vector<std::array<std::uint32_t, 2>> rows_of_;  // [block, product]
  std::vector<Row> rows_;
  std::vector<Visibility> visibilities_;
  std::map<std::pair<std::int64_t, std::int64_t>, std::uint32_t> known_;
  std::map<std::int64_t, std::uint32_t> in_row_;
  bool all_known_ = true;
};

}  // namespace

std::vector<double> alternate_matrices(const Problem& problem, const JonesProducts& products, const JonesSums& sums,
                                       std::vector<double>& values, Cancellation& cancellation) {
  Rows rows(problem, products, sums, values);
  if (!rows.can_be_found()) return {};
  const double before = rows.relative_chi_square();
  const std::vector<double> found = rows.chi_squares();
  std::array<double, 2> last{INFINITY, INFINITY};  // changes of the two rounds before
  for (int round = 0; round < kMostRounds; ++round) {
    if (round % kRoundsToTurn == kRoundsToTurn - 1) {
      rows.find_common();
      continue;
    }
    const double change = rows.find(round % 2 == 0 ? 1.0 : 0.5);
    if (change < kThere * kThere || (change < kNear * kNear && change > kWorthwhile * kWorthwhile * last[0])) break;
    last = {last[1], change};
    if (cancellation.check()) throw Cancelled();
  }
  rows.refer();
  if (!(rows.relative_chi_square() < before)) return {};
  for (const Row& row : rows.all())
    for (const Element& one : row.elements) {
      if (one.re >= 0) values[static_cast<std::size_t>(one.re)] = one.value.re;
      if (one.im >= 0) values[static_cast<std::size_t>(one.im)] = one.value.im;
    }
  return found;
}

}  // namespace rimetree::solve
