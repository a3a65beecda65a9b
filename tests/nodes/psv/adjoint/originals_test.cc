// Terms of antennas and their conjugate transposes gain in one array: gradients of trees where both have readers
// besides PSV, against forward mode.
#include <algorithm>
#include <cmath>

#include "nodes/psv/kernel.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

struct Originals {
  std::string kind;    ///< "real", "complex", "diagonal" or "full"
  int n_source = 260;  ///< enough that what terms gain is added at once
  int n_antenna = 32;  ///< enough for the matrix product over sources
  int n_channel = 5, n_time = 1;
  bool read_elsewhere = true;  ///< J and J^H, too
  bool shared = false;         ///< one J for all antennas
  bool common = false;         ///< one J for all sources
  bool cross_hands = true;     ///< data have them
};

bool is_scalar(const Originals& o) { return o.kind == "real" || o.kind == "complex"; }

/// Numbers between -1 and 1 that are no copies of each other.
double number(int& i) {
  ++i;
  return std::sin(1.7 * i * i);
}

StateArray term_of(const Originals& o, int& i) {
  const bool scalar = is_scalar(o), complex = o.kind != "real";
  std::vector<std::int64_t> shape;
  if (!o.common) shape.push_back(o.n_source);
  if (!scalar) shape.insert(shape.end(), {2, 2});
  shape.insert(shape.end(), {o.n_time, o.n_channel});
  StateArray term{shape, complex ? NumberType::complex : NumberType::real, {}};
  std::vector<double> numbers;
  const int per_element = o.n_time * o.n_channel, n_stack = o.common ? 1 : o.n_source;
  for (int k = 0; k < n_stack * (scalar ? 1 : 4) * per_element; ++k) {
    const int element = k / per_element % 4;
    const double size = scalar || element % 3 == 0 ? 1 : o.kind == "full" ? 0.3 : 0;
    numbers.push_back(size * (1 + 0.2 * number(i)));
    if (complex) numbers.push_back(size * number(i));
  }
  term.data = numbers;
  return term;
}

