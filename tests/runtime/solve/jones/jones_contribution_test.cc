// Normal equations of Jones terms are those that the definition gives: of coefficients c of fixed visibilities, sums b
// and H over the data, chi-square is power - 2 Re(c^H b) + c^H H c, and slopes of c are differences.
#include "runtime/solve/jones/jones_contribution.h"

#include <random>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

using solve::Contribution;
using solve::Item;
using solve::JonesProduct;
using solve::JonesProducts;
using solve::JonesSums;
using solve::Problem;
using Column = std::vector<Complex<double>>;

struct Case {
  std::string name;
  std::string factor;           ///< "full", "diagonal", "scalar"
  int n_term = 1;               ///< directions with factors of their own
  bool right = true;            ///< factors on both sides, or on the left one only
  bool fixed_term = false;      ///< and a direction without
  bool shared = false;          ///< all factors of a direction share one unknown
  bool first_is_fixed = false;  ///< the first antenna's factors are not solved for
  bool dark = false;            ///< models have no light on one element of one baseline
  double robust_dof = 0;
};

void PrintTo(const Case& one, std::ostream* out) { *out << one.name; }

/// Three antennas, whose factors are of random values, on two times and three frequencies.
class Scene {
 public:
  explicit Scene(const Case& of) : of_(of) {
    forest_.constant("zero", 0.0).parm("elsewhere", 1);
    TestForest::Children condeqs;
    for (int d = 0; d < of.n_term; ++d) {
      if (of.shared) forest_.parm("shared" + std::to_string(d), uniform_(random_));
      for (int p = 0; p < 3; ++p) factor(name_of(d, p), "shared" + std::to_string(d), p > 0 || !of.first_is_fixed);
    }
    for (int p = 0; p < 3; ++p)
      for (int q = p + 1; q < 3; ++q) condeqs.push_back(equation(p, q));
    forest_.node("solver", "Solver", condeqs).evaluate("elsewhere");
    problem_.emplace(*forest_.built, forest_.built->find("solver"), forest_.request, std::vector<std::string>{});
    problem_->divide(*forest_.request.cells);
    products_ = products();
    sums_.emplace(*problem_, *products_);
    fill();
  }

  Problem& problem() { return *problem_; }
  std::vector<Item> items() const { return sums_->items(); }
  Contribution contribution(const Item& item) const {
    std::vector<JonesProduct> found;
    for (const auto& factors : products_->different()) found.push_back(products_->product(factors, item));
    ErrorModel errors;
    errors.degrees_of_freedom = of_.robust_dof;
    Contribution to;
    solve::contribute(*products_, *sums_, errors, item, found.data(), to);
    return to;
  }

  struct Expected {
    double chi_square = 0, equations = 0;
    std::vector<double> gradient, matrix;  ///< of all unknowns, [n] and [n, n]
  };
  Expected expected(const Item& item) {
    const std::size_t n_unknown = problem_->n_unknown();
    Expected result{.gradient = std::vector<double>(n_unknown), .matrix = std::vector<double>(n_unknown * n_unknown)};
    for (std::size_t element = 0; element < products_->n_element(); ++element) {
      const solve::ScalarSums& scalars = sums_->scalars(sums_->block_of(item), item.equation, element);
      if (scalars.equations == 0) continue;
      result.equations += scalars.equations;
      const std::size_t n = products_->n_basis(item.equation);
      const Complex<double>*b = sums_->of_products(sums_->block_of(item), item.equation, element), *h = b + n;
      const auto at = [&](std::size_t row, std::size_t column) {
        return row >= column ? h[row * (row + 1) / 2 + column] : conj(h[column * (column + 1) / 2 + row]);
      };
      const Column c = coefficients(*products_, item, element);
      Column misfit(b, b + n);
      result.chi_square += of_.robust_dof > 0 ? scalars.chi_square : scalars.power;
      for (std::size_t k = 0; k < n; ++k)
        for (std::size_t l = 0; l < n; ++l) misfit[k] -= at(k, l) * c[l];
      for (std::size_t k = 0; of_.robust_dof == 0 && k < n; ++k)
        result.chi_square -= (conj(c[k]) * (b[k] + misfit[k])).re;
      const std::vector<Column> slopes = slopes_of(item, element);
      for (std::size_t i = 0; i < n_unknown; ++i)
        for (std::size_t k = 0; k < n; ++k) {
          result.gradient[i] += (conj(slopes[i][k]) * misfit[k]).re;
          for (std::size_t j = 0; j < n_unknown; ++j)
            for (std::size_t l = 0; l < n; ++l)
              result.matrix[i * n_unknown + j] += (conj(slopes[i][k]) * at(k, l) * slopes[j][l]).re;
        }
    }
    return result;
  }

