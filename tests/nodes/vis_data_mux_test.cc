// VisDataMux: counts the sinks that wrote, whatever happened to pre and post, and is computed for every request.
#include "tests/support/forest_fixture.h"
#include "tests/support/small_tile.h"

namespace rimetree::test {
namespace {

TestForest sinks() {
  TestForest forest;
  forest.constant("v", 2.0).node("none", "TestMissing", {}, {{"dims", array({0}, {})}});
  for (const std::int64_t antenna2 : {1, 2, 3})  // there are no data of 0-2
    forest.node("sink" + std::to_string(antenna2), "Sink", {"v"},
                {{"station_1_index", std::int64_t{0}}, {"station_2_index", antenna2}});
  return forest;
}

double written(TestForest forest, const TestForest::Children& children) {
  Tile tile = small_tile(*forest.request.cells, {9, 12});
  forest.request.tile = &tile;
  const ResultPtr x = forest.node("x", "VisDataMux", children).evaluate("x");
  expect_ok(x);
  return value_at(x->value, 0).re;
}

TEST(VisDataMuxNode, CountsTheSinksThatWrote) {
  EXPECT_EQ(written(sinks(), {"sink=sink1", "sink=sink2", "sink=sink3"}), 2);
  EXPECT_EQ(written(sinks(), {"pre=v", "post=v", "sink=sink1", "sink=sink2", "sink=sink3"}), 2);
  EXPECT_EQ(written(sinks(), {"pre=none", "post=v", "sink=sink1", "sink=sink2", "sink=sink3"}), 2);
}

TEST(VisDataMuxNode, WritesAgainForEveryRequest) {
  TestForest forest = sinks();
  Tile tile = small_tile(*forest.request.cells, {9, 12});
  forest.request.tile = &tile;
  forest.node("x", "VisDataMux", {"sink=sink1"});
  Evaluator evaluator(Forest::build(forest.specs(), registry()), {.threads = 2});
  for (int request = 0; request < 2; ++request) {
    tile.columns["MODEL_DATA"].assign(tile.n_visibility(), {0, 0});
    expect_ok(evaluator.evaluate(forest.request, "x"));
    EXPECT_EQ(tile.columns["MODEL_DATA"][0], std::complex<float>(2, 0)) << request;
  }
}

TEST(VisDataMuxNode, RefusesSinksThatAreTensors) {
  TestForest forest = sinks();
  forest.constant("m", array({2, 2}, {1, 2, 3, 4})).node("x", "VisDataMux", {"sink=m"});
  EXPECT_THROW(forest.evaluate("x"), ForestError);
}

}  // namespace
}  // namespace rimetree::test
