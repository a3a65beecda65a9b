// Sink: what it writes where in a small time-slot group, and what it leaves alone.
#include <algorithm>

#include "tests/support/forest_fixture.h"
#include "tests/support/small_tile.h"

namespace rimetree::test {
namespace {

class SinkNode : public ::testing::Test {
 protected:
  SinkNode() : tile_(small_tile(*forest_.request.cells, {9, 10, 11, 12})) {}
  /// Writes the node "v" of the forest to a baseline.
  ResultPtr sink(std::int64_t antenna2, const TestForest::Fields& more = {}) {
    TestForest::Fields state{{"station_1_index", std::int64_t{0}}, {"station_2_index", antenna2}};
    state.insert(more.begin(), more.end());
    TestForest forest = forest_;
    forest.request.tile = &tile_;
    return forest.node("x", "Sink", {"v"}, state).evaluate("x");
  }
  std::complex<float> written(std::size_t b, std::size_t t, std::size_t f, std::size_t c) {
    return tile_.columns["MODEL_DATA"][((b * 2 + t) * 3 + f) * tile_.n_correlation() + c];
  }
  const StateArray kVisibility = complex_array({2, 2}, {{1, 2}, {3, 4}, {5, 6}, {7, 8}});
  TestForest forest_;
  Tile tile_;
};

TEST_F(SinkNode, WritesMatricesToAllCellsOfItsBaseline) {
  forest_.constant("v", kVisibility);
  const ResultPtr x = sink(1);
  expect_ok(x);
  EXPECT_EQ(value_at(x->value, 0).re, 2);  // rows
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t f = 0; f < 3; ++f)
      for (std::size_t c = 0; c < 4; ++c) {
        const auto expected = static_cast<float>(2 * c + 1);
        EXPECT_EQ(written(0, t, f, c), std::complex<float>(expected, expected + 1));
        EXPECT_EQ(written(1, t, f, c), std::complex<float>(-1, -1));
      }
}

TEST_F(SinkNode, WritesWhatVariesOverCells) {
  forest_.constant("v", array({2, 3}, {1, 2, 3, 4, 5, 6}), 2);
  sink(1);
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t f = 0; f < 3; ++f) {
      const std::complex<float> expected(static_cast<float>(3 * t + f + 1), 0);
      EXPECT_EQ(written(0, t, f, 0), expected);  // a scalar is XX and YY
      EXPECT_EQ(written(0, t, f, 3), expected);
      EXPECT_EQ(written(0, t, f, 1), std::complex<float>());
      EXPECT_EQ(written(0, t, f, 2), std::complex<float>());
    }
}

TEST_F(SinkNode, WritesWeightsWhichAreReal) {
  tile_.columns["WEIGHT_SPECTRUM"] = tile_.columns["MODEL_DATA"];
  const TestForest::Fields weights{{"output_column", std::string("WEIGHT_SPECTRUM")}};
  forest_.constant("v", 4.0);
  expect_ok(sink(1, weights));
  for (std::size_t c = 0; c < 4; ++c)  // a scalar is the weight of all correlations
    EXPECT_EQ(tile_.columns["WEIGHT_SPECTRUM"][c], std::complex<float>(4, 0));
  TestForest fresh;
  std::swap(forest_, fresh);
  forest_.constant("v", kVisibility);
  EXPECT_NE(sink(1, weights)->failures.at(0).message.find("cannot be written as weights"), std::string::npos);
}

TEST_F(SinkNode, LeavesOutAbsentRows) {
  forest_.constant("v", 2.0);
  EXPECT_EQ(value_at(sink(3)->value, 0).re, 1);
  EXPECT_EQ(written(1, 0, 0, 0), std::complex<float>(-1, -1));
  EXPECT_EQ(written(1, 1, 0, 0), std::complex<float>(2, 0));
}

TEST_F(SinkNode, WritesTheCorrelationsThatTheDataHave) {
  tile_ = small_tile(*forest_.request.cells, {12, 9});  // YY, XX
  forest_.constant("v", kVisibility);
  sink(1);
  EXPECT_EQ(written(0, 0, 0, 0), std::complex<float>(7, 8));
  EXPECT_EQ(written(0, 0, 0, 1), std::complex<float>(1, 2));
  tile_ = small_tile(*forest_.request.cells, {1});  // Stokes I = (XX + YY)/2
  sink(1);
  EXPECT_EQ(written(0, 0, 0, 0), std::complex<float>(4, 5));
  tile_ = small_tile(*forest_.request.cells, {1, 4});
  EXPECT_NE(sink(1)->failures.at(0).message.find("correlation type 4"), std::string::npos);
}

TEST_F(SinkNode, WritesFlagsIfAskedTo) {
  tile_.flag[0] = 1;
  forest_.constant("m", kVisibility).flagged("v", "m", array({4, 1, 3}, {0, 0, 0, 0, 2, 0, 0, 0, 4, 0, 0, 0}));
  sink(1);
  EXPECT_EQ(std::count(tile_.flag.begin(), tile_.flag.end(), 1), 1);
  sink(1, {{"write_flags", true}, {"flag_mask", std::int64_t{2}}});
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t f = 0; f < 3; ++f)
      for (std::size_t c = 0; c < 4; ++c)
        EXPECT_EQ(tile_.flag[(t * 3 + f) * 4 + c], (f == 1 && c == 1) || (t == 0 && f == 0 && c == 0) ? 1 : 0);
}

TEST_F(SinkNode, IsMissingWithoutTheBaselineOrTheValue) {
  forest_.constant("v", 2.0);
  EXPECT_EQ(sink(2)->status, Result::Status::missing);
  forest_ = TestForest();
  forest_.node("v", "TestMissing", {}, {{"dims", array({0}, {})}});
  EXPECT_EQ(sink(1)->status, Result::Status::missing);
  EXPECT_EQ(written(0, 0, 0, 0), std::complex<float>(-1, -1));
}

TEST_F(SinkNode, SaysWhatIsWrong) {
  forest_.constant("v", 2.0);
  EXPECT_NE(sink(1, {{"output_column", std::string("NEW")}})->failures.at(0).message.find("\"NEW\""),
            std::string::npos);
  forest_ = TestForest();
  forest_.constant("v", array({3}, {1, 2, 3}));
  EXPECT_THROW(sink(1), ForestError);
}

}  // namespace
}  // namespace rimetree::test