 private:
  double uniform() { return uniform_(random_); }
  static std::string name_of(int d, int p) { return "g" + std::to_string(d) + "_" + std::to_string(p); }

  void factor(const std::string& name, const std::string& shared, bool solvable) {
    const auto element = [&](const std::string& own) {
      for (const char* part : {"r", "i"})
        forest_.node(own + part, "Parm", {}, {{"value", uniform()}, {"solvable", solvable}});
      forest_.node(own, "ToComplex", {of_.shared && own.ends_with("_0") ? shared : own + "r", own + "i"});
      return own;
    };
    if (of_.factor == "scalar") {
      element(name + "_0");
      forest_.node(name, "Identity", {name + "_0"}).node(name + "H", "Conj", {name});
      return;
    }
    TestForest::Children elements;
    for (int e = 0; e < 4; ++e)
      elements.push_back(of_.factor == "full" || e == 0 || e == 3 ? element(name + "_" + std::to_string(e)) : "zero");
    forest_.node(name, "Matrix22", elements).node(name + "H", "ConjTranspose", {name});
  }

  std::string equation(int p, int q) {
    const std::string pq = std::to_string(p) + std::to_string(q);
    TestForest::Children terms;
    for (int d = 0; d < of_.n_term + (of_.fixed_term ? 1 : 0); ++d) {
      const std::string core = "m" + std::to_string(d) + pq, term = "v" + std::to_string(d) + pq;
      if (of_.factor == "scalar")
        forest_.constant(core, complex_array({2, 3}, Column(6, {1, 2})), 2);
      else
        forest_.constant(core, complex_array({2, 2, 2, 3}, Column(24, {1, 2})), 2);
      terms.push_back(d < of_.n_term ? term : core);
      if (d >= of_.n_term) continue;
      TestForest::Children product{name_of(d, p), core};
      if (of_.right) product.push_back(name_of(d, q) + "H");
      forest_.node(term, of_.factor == "scalar" ? "Multiply" : "MatrixMultiply", product);
    }
    std::string model = terms[0], data = "d" + pq;
    if (terms.size() > 1) forest_.node(model = "v" + pq, "Add", terms);
    forest_.node(data, "Identity", {"m0" + pq});
    return forest_.node("c" + pq, "Condeq", {data, model}).specs().back().name;
  }

  std::unique_ptr<JonesProducts> products() {
    std::vector<solve::JonesModel> models;
    for (const solve::Equation& one : problem_->equations)
      models.push_back(solve::jones_model(*forest_.built, one.model).value());
    auto made = std::make_unique<JonesProducts>(solve::ModelForest(*forest_.evaluator, false), *problem_,
                                                forest_.request, std::move(models));
    Cancellation cancellation;
    EXPECT_TRUE(made->evaluate(cancellation));
    return made;
  }

  /// Sums of random data, as H = A^H A; one element of an equation has none.
  void fill() {
    sums_->clear(true);
    for (std::uint32_t e = 0; e < problem_->equations.size(); ++e) {
      sums_->has_data[e] = sums_->is_complex[e] = 1;
      const std::size_t n = products_->n_basis(e);
      for (std::size_t block = 0; block < problem_->n_block(); ++block)
        for (std::size_t element = 0; element < products_->n_element(); ++element) {
          solve::ScalarSums& scalars = sums_->scalars(block, e, element);
          scalars.flagged = 2;
          if (e == 1 && element == 1) continue;
          scalars.equations = 6 + static_cast<double>(element);
          scalars.power = 1e4 + uniform(), scalars.chi_square = 70 + uniform();
          if (of_.dark && e == 0 && element == 0) continue;
          Complex<double>*b = sums_->of_products(block, e, element), *h = b + n;
          Column a(n * n);
          for (Complex<double>& x : a) x = {uniform(), uniform()};
          for (std::size_t k = 0; k < n; ++k) {
            b[k] = {uniform(), uniform()};
            for (std::size_t l = 0; l <= k; ++l, ++h)
              for (std::size_t i = 0; i < n; ++i) *h += conj(a[i * n + k]) * a[i * n + l];
          }
        }
    }
  }

