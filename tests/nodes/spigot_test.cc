// Spigot: where every number and flag of a small time-slot group arrives.
#include "tests/support/forest_fixture.h"
#include "tests/support/small_tile.h"

namespace rimetree::test {
namespace {

class SpigotNode : public ::testing::Test {
 protected:
  SpigotNode() : tile_(small_tile(*forest_.request.cells, {9, 10, 11, 12})) {}
  ResultPtr spigot(std::int64_t antenna2, const TestForest::Fields& more = {}) {
    TestForest::Fields state{{"station_1_index", std::int64_t{0}}, {"station_2_index", antenna2}};
    state.insert(more.begin(), more.end());
    TestForest forest = forest_;
    forest.request.tile = &tile_;
    return forest.node("x", "Spigot", {}, state).evaluate("x");
  }
  TestForest forest_;
  Tile tile_;
};

TEST_F(SpigotNode, GivesVisibilitiesByCorrelation) {
  const ResultPtr x = spigot(1);
  expect_ok(x);
  ASSERT_TRUE((x->value.dims() == TensorShape{2, 2}));
  for (std::size_t e = 0; e < 4; ++e)
    for (int t = 0; t < 2; ++t)
      for (int f = 0; f < 3; ++f) {
        const double expected = 100 * t + 10 * f + static_cast<double>(e);
        expect_near(value_at(x->value, e, t, f), {expected, -expected}, 0);
        EXPECT_EQ(flag_at(x->flags, e, t, f), 0);
      }
}

TEST_F(SpigotNode, MapsCorrelationsInAnyOrderAndFlagsThoseThatAreNotThere) {
  tile_ = small_tile(*forest_.request.cells, {8, 5});  // LL, RR
  const ResultPtr x = spigot(1, {{"flag_bit", std::int64_t{16}}});
  expect_near(value_at(x->value, 0, 1, 2), {121, -121}, 0);
  expect_near(value_at(x->value, 3, 1, 2), {120, -120}, 0);
  for (const std::size_t absent : {1, 2}) {
    expect_near(value_at(x->value, absent, 1, 2), 0, 0);
    EXPECT_EQ(flag_at(x->flags, absent, 1, 2), 16);
  }
  EXPECT_EQ(flag_at(x->flags, 0, 1, 2), 0);
}

TEST_F(SpigotNode, PutsStokesIOnTheDiagonal) {
  tile_ = small_tile(*forest_.request.cells, {1});
  const ResultPtr x = spigot(1);
  expect_near(value_at(x->value, 0, 1, 1), {110, -110}, 0);
  expect_near(value_at(x->value, 3, 1, 1), {110, -110}, 0);
  tile_ = small_tile(*forest_.request.cells, {1, 2});
  EXPECT_NE(spigot(1)->failures.at(0).message.find("correlation type"), std::string::npos);
}

TEST_F(SpigotNode, FlagsAbsentRowsAndFlaggedData) {
  tile_.flag[((2 * 1 + 1) * 3 + 2) * 4 + 3] = 1;  // 0-3, second time, third channel, YY
  const ResultPtr x = spigot(3);
  for (std::size_t e = 0; e < 4; ++e) {
    EXPECT_EQ(flag_at(x->flags, e, 0, 1), 1);
    expect_near(value_at(x->value, e, 0, 1), 0, 0);
    EXPECT_EQ(flag_at(x->flags, e, 1, 2), e == 3 ? 1 : 0);
  }
}

TEST_F(SpigotNode, GivesUvwWithRatesOverTheExposure) {
  const ResultPtr x = spigot(3, {{"input_column", std::string("UVW")}, {"include_deriv", true}});
  ASSERT_TRUE((x->value.dims() == TensorShape{2, 3}));
  EXPECT_EQ(x->value.cells()[Axis::frequency], 1);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(value_at(x->value, i, 1).re, 30 + static_cast<double>(i));
    // Half the rate times the cell's width is the rate times EXPOSURE.
    EXPECT_DOUBLE_EQ(value_at(x->value, 3 + i, 1).re, (30 + static_cast<double>(i)) / 200);
  }
  EXPECT_EQ(flag_at(x->flags, 0, 0), 1);  // the row is absent
  EXPECT_EQ(flag_at(x->flags, 0, 1), 0);
  EXPECT_TRUE((spigot(1, {{"input_column", std::string("UVW")}})->value.dims() == TensorShape{3}));
}

TEST_F(SpigotNode, GivesExposures) {
  const ResultPtr x = spigot(3, {{"input_column", std::string("EXPOSURE")}});
  EXPECT_TRUE(x->value.dims().is_scalar());
  EXPECT_FALSE(x->value.is_complex());
  EXPECT_EQ(x->value.cells()[Axis::frequency], 1);
  EXPECT_EQ(value_at(x->value, 0, 1).re, 5);
  EXPECT_EQ(flag_at(x->flags, 0, 0), 1);  // the row is absent
  EXPECT_EQ(flag_at(x->flags, 0, 1), 0);
}

TEST_F(SpigotNode, GivesWeights) {
  const ResultPtr x = spigot(1, {{"input_column", std::string("WEIGHT")}});
  EXPECT_FALSE(x->value.is_complex());
  EXPECT_EQ(value_at(x->value, 2, 1, 1).re, 113);
}

TEST_F(SpigotNode, IsMissingWithoutTheBaseline) { EXPECT_EQ(spigot(2)->status, Result::Status::missing); }

TEST_F(SpigotNode, SaysWhatIsWrong) {
  EXPECT_NE(spigot(1, {{"input_column", std::string("CORRECTED_DATA")}})
                ->failures.at(0)
                .message.find("columns that were: DATA, MODEL_DATA"),
            std::string::npos);
  EXPECT_THROW(spigot(1, {{"include_deriv", true}}), ForestError);
  TestForest forest;
  forest.node("x", "Spigot", {}, {{"station_1_index", std::int64_t{0}}, {"station_2_index", std::int64_t{1}}});
  EXPECT_NE(forest.evaluate("x")->failures.at(0).message.find("Measurement Set"), std::string::npos);
}

}  // namespace
}  // namespace rimetree::test
