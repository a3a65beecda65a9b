// Interpolate against functions that are linear along each dimension, at entries, between and beyond them.
#include <cmath>

#include "tests/support/forest_fixture.h"
#include "tests/support/same_bits.h"

namespace rimetree::test {
namespace {

/// Of a table [3,4,2]: (2 i - j + i j, 10 j).
double looked_up(std::vector<double> place, int which, const std::string& outside = "nan") {
  std::vector<double> table;
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 4; ++j) table.insert(table.end(), {2.0 * i - j + i * j, 10.0 * j});
  TestForest forest;
  forest.constant("table", array({3, 4, 2}, table)).constant("place", array({2}, place));
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "place"}, {{"outside", outside}}).evaluate("x");
  expect_ok(x);
  return value_at(x->value, static_cast<std::size_t>(which)).re;
}

TEST(InterpolateNode, IsExactWhereTheTableIsLinearAlongEachDimension) {
  for (const auto& [i, j] : {std::pair(0.0, 0.0), {2.0, 3.0}, {1.0, 2.0}, {0.25, 2.5}, {1.9, 0.1}, {2.0, 2.75}}) {
    EXPECT_NEAR(looked_up({i, j}, 0), 2 * i - j + i * j, 1e-14) << i << " " << j;
    EXPECT_NEAR(looked_up({i, j}, 1), 10 * j, 1e-13) << i << " " << j;
  }
}

TEST(InterpolateNode, SaysWhatThereIsBeyondTheTable) {
  for (const std::vector<double>& place : {std::vector<double>{-0.001, 1}, {2.5, 1}, {1, -3}, {1, 3.0001}}) {
    EXPECT_TRUE(std::isnan(looked_up(place, 1)));
    EXPECT_EQ(looked_up(place, 1, "zero"), 0);
  }
  EXPECT_EQ(looked_up({-5, 1.5}, 1, "edge"), 15);
  EXPECT_EQ(looked_up({1, 99}, 0, "edge"), 2 * 1 - 3 + 1 * 3);
  for (const char* outside : {"nan", "zero", "edge"})
    EXPECT_TRUE(std::isnan(looked_up({std::nan(""), 1}, 0, outside))) << outside;
}

TEST(InterpolateNode, IsNotSpoiltByEntriesThatDoNotCount) {
  TestForest forest;
  forest.constant("table", array({3}, {1, std::nan(""), 5})).constant("place", array({3, 1}, {0, 2, 0.5}));
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "place"}).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 1);
  EXPECT_EQ(value_at(x->value, 1).re, 5);
  EXPECT_TRUE(std::isnan(value_at(x->value, 2).re));
}

/// By cubics, at places along a table of one dimension.
std::vector<double> by_cubics(const std::vector<double>& table, const std::vector<double>& places,
                              const std::string& outside = "nan") {
  const auto of = [](std::size_t n) { return static_cast<std::int32_t>(n); };
  TestForest forest;
  forest.constant("table", array({of(table.size())}, table)).constant("at", array({of(places.size()), 1}, places));
  const TestForest::Fields state{{"outside", outside}, {"method", std::string("cubic")}};
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "at"}, state).evaluate("x");
  expect_ok(x);
  std::vector<double> found;
  for (std::size_t s = 0; s < places.size(); ++s) found.push_back(value_at(x->value, s).re);
  return found;
}

TEST(InterpolateNode, ByCubicsParabolasAreExact) {
  const auto parabola = [](double x) { return 3.0 - 2.0 * x + 0.7 * x * x; };
  for (int n = 3; n < 8; ++n) {
    std::vector<double> table, places;
    for (int i = 0; i < n; ++i) table.push_back(parabola(i));
    for (double x = 0; x <= n - 1; x += 0.125) places.push_back(x);
    const std::vector<double> found = by_cubics(table, places);
    for (std::size_t k = 0; k < places.size(); ++k) EXPECT_NEAR(found[k], parabola(places[k]), 1e-13) << n << " " << k;
  }
  EXPECT_EQ(by_cubics({2, 6}, {0, 0.25, 1}), (std::vector<double>{2, 3, 6}));
  EXPECT_EQ(by_cubics({2}, {0}), (std::vector<double>{2}));
}

