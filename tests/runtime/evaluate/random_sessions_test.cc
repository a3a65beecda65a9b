// Sessions of a user: a forest is asked for this and that, with and without derivatives, on other cells, after its
// parameters and constants have changed; whatever it keeps in between, each answer is that of a new forest.
#include "tests/support/random_sessions.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "runtime/evaluate/evaluator.h"
#include "tests/support/random_rime.h"
#include "tests/support/same_values.h"

namespace rimetree {
namespace {

using test::expect_same, test::RandomRime, test::Trouble;

/// Numbers that change by up to a fifth again and again: more than of trees as they are made.
constexpr double kTolerance = 1e-11;

EvaluatorOptions as_written_on_the_host() {
  return {.threads = 1, .device = {"none", 0}, .as_written = true, .fuse = false};
}

class Session {
 public:
  explicit Session(unsigned seed)
      : random_(seed),
        rime_(seed, pick(3) == 0 ? static_cast<Trouble>(pick(5)) : Trouble::none, pick(3) == 0 ? 12 : 5),
        specs_(rime_.tree.specs()),
        forest_(Forest::build(specs_, test::registry())) {
    const std::pair<const char*, std::size_t> devices[] = {
        {"none", 0}, {"none", 0}, {"simulated", 0}, {"simulated", 20000}, {"simulated,simulated", 0}};
    constexpr std::uint64_t budgets[] = {0, 0, 0, 1, 2000, 20000};
    const auto& [device, budget] = devices[pick(5)];
    options_ = {.threads = 1 + static_cast<int>(pick(3)),
                .memory_budget = budgets[pick(6)],
                .device = {device, budget},
                .as_written = pick(4) == 0,
                .fuse = pick(4) != 0};
    evaluator_ = std::make_unique<Evaluator>(forest_, options_);
    request_ = rime_.tree.request;
  }

  void run(int steps) {
    for (int step = 0; step < steps && !::testing::Test::HasFailure(); ++step) {
      const std::size_t what = pick(10);
      if (what < 4)
        evaluate(pick(3) == 0);
      else if (what < 5)
        gradient();
      else if (what < 9)
        change_state();
      else
        change_cells();
    }
  }
  std::string story;

 private:
  std::size_t pick(std::size_t n) { return random_() % n; }
  double factor() { return std::uniform_real_distribution<>(0.8, 1.2)(random_); }
  void tell(const std::string& what) { story += "\n  " + what; }

  void evaluate(bool derivatives) {
    std::vector<std::string> names;
    for (const std::string& root : rime_.roots)
      if (pick(3) != 0) names.push_back(root);
    while (names.empty() || pick(3) == 0) names.push_back(specs_[pick(specs_.size())].name);
    std::sort(names.begin(), names.end());
    names.erase(std::unique(names.begin(), names.end()), names.end());
    request_.derivatives = derivatives;
    tell(derivatives ? "derivatives of" : "values of");
    for (const std::string& name : names) story += " " + name;
    const std::vector<int> roots = indices(*forest_, names);
    const auto got = pick(4) == 0 ? evaluator_->evaluate_step(request_, roots) : evaluator_->evaluate(request_, roots);
    const auto fresh = Forest::build(specs_, test::registry());
    Evaluator reference(fresh, as_written_on_the_host());
    const auto expected = reference.evaluate(request_, indices(*fresh, names));
    for (std::size_t i = 0; i < names.size(); ++i) expect_same(*got[i], *expected[i], names[i] + story, kTolerance);
  }
  void gradient() {
    tell("gradient");
    request_.derivatives = false;
    auto got = evaluator_->value_and_gradient(request_, forest_->find(rime_.objective));
    const auto fresh = Forest::build(specs_, test::registry());
    Evaluator reference(fresh, as_written_on_the_host());
    auto expected = reference.value_and_gradient(request_, fresh->find(rime_.objective));
    ASSERT_EQ(got.value->status, expected.value->status) << story;
    if (!expected.value->ok()) return;
    const double chi_square = expected.value->value.real()[0];
    if (!std::isfinite(chi_square)) return;  // something was divided by zero
    EXPECT_NEAR(got.value->value.real()[0], chi_square, 10 * kTolerance * chi_square) << story;
    for (const auto& [node, own] : expected.gradient.by_node())
      for (std::size_t k = 0; k < own.size(); ++k) {
        if (!std::isfinite(own[k])) continue;
        EXPECT_NEAR(got.gradient.of(node)[k], own[k], 10 * kTolerance * (chi_square + std::abs(own[k]))) << story;
      }
  }
  /// Other numbers for a parameter or a constant; sometimes zeros, which may make terms vanish.
  void change_state() {
    std::vector<NodeSpec*> leaves;
    for (NodeSpec& spec : specs_)
      if (spec.class_name == "Parm" || spec.class_name == "Constant") leaves.push_back(&spec);
    NodeSpec& leaf = *leaves[pick(leaves.size())];
    StateValue& value = leaf.state.at("value");
    const bool zero = pick(8) == 0;
    if (const auto* array = std::get_if<StateArray>(&value)) {
      std::vector<double> numbers;
      for (const double old : array->data)
        numbers.push_back(old > 4e9           ? old  // the time that directions drift from
                          : zero && old < 1e6 ? 0    // no frequencies
                                              : old * factor());
      value = StateArray{array->shape, array->type, numbers};
    } else {
      value = zero ? 0.0 : std::get<double>(value) * factor();
    }
    tell("set " + leaf.name + (zero ? " to zero" : ""));
    forest_->set_state(forest_->find(leaf.name), {{"value", value}});
  }
  void change_cells() {
    tell("cells");
    const double later = 10.0 * static_cast<double>(pick(3));
    request_.cells = test::cells({5e9 + later, 5e9 + 10 + later}, {1.0e9, 1.1e9, 1.2e9 + later * 1e6});
  }
  static std::vector<int> indices(const Forest& forest, const std::vector<std::string>& names) {
    std::vector<int> all;
    for (const std::string& name : names) all.push_back(forest.find(name));
    return all;
  }

  std::mt19937 random_;
  RandomRime rime_;
  std::vector<NodeSpec> specs_;
  std::shared_ptr<Forest> forest_;
  EvaluatorOptions options_;
  std::unique_ptr<Evaluator> evaluator_;
  Request request_;
};

TEST(RandomSessions, EveryAnswerIsThatOfANewForest) { test::run_random_sessions<Session>(); }

}  // namespace
}  // namespace rimetree
