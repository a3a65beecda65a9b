// The Solver goes by what classes say of themselves: a plugin's own product and gain are Jones terms like those of the
// classes that come along.
#include <gtest/gtest.h>

#include "tests/support/forest_fixture.h"
#include "tests/support/project_plugins.h"

namespace rimetree::test {
namespace {

struct Classes {
  std::string product, gain;
};

/// Gains of four antennas, planted in the data; xx and yy of each are solved for.
class PlantedGains {
 public:
  static constexpr int kAntennas = 4, kTimes = 3, kChannels = 2;

  explicit PlantedGains(const Classes& classes) : classes_(classes) {
    static const bool loaded = [] {
      registry();
      Registry::instance().load(test_plugin("algebra"));
      return true;
    }();
    EXPECT_TRUE(loaded);
    forest.request.cells = cells({0, 10, 20}, {1e9, 1.1e9}, 10, 1e8);
    forest.constant("zero", 0.0);
    for (int p = 0; p < kAntennas; ++p) {
      const std::string name = "G" + std::to_string(p);
      for (const char* element : {"xx", "yy"}) {
        forest.parm(name + element + "r", 1).parm(name + element + "i", 0);
        forest.node(name + element, "ToComplex", {name + element + "r", name + element + "i"});
      }
      forest.node(name, classes.gain, {name + "xx", "zero", "zero", name + "yy"});
      forest.node(name + "H", "ConjTranspose", {name});
    }
    TestForest::Children condeqs;
    for (int p = 0; p < kAntennas; ++p)
      for (int q = p + 1; q < kAntennas; ++q) condeqs.push_back(baseline(p, q));
    forest.node("solver", "Solver", condeqs, {{"sigma_tolerance", 1e-12}, {"tolerance", 1e-12}});
  }
  SolveReport solve() {
    expect_ok(forest.evaluate("solver"));
    return forest.evaluator->solves().reports.at(0);
  }
  static Complex<double> gain(int p, int element) { return {1 + 0.1 * p, 0.2 * (element == 0 ? p : -p)}; }
  /// |g_p| as found, element 0 (xx) or 3 (yy): what data of this kind determine.
  double amplitude(int p, int element) {
    const std::string name = "G" + std::to_string(p) + (element == 0 ? "xx" : "yy");
    const auto value = [&](const char* part) {
      return forest.built->node(forest.built->find(name + part)).state().array("value").data[0];
    };
    return std::hypot(value("r"), value("i"));
  }

  TestForest forest;

 private:
  std::string baseline(int p, int q) {
    const std::string pq = std::to_string(p) + ":" + std::to_string(q);
    std::vector<Complex<double>> model, data;
    for (int e = 0; e < 4; ++e)
      for (int i = 0; i < kTimes * kChannels; ++i) {
        model.push_back({2 + 0.3 * e + 0.1 * i + p, 0.5 * q - 0.2 * i});
        data.push_back(gain(p, e & 2 ? 3 : 0) * model.back() * conj(gain(q, e & 1 ? 3 : 0)));
      }
    forest.constant("M" + pq, complex_array({2, 2, kTimes, kChannels}, model), 2);
    forest.constant("D" + pq, complex_array({2, 2, kTimes, kChannels}, data), 2);
    forest.node("V" + pq, classes_.product, {"G" + std::to_string(p), "M" + pq, "G" + std::to_string(q) + "H"});
    forest.node("c" + pq, "Condeq", {"D" + pq, "V" + pq});
    return "c" + pq;
  }

  Classes classes_;
};

TEST(PluginAlgebra, OwnProductAndGainGetTheFastSolver) {
  PlantedGains own({"TestPluginProduct", "TestPluginGain"}), usual({"MatrixMultiply", "Matrix22"});
  const SolveReport of_own = own.solve(), of_usual = usual.solve();
  EXPECT_NE(of_usual.method.find("diagonal Jones term"), std::string::npos) << of_usual.method;
  EXPECT_EQ(of_own.method, of_usual.method);
  EXPECT_GT(of_own.statistics_bytes, 0u);
  // Data without noise are met but for what rounding and the tolerance of the steps leave.
  for (int p = 0; p < PlantedGains::kAntennas; ++p)
    for (const int element : {0, 3})
      EXPECT_NEAR(own.amplitude(p, element), abs(PlantedGains::gain(p, element)), 1e-9) << p << " " << element;
}

TEST(PluginAlgebra, AProductThatSaysNothingIsSolvedInTheGeneralWay) {
  PlantedGains silent({"TestPluginSilentProduct", "TestPluginGain"});
  const SolveReport report = silent.solve();
  EXPECT_EQ(report.statistics_bytes, 0u) << report.method;
  for (int p = 0; p < PlantedGains::kAntennas; ++p)
    EXPECT_NEAR(silent.amplitude(p, 0), abs(PlantedGains::gain(p, 0)), 1e-9) << p;
}

}  // namespace
}  // namespace rimetree::test