TEST(InterpolateNode, ByCubicsEntriesAreMetAndStepsGoOnSmoothly) {
  const std::vector<double> table = {1, 4, -2, 0.5, 7, 3};
  EXPECT_EQ(by_cubics(table, {0, 1, 2, 3, 4, 5}), table);
  const double h = 1e-5;
  for (double entry : {1.0, 2.0, 3.0, 4.0}) {
    const auto v = by_cubics(table, {entry - 2 * h, entry - h, entry + h, entry + 2 * h});
    EXPECT_NEAR((v[1] - v[0]) / h, (v[3] - v[2]) / h, 2e-3) << entry;
    EXPECT_NEAR((v[2] - v[1]) / (2 * h), (table[std::size_t(entry + 1)] - table[std::size_t(entry - 1)]) / 2, 1e-4);
  }
  // Half a step from entries: (-1, 9, 9, -1) / 16.
  EXPECT_NEAR(by_cubics(table, {2.5})[0], (-4 + 9 * (-2 + 0.5) - 7) / 16.0, 1e-15);
  EXPECT_EQ(by_cubics(table, {-3, 8}, "edge"), (std::vector<double>{1, 3}));
  EXPECT_EQ(by_cubics(table, {-3, 8}, "zero"), (std::vector<double>{0, 0}));
}

TEST(InterpolateNode, ByCubicsEachDimensionIsSo) {
  // (1 + i^2) (2 - j + j^2) of [5,3,2], and its root: of each dimension a parabola.
  std::vector<double> table;
  const auto value = [](double i, double j) { return (1 + i * i) * (2 - j + j * j); };
  for (int i = 0; i < 5; ++i)
    for (int j = 0; j < 3; ++j) table.insert(table.end(), {value(i, j), -10 * value(i, j)});
  for (const auto& [i, j] : {std::pair(0.0, 0.0), {4.0, 2.0}, {0.25, 1.5}, {3.9, 0.1}, {2.5, 1.25}}) {
    TestForest forest;
    forest.constant("table", array({5, 3, 2}, table)).constant("i", i).constant("j", j);
    const ResultPtr x =
        forest.node("x", "Interpolate", {"table", "i", "j"}, {{"method", std::string("cubic")}}).evaluate("x");
    expect_ok(x);
    EXPECT_NEAR(value_at(x->value, 0).re, value(i, j), 1e-13);
    EXPECT_NEAR(value_at(x->value, 1).re, -10 * value(i, j), 1e-12);
  }
}

TEST(InterpolateNode, TakesNoComplexPlaces) {
  TestForest forest;
  forest.constant("table", array({2}, {1, 2})).constant("place", complex_array({1}, {{0.5, 1}}));
  const ResultPtr x = forest.node("x", "Interpolate", {"table", "place"}).evaluate("x");
  ASSERT_EQ(x->failures.size(), 1u);
  EXPECT_EQ(x->failures[0].message, "child \"place\" must be real, but is complex");
}

TEST(InterpolateNode, TakesTablesOfOneEntry) {
  TestForest forest;
  forest.constant("table", array({1}, {7})).constant("place", array({2, 1}, {0, 0.1}));
  const ResultPtr x =
      forest.node("x", "Interpolate", {"table", "place"}, {{"outside", std::string("edge")}}).evaluate("x");
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 7);
  EXPECT_EQ(value_at(x->value, 1).re, 7);
}

/// A complex table [3,4,5,4] and 20 places, of which the first index varies along frequency and is the same for all;
/// `together`: all indices in one child.
TestForest beam(bool together, int n_source = 20, const std::string& method = "linear") {
  std::vector<Complex<double>> table;
  for (int i = 0; i < 3 * 4 * 5 * 4; ++i) table.emplace_back(std::sin(1.0 + i), std::cos(2.0 * i));
  std::vector<double> x, y, both;
  for (int s = 0; s < n_source; ++s) {
    x.push_back(-0.5 + 0.2 * s);
    y.push_back(4.2 - 0.25 * s);
    both.insert(both.end(), {x.back(), y.back()});
  }
  TestForest forest;
  forest.constant("numbers", complex_array({3, 4, 5, 4}, table)).constant("first", 1e9).constant("step", 0.13e9);
  forest.node("frequency", "Freq").node("above", "Subtract", {"frequency", "first"});
  // Made anew by each evaluation, and read by nobody else: it has to be in memory all the same.
  forest.node("one", "Divide", {"frequency", "frequency"}).node("table", "Multiply", {"numbers", "one"});
  forest.node("steps", "Divide", {"above", "step"});
  if (together) {
    std::vector<double> ones(static_cast<std::size_t>(n_source), 1.0);
    forest.constant("ones", array({n_source}, ones)).node("of_each", "Multiply", {"ones", "steps"});
    forest.constant("x", array({n_source}, x)).constant("y", array({n_source}, y));
    forest.node("rows", "Composer", {"of_each", "x", "y"}, {{"dims", array({2}, {3.0, double(n_source)})}});
    forest.node("place", "Transpose", {"rows"});
    forest.node("row", "Interpolate", {"table", "place"}, {{"outside", std::string("zero")}, {"method", method}});
  } else {
    forest.constant("x", array({n_source}, x)).constant("y", array({n_source}, y));
    forest.node("row", "Interpolate", {"table", "steps", "x", "y"},
                {{"outside", std::string("zero")}, {"method", method}});
  }
  forest.node("E", "Composer", {"row"}, {{"dims", array({3}, {double(n_source), 2.0, 2.0})}});
  return forest;
}

