// Sessions of somebody who calibrates: a forest is solved, its data, flags, sky, unknowns or cells change, it is solved
// again, by other threads, on other devices; whatever it keeps in between, each solution is that of a new forest from
// the same start.
#include <gtest/gtest.h>

#include <map>

#include "tests/support/gain_scene.h"
#include "tests/support/random_sessions.h"

namespace rimetree::test {
namespace {

/// Of solutions: a few steps from one start, of well-conditioned fits, differ by rounding alone.
constexpr double kTolerance = 1e-8;

void expect_same(const SolveReport& got, const SolveReport& expected, const std::string& story) {
  ASSERT_EQ(got.parms.size(), expected.parms.size()) << story;
  for (std::size_t p = 0; p < expected.parms.size(); ++p) {
    const SolvedParm &one = got.parms[p], &other = expected.parms[p];
    ASSERT_EQ(one.value.size(), other.value.size()) << other.parm << story;
    EXPECT_EQ(one.flag, other.flag) << other.parm << story;
    for (std::size_t k = 0; k < other.value.size(); ++k)
      EXPECT_NEAR(one.value[k], other.value[k], kTolerance) << other.parm << story;
  }
  ASSERT_EQ(got.groups.size(), expected.groups.size()) << story;
  for (std::size_t g = 0; g < expected.groups.size(); ++g) {
    const SolvedGroup &one = got.groups[g], &other = expected.groups[g];
    EXPECT_EQ(one.equations, other.equations) << story;
    EXPECT_EQ(one.flagged, other.flagged) << story;
    EXPECT_NEAR(one.chi_square_before, other.chi_square_before, kTolerance * other.chi_square_before) << story;
    EXPECT_NEAR(one.chi_square, other.chi_square, kTolerance * other.chi_square) << story;
  }
}

class Session {
 public:
  explicit Session(unsigned seed)
      : random_(seed), options_(some_options()), scene_(options_, some_device(), pick(3) == 0 ? 20000 : 0) {
    start_again();
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      switch (pick(9)) {
        case 0:
          change_data();
          break;
        case 1:
          change_flags();
          break;
        case 2:
          change_sky();
          break;
        case 3:
          change_unknowns();
          break;
        case 4:
          change_cells();
          break;
        case 5:
          look();
          break;
        case 6:
          start_again();
          break;
        default:
          solve();
      }
    }
  }
  std::string story;

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  double uniform(double low, double high) { return std::uniform_real_distribution<>(low, high)(random_); }
  void tell(const std::string& what) { story += "\n  " + what; }

  GainOptions some_options() {
    GainOptions options{.n_antenna = 3 + static_cast<int>(pick(3)),
                        .n_channel = 1 + static_cast<int>(pick(4)),
                        .full = pick(3) == 0,
                        .n_term = pick(4) == 0 ? 2 : 1,
                        .fixed_term = pick(3) == 0,
                        .tiles = pick(2) == 0,
                        .weights = pick(2) == 0,
                        .flags = pick(2) == 0,
                        .known_model = pick(3) == 0,
                        .robust_dof = pick(4) == 0 ? 3.0 : 0.0,
                        .method = pick(3) == 0 ? "generic" : "auto"};
    options.iterations = 1 + static_cast<int>(pick(12));
    return options;
  }
  const char* some_device() {
    constexpr const char* kDevices[] = {"none", "none", "simulated", "simulated,simulated"};
    return kDevices[pick(4)];
  }
  std::string some_baseline() {
    const auto n = static_cast<std::size_t>(options_.n_antenna);
    const std::size_t p = pick(n - 1);
    return std::to_string(p) + ":" + std::to_string(p + 1 + pick(n - 1 - p));
  }
  std::vector<std::int64_t> shape_of_data() const { return {2, 2, GainScene::kTimes, options_.n_channel}; }
  std::size_t n_number() const { return 4 * GainScene::kTimes * static_cast<std::size_t>(options_.n_channel); }

  void set(const std::string& node, const std::string& field, const StateValue& value) {
    tell("set " + node);
    changed_[node][field] = value;
    scene_.built->set_state(scene_.built->find(node), {{field, value}});
  }
  void change_data() {
    std::vector<Complex<double>> data;
    for (std::size_t i = 0; i < n_number(); ++i) data.push_back({uniform(10, 20), uniform(-3, 3)});
    set("data" + some_baseline(), "value", complex_array(shape_of_data(), data));
  }
  void change_flags() {
    if (!options_.flags) return;
    std::vector<double> bits;
    for (std::size_t i = 0; i < n_number(); ++i) bits.push_back(pick(5) == 0 ? 1 : 0);
    set("flagged" + some_baseline(), "bits", array({4, GainScene::kTimes, options_.n_channel}, bits));
  }
  void change_sky() {
    std::vector<double> stokes;
    for (int s = 0; s < GainScene::kSources; ++s)
      for (const double x : {uniform(4, 6), uniform(-1, 1), uniform(-1, 1), uniform(-1, 1)}) stokes.push_back(x);
    set("stokes0", "value", array({GainScene::kSources, 4}, stokes));
  }
  void change_unknowns() {
    const std::string& name = scene_.unknowns[pick(scene_.unknowns.size())];
    set(name, "value", uniform(0.8, 1.2));
  }
  void change_cells() {
    tell("cells");
    const double later_s = 10.0 * static_cast<double>(pick(2)), higher_hz = 1e7 * static_cast<double>(pick(3));
    std::vector<double> times, channels;
    for (int t = 0; t < GainScene::kTimes; ++t) times.push_back(5e9 + later_s + 10 * t);
    for (int f = 0; f < options_.n_channel; ++f) channels.push_back(1e9 + higher_hz + 1e7 * f);
    scene_.forest.request.cells = cells(times, channels, 10, 1e7);
  }
  /// Values or derivatives of something in the forest are kept, too.
  void look() {
    const std::string name = "c:" + some_baseline();
    tell("evaluate " + name);
    Request request = scene_.forest.request;
    request.derivatives = pick(2) == 0;
    scene_.evaluator->evaluate(request, name);
  }
  /// Another evaluator of the same forest.
  void start_again() {
    tell("a new evaluator");
    scene_.evaluator =
        std::make_unique<Evaluator>(scene_.built, EvaluatorOptions{.threads = 1 + static_cast<int>(pick(3)),
                                                                   .placement = PlacementRule{1, false},
                                                                   .as_written = pick(4) == 0,
                                                                   .fuse = pick(4) != 0});
  }
  void solve() {
    tell("solve");
    GainScene fresh(options_, "none");
    fresh.forest.request = scene_.forest.request;
    for (const auto& [node, fields] : changed_) fresh.built->set_state(fresh.built->find(node), fields);
    for (const std::string& name : scene_.unknowns) {
      const State& own = scene_.built->node(scene_.built->find(name)).state();
      fresh.built->set_state(fresh.built->find(name), {{"value", *own.find("value")}});
    }
    const SolveReport expected = fresh.solve();
    expect_same(scene_.solve(), expected, story);
    // What was found is where the next solve begins.
    for (const std::string& name : scene_.unknowns) changed_.erase(name);
  }

  std::mt19937 random_;
  GainOptions options_;
  GainScene scene_;
  std::map<std::string, std::map<std::string, StateValue>> changed_;
};

TEST(RandomSolves, EverySolutionIsThatOfANewForest) { run_random_sessions<Session>(); }

}  // namespace
}  // namespace rimetree::test