  static Column coefficients(const JonesProducts& of, const Item& item, std::size_t element) {
    return of.coefficients(item, element, of.by_term(item));
  }
  /// By unknown. Coefficients are at most quadratic in each, so that differences are exact.
  std::vector<Column> slopes_of(const Item& item, std::size_t element) {
    constexpr double kStep = 0.125;
    const std::vector<double> here = problem_->values(*forest_.built);
    std::vector<Column> slopes;
    for (std::size_t i = 0; i < here.size(); ++i) {
      Column slope(products_->n_basis(item.equation));
      for (const double sign : {1.0, -1.0}) {
        std::vector<double> there = here;
        there[i] += sign * kStep;
        problem_->set_values(*forest_.built, there);
        const Column c = coefficients(*products(), item, element);
        for (std::size_t k = 0; k < c.size(); ++k) slope[k] += c[k] * (sign / (2 * kStep));
      }
      slopes.push_back(std::move(slope));
    }
    problem_->set_values(*forest_.built, here);
    return slopes;
  }

  Case of_;
  std::mt19937_64 random_{7};
  std::uniform_real_distribution<double> uniform_{-1, 1};
  TestForest forest_;
  std::optional<Problem> problem_;
  std::unique_ptr<JonesProducts> products_;
  std::optional<JonesSums> sums_;
};

class JonesContribution : public ::testing::TestWithParam<Case> {};

TEST_P(JonesContribution, IsWhatTheDefinitionGives) {
  Scene scene(GetParam());
  const std::size_t n = scene.problem().n_unknown();
  ASSERT_EQ(scene.items().size(), 3 * scene.problem().n_block());
  for (const Item& item : scene.items()) {
    const Contribution got = scene.contribution(item);
    const Scene::Expected expected = scene.expected(item);
    EXPECT_NEAR(got.equations.chi_square, expected.chi_square, 1e-9);
    EXPECT_EQ(static_cast<double>(got.equations.equations), expected.equations);
    EXPECT_EQ(got.excluded.flagged, 2 * (GetParam().factor == "scalar" ? 1U : 4U));
    std::vector<double> gradient(n), matrix(n * n);
    for (std::size_t i = 0; i < got.unknowns.size(); ++i) {
      gradient[got.unknowns[i]] = got.equations.gradient[i];
      for (std::size_t j = 0; j <= i; ++j)
        matrix[got.unknowns[i] * n + got.unknowns[j]] = matrix[got.unknowns[j] * n + got.unknowns[i]] =
            got.equations.matrix[i * got.unknowns.size() + j];
    }
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_NEAR(gradient[i], expected.gradient[i], 1e-11) << i;
      for (std::size_t j = 0; j < n; ++j)
        EXPECT_NEAR(matrix[i * n + j], expected.matrix[i * n + j], 1e-11) << i << ", " << j;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    Factors, JonesContribution,
    ::testing::Values(Case{"scalars", "scalar"}, Case{"diagonal", "diagonal"}, Case{"full", "full"},
                      Case{"scalars_of_two_directions", "scalar", 2}, Case{"diagonal_of_two", "diagonal", 2},
                      Case{"full_of_two_and_a_fixed_one", "full", 2, true, true},
                      Case{"full_on_the_left", "full", 1, false}, Case{"scalars_on_the_left", "scalar", 2, false},
                      Case{.name = "one_unknown_on_both_sides", .factor = "full", .n_term = 2, .shared = true},
                      Case{.name = "diagonal_with_one_unknown", .factor = "diagonal", .shared = true},
                      Case{.name = "a_fixed_antenna", .factor = "full", .n_term = 2, .first_is_fixed = true},
                      Case{.name = "dark", .factor = "diagonal", .dark = true},
                      Case{.name = "robust", .factor = "full", .robust_dof = 3}),
    [](const auto& one) { return one.param.name; });

}  // namespace
}  // namespace rimetree::test