void check_original(const Originals& o) {
  SCOPED_TRACE(::testing::Message() << o.kind << " " << o.n_source << " sources, " << o.n_antenna << " antennas, "
                                    << o.n_time << " x " << o.n_channel << o.read_elsewhere << o.shared << o.common
                                    << o.cross_hands);
  int i = 0;
  TestForest tree;
  std::vector<double> times, channels, lmn, flux;
  for (int t = 0; t < o.n_time; ++t) times.push_back(5e9 + 10 * t);
  for (int f = 0; f < o.n_channel; ++f) channels.push_back(1e9 + 1e7 * f);
  tree.request.cells = cells(times, channels, 10, 1e7);
  for (int s = 0; s < o.n_source; ++s) {
    const double l = 0.01 * number(i), m = 0.01 * number(i);
    lmn.insert(lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
    flux.push_back(1 + number(i));
  }
  tree.constant("lmn", array({o.n_source, 3}, lmn)).constant("B", array({o.n_source}, flux));
  tree.constant("one", 1.0)
      .constant("data", o.cross_hands ? array({2, 2}, {1, 0.3, -0.2, 0.8}) : array({2, 2}, {1, 0, 0, 0.8}));
  std::vector<std::string> parts;
  for (int p = 0; p < (o.shared ? 1 : o.n_antenna); ++p) {
    const std::string n = std::to_string(p);
    tree.constant("term" + n, term_of(o, i), 2).parm("re" + n, 1.1).parm("im" + n, 0.3);
    if (o.kind == "real")
      tree.node("J" + n, "Multiply", {"term" + n, "re" + n, "im" + n});
    else
      tree.node("gain" + n, "ToComplex", {"re" + n, "im" + n}).node("J" + n, "Multiply", {"term" + n, "gain" + n});
    tree.node("JH" + n, "ConjTranspose", {"J" + n});
    if (!o.read_elsewhere) continue;
    for (const std::string side : {"J", "JH"}) {
      if (!o.common) tree.node("sum_" + side + n, "Sum", {side + n}, {{"tensor_axis", std::int64_t{0}}});
      parts.push_back((o.common ? "" : "sum_") + side + n);
    }
  }
  for (int p = 0; p < o.n_antenna; ++p) {
    std::vector<double> uvw;
    for (int k = 0; k < 3 * o.n_time; ++k) uvw.push_back(300 * number(i));
    tree.constant("uvw_" + std::to_string(p), array({3, o.n_time, 1}, uvw), 2);
  }
  std::vector<std::string> residuals;
  for (int p = 0; p < o.n_antenna; ++p)
    for (int q = p + 1; q < std::max(o.n_antenna, 2); ++q) {
      const std::string b = std::to_string(p) + "_" + std::to_string(q);
      const std::string j = "J" + std::to_string(o.shared ? 0 : p),
                        jh = "JH" + std::to_string(o.shared ? 0 : q % o.n_antenna);
      tree.node("uvw" + b, "Subtract", {"uvw_" + std::to_string(p), "uvw_" + std::to_string(q % o.n_antenna)});
      tree.node("V" + b, "PSV", {"lmn", "B", "uvw" + b, "", j, jh}).node("r" + b, "Condeq", {"data", "V" + b});
      residuals.push_back("r" + b);
    }
  for (const std::string& part : parts) {
    tree.node("r_" + part, "Condeq", {is_scalar(o) ? "one" : "data", part});
    residuals.push_back("r_" + part);
  }
  tree.node("chi2", "ChiSquare", residuals);
  tree.request.derivatives = true;
  const ResultPtr forward = tree.evaluate("chi2", 2);
  expect_ok(forward);
  tree.request.derivatives = false;
  ValueAndGradient reverse = tree.evaluator->value_and_gradient(tree.request, tree.built->find("chi2"));
  expect_ok(reverse.value);
  const std::vector<std::string> notes = tree.evaluator->notes().list();
  const bool by_matrix = std::any_of(notes.begin(), notes.end(), [](const std::string& note) {
    return note.find("derivatives by the matrix product") != std::string::npos;
  });
  // Without vectors the matrix product is worth it for fewer antennas, too. One source takes microseconds either way.
  EXPECT_TRUE(by_matrix == (o.n_antenna >= 32) || o.n_source == 1 || psv::instruction_set() == "SCALAR");
  ASSERT_FALSE(forward->derivatives.empty());
  for (const Derivative& derivative : forward->derivatives) {
    const double expected = derivative.value.real()[0];
    EXPECT_NEAR(reverse.gradient.of(derivative.parameter.parm)[0], expected, 1e-10 * std::abs(expected))
        << tree.built->node(derivative.parameter.parm).name();
  }
}

TEST(PsvOriginals, TermsOfEveryKind) {
  for (const std::string kind : {"real", "complex", "diagonal", "full"})
    for (const bool cross_hands : {false, true})
      for (const bool read_elsewhere : {false, true})
        check_original({.kind = kind, .read_elsewhere = read_elsewhere, .cross_hands = cross_hands});
}

TEST(PsvOriginals, FewSourcesOrAntennas) {
  for (const std::string kind : {"real", "complex", "diagonal", "full"}) {
    check_original({.kind = kind, .n_source = 1, .n_antenna = 3});
    check_original({.kind = kind, .n_source = 7, .n_antenna = 1, .n_channel = 1});
    check_original({.kind = kind, .n_antenna = 2, .n_channel = 19, .n_time = 3});
  }
}

TEST(PsvOriginals, OneTermForAllAntennasOrSources) {
  for (const std::string kind : {"real", "complex", "diagonal", "full"}) {
    check_original({.kind = kind, .shared = true});
    check_original({.kind = kind, .n_source = 20, .n_antenna = 3, .common = true});
    check_original({.kind = kind, .n_source = 20, .n_antenna = 3, .shared = true, .common = true});
  }
}

}  // namespace
}  // namespace rimetree::test
