// The matrix product as trees get it: antennas known from the nodes that give UVW, the planner's choice in the notes.
#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "nodes/psv/bundle.h"
#include "tests/support/forest_fixture.h"

namespace rimetree::test {
namespace {

constexpr int kSources = 20;

/// An array whose antennas' UVW are nodes, and baselines their differences; V_p_q sees a sky of points.
TestForest array_tree(int n_antenna, bool in_one_child = false) {
  TestForest forest;
  std::mt19937 random(3);
  std::uniform_real_distribution<double> uniform(-1, 1);
  std::vector<double> lmn, fluxes;
  for (int s = 0; s < kSources; ++s) {
    const double l = 0.01 * uniform(random), m = 0.01 * uniform(random);
    lmn.insert(lmn.end(), {l, m, std::sqrt(1 - l * l - m * m)});
    fluxes.push_back(1.5 + uniform(random));
  }
  forest.constant("lmn", array({kSources, 3}, lmn)).constant("b", array({kSources}, fluxes));
  std::vector<double> place;
  for (int i = 0; i < 3 * n_antenna; ++i)
    place.push_back(std::ldexp(std::round(std::ldexp(500 * uniform(random), 20)), -20));
  const auto at = [&](int p, int axis) { return place[static_cast<std::size_t>(3 * p + axis)]; };
  for (int p = 0; p < n_antenna; ++p)
    forest.constant("uvw_" + std::to_string(p), array({3}, {at(p, 0), at(p, 1), at(p, 2)}));
  for (int p = 0; p < n_antenna; ++p)
    for (int q = p + 1; q < n_antenna; ++q) {
      const std::string pq = std::to_string(p) + "_" + std::to_string(q);
      if (in_one_child)
        forest.constant("uvw_" + pq, array({3}, {at(p, 0) - at(q, 0), at(p, 1) - at(q, 1), at(p, 2) - at(q, 2)}));
      else
        forest.node("uvw_" + pq, "Subtract", {"uvw_" + std::to_string(p), "uvw_" + std::to_string(q)});
      forest.node("V_" + pq, "PSV", {"lmn", "b", "uvw_" + pq});
    }
  return forest;
}

struct Evaluated {
  std::vector<ResultPtr> results;
  std::string notes;
};
Evaluated evaluate(const TestForest& scene, const std::string& device) {
  auto forest = Forest::build(scene.specs(), registry());
  EvaluatorOptions options{.threads = 1};
  options.device.devices = device;
  Evaluator evaluator(forest, options);
  std::vector<int> roots;
  for (const int root : forest->roots())
    if (forest->node(root).name()[0] == 'V') roots.push_back(root);
  Evaluated done{evaluator.evaluate(scene.request, roots), ""};
  for (const std::string& note : evaluator.notes().list()) done.notes += note + "\n";
  return done;
}

void expect_same(const Evaluated& got, const Evaluated& expected) {
  ASSERT_EQ(got.results.size(), expected.results.size());
  for (std::size_t i = 0; i < got.results.size(); ++i) {
    expect_ok(got.results[i]);
    for (std::size_t e = 0; e < 4; ++e)
      for (std::size_t f = 0; f < 3; ++f)
        expect_near(value_at(got.results[i]->value, e, 0, f), value_at(expected.results[i]->value, e, 0, f),
                    2e-12 * 2.5 * kSources);
  }
}

TEST(PsvMatrixForest, AntennasAreKnownFromTheDifferencesOfTheirNodes) {
  const TestForest scene = array_tree(40);
  const Evaluated host = evaluate(scene, "none"), device = evaluate(scene, "simulated");
  expect_same(device, host);
  EXPECT_NE(device.notes.find("direct, phasors of antennas, in double precision on simulated device"),
            std::string::npos)
      << device.notes;
  EXPECT_NE(device.notes.find("; matrix product: about"), std::string::npos) << "why is said too";
}

TEST(PsvMatrixForest, IsChosenWhereItIsCheaper) {
  const TestForest scene = array_tree(64);
  const Evaluated device = evaluate(scene, "simulated");
  expect_same(device, evaluate(scene, "none"));
  EXPECT_NE(device.notes.find("matrix product in double precision on simulated device"), std::string::npos)
      << device.notes;
  EXPECT_NE(device.notes.find("; direct: about"), std::string::npos) << "why is said too";
}

TEST(PsvMatrixForest, WithoutThemTheSumIsDirect) {
  const TestForest scene = array_tree(40, true);
  const Evaluated device = evaluate(scene, "simulated");
  expect_same(device, evaluate(scene, "none"));
  EXPECT_NE(device.notes.find("direct in double precision"), std::string::npos) << device.notes;
  EXPECT_NE(device.notes.find("the antennas of the baselines are not known"), std::string::npos) << device.notes;
}

TEST(PsvMatrixForest, AFewAntennasDoNotFillATile) {
  const Evaluated device = evaluate(array_tree(3), "simulated");
  EXPECT_NE(device.notes.find("direct in double precision"), std::string::npos) << device.notes;
  EXPECT_NE(device.notes.find("matrix product: about"), std::string::npos) << device.notes;
}

TEST(PsvMatrixForest, StationsOfSpigotsAreAntennas) {
  TestForest forest;
  forest.constant("lmn", array({1, 3}, {0, 0, 1})).constant("b", array({1}, {1}));
  forest.node("uvw", "Spigot", {},
              {{"station_1_index", std::int64_t{4}},
               {"station_2_index", std::int64_t{7}},
               {"input_column", std::string("UVW")}});
  forest.node("V", "PSV", {"lmn", "b", "uvw"}).constant("alone", array({3}, {1, 2, 3}));
  forest.node("W", "PSV", {"lmn", "b", "alone"});
  const auto built = Forest::build(forest.specs(), registry());
  psv::BaselineEnds ends;
  psv::add_ends(*built, built->node(built->find("V")), true, ends);
  ASSERT_EQ(ends.p.size(), 1u);
  EXPECT_EQ(ends.p[0], 4);
  EXPECT_EQ(ends.q[0], 7);
  psv::add_ends(*built, built->node(built->find("W")), false, ends);
  EXPECT_TRUE(ends.empty()) << "one baseline without antennas: none has any";
  psv::add_ends(*built, built->node(built->find("V")), false, ends);
  EXPECT_TRUE(ends.empty());
}

}  // namespace
}  // namespace rimetree::test