TEST(InterpolateNode, TakesEachIndexFromAChildOfItsOwn) {
  const ResultPtr apart = beam(false).evaluate("E"), together = beam(true).evaluate("E");
  expect_ok(apart);
  expect_ok(together);
  EXPECT_TRUE(apart->value.dims() == (TensorShape{20, 2, 2}));
  expect_same_bits(*apart, *together);
  // Of source 7, (0.9, 2.45), at the second frequency, 0.1 / 0.13.
  const auto of = [](int i, int j, int k) {
    return Complex<double>(std::sin(1.0 + (i * 20 + j * 5 + k) * 4 + 3),
                           std::cos(2.0 * ((i * 20 + j * 5 + k) * 4 + 3)));
  };
  Complex<double> wanted(0.0, 0.0);
  const double part[3] = {0.1 / 0.13, 0.9, 0.45};
  for (int corner = 0; corner < 8; ++corner) {
    const int i = corner & 1, j = corner >> 1 & 1, k = corner >> 2;
    const double weight = (i ? part[0] : 1 - part[0]) * (j ? part[1] : 1 - part[1]) * (k ? part[2] : 1 - part[2]);
    wanted = wanted + Complex<double>(weight) * of(i, j, 2 + k);
  }
  expect_near(value_at(apart->value, 7 * 4 + 3, 0, 1), wanted, 1e-14);
}

TEST(InterpolateNode, IsAPartOfAProgramWithWhatReadsIt) {
  for (const auto& [together, method] : {std::pair(false, "linear"), {true, "linear"}, {false, "cubic"}}) {
    TestForest forest = beam(together, 240, method);  // as many as the table has numbers
    forest.node("EH", "ConjTranspose", {"E"}).node("power", "MatrixMultiply", {"E", "EH"});
    forest.node("x0", "Selector", {"power"}, {{"index", array({1, 3}, {-1, 0, 0})}});
    const ResultPtr x = forest.evaluate("x0");
    expect_ok(x);
    for (const std::string& note : forest.evaluator->notes().list())
      EXPECT_EQ(note.find("cell by cell"), note.npos) << note;
    if (together) continue;
    // The stack of matrices, of 3 frequencies, is never in memory.
    EXPECT_LT(forest.evaluator->timing().peak_result_bytes, 240u * 4 * 3 * sizeof(Complex<double>));
  }
}

TEST(InterpolateNode, SaysWhatIsWrongWithPlaces) {
  const auto problem = [](const std::vector<StateValue>& places) {
    TestForest forest;
    forest.constant("table", array({2, 2, 2, 2}, std::vector<double>(16, 1.0)));
    TestForest::Children children{"table"};
    for (std::size_t i = 0; i < places.size(); ++i) {
      children.push_back("place" + std::to_string(i));
      forest.constant(children.back(), places[i]);
    }
    try {
      const ResultPtr x = forest.node("x", "Interpolate", children).evaluate("x");
      return x->failures.empty() ? std::string() : x->failures.front().message;
    } catch (const ForestError& error) {
      return std::string(error.what());
    }
  };
  EXPECT_EQ(problem({0.5, array({3}, {0, 1, 0.5})}), "");
  EXPECT_EQ(problem({0.5}), "");
  EXPECT_NE(problem({array({2}, {0, 1}), array({3}, {0, 1, 0.5})}).find("are of 2 and 3 sources"), std::string::npos);
  EXPECT_NE(problem({0.5, array({1, 2}, {0, 1})}).find("or 2 or 3 children [] or [source]"), std::string::npos);
  EXPECT_NE(problem({0.5, 0.5, 0.5, 0.5}).find("k = 1, 2 or 3"), std::string::npos);
  // Stacks of one index for each source, as somebody may write them.
  EXPECT_NE(problem({array({5}, std::vector<double>(5, 0.5))}).find("each of 5 sources has dimensions [5,1])"),
            std::string::npos);
  EXPECT_EQ(problem({array({5, 1}, std::vector<double>(5, 0.5))}), "");
  EXPECT_NE(problem({}).find("needs at least 1 of child \"place\""), std::string::npos);
  EXPECT_EQ(problem({0.5, complex_array({}, {{0.5, 1}})}), "child \"place\" must be real, but is complex");
}

}  // namespace
}  // namespace rimetree::test
