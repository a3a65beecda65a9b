// State: what a script gives is checked against what the class declares.
#include "runtime/core/classes/state.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "runtime/core/error.h"

namespace rimetree {
namespace {

using Fields = std::map<std::string, StateValue>;

const std::vector<StateSpec> kSpec{
    {.name = "flag", .type = StateType::boolean, .default_value = true},
    {.name = "order", .type = StateType::integer, .default_value = std::int64_t{2}},
    {.name = "scale", .type = StateType::real, .default_value = 0.5, .unit = "Jy", .doc = "of the flux"},
    {.name = "mode", .type = StateType::text, .default_value = std::string("x")},
    {.name = "axes", .type = StateType::text_list, .default_value = std::vector<std::string>{"time"}},
    {.name = "table", .type = StateType::array, .default_value = 1.0, .per_node = true}};

std::string refused(const Fields& fields, const std::vector<StateSpec>& spec = kSpec) {
  try {
    State(spec, fields);
  } catch (const StateError& error) {
    return error.what();
  }
  return "";
}

TEST(State, DefaultsFillWhatIsNotGiven) {
  const State state(kSpec, {{"order", std::int64_t{7}}, {"scale", StateValue{}}});
  EXPECT_TRUE(state.boolean("flag"));
  EXPECT_EQ(state.integer("order"), 7);
  EXPECT_EQ(state.real("scale"), 0.5) << "None is the same as not given";
  EXPECT_EQ(state.text("mode"), "x");
  EXPECT_EQ(state.text_list("axes"), std::vector<std::string>{"time"});
  EXPECT_EQ(state.array("table").data, std::vector<double>{1});
  EXPECT_EQ(state.values().size(), kSpec.size());
}

TEST(State, NumbersAreWidenedAndNeverNarrowed) {
  const State state(kSpec, {{"scale", std::int64_t{3}}, {"table", std::int64_t{4}}});
  EXPECT_EQ(state.real("scale"), 3.0);
  EXPECT_EQ(state.array("table"), (StateArray{{}, NumberType::real, {4}}));
  EXPECT_EQ(State(kSpec, {{"scale", StateArray{{}, NumberType::real, {2.5}}}}).real("scale"), 2.5)
      << "an array without dimensions is a number";
  EXPECT_NE(refused({{"order", 2.0}}), "") << "a real number is no integer";
  EXPECT_NE(refused({{"flag", std::int64_t{1}}}), "");
  EXPECT_NE(refused({{"scale", true}}), "");
  EXPECT_NE(refused({{"scale", StateArray{{1}, NumberType::real, {2.5}}}}), "");
  EXPECT_NE(refused({{"scale", StateArray{{}, NumberType::complex, {2.5, 0}}}}), "");
  EXPECT_NE(refused({{"mode", 1.0}}), "");
  EXPECT_NE(refused({{"axes", std::string("time")}}), "");
  EXPECT_NE(refused({{"table", std::string("1")}}), "");
}

TEST(State, NumbersAreHeldToTheirLimits) {
  const std::vector<StateSpec> spec{
      {.name = "taps", .type = StateType::integer, .default_value = std::int64_t{1}, .limits = {.least = 1, .most = 4}},
      {.name = "part",
       .type = StateType::real,
       .default_value = 0.0,
       .unit = "m",
       .limits = {.least = 0, .most = 1, .without_most = true}},
      {.name = "gain",
       .type = StateType::real,
       .default_value = 1.0,
       .limits = {.least = 0, .without_least = true, .without_most = true}},
      {.name = "row",
       .type = StateType::integer,
       .default_value = std::int64_t{0},
       .limits = {.least = 0, .most = kInt32.most}}};
  for (const std::int64_t taps : {1, 4}) EXPECT_EQ(State(spec, {{"taps", taps}}).integer("taps"), taps);
  EXPECT_EQ(refused({{"taps", std::int64_t{5}}}, spec), "state field \"taps\" is 5, expected 1 to 4");
  EXPECT_NE(refused({{"taps", std::int64_t{0}}}, spec), "");
  EXPECT_EQ(refused({{"row", std::int64_t{-1}}}, spec),
            "state field \"row\" is -1, expected at least 0 and of 32 bits");
  EXPECT_EQ(State(spec, {{"part", std::int64_t{0}}}).real("part"), 0.0);
  EXPECT_EQ(refused({{"part", 1.0}}, spec), "state field \"part\" is 1, expected at least 0 and below 1 (m)");
  EXPECT_NE(refused({{"part", std::nan("")}}, spec), "");
  EXPECT_EQ(refused({{"gain", 0.0}}, spec), "state field \"gain\" is 0, expected above 0 and finite");
  EXPECT_NE(refused({{"gain", std::numeric_limits<double>::infinity()}}, spec), "");
  EXPECT_EQ(refused({{"scale", std::nan("")}}), "") << "without limits there is nothing to hold a number to";
}

TEST(State, TextsAreAmongTheirChoices) {
  const std::vector<StateSpec> spec{{.name = "profile",
                                     .type = StateType::text,
                                     .default_value = std::string("gaussian"),
                                     .choices = {"gaussian", "cosine", "airy"}}};
  EXPECT_EQ(State(spec, {}).choice("profile"), 0u);
  EXPECT_EQ(State(spec, {{"profile", std::string("airy")}}).choice("profile"), 2u);
  EXPECT_EQ(refused({{"profile", std::string("Airy")}}, spec),
            "state field \"profile\" is \"Airy\", expected \"gaussian\", \"cosine\" or \"airy\"");
}

TEST(State, EmptyListsHaveNoType) {
  EXPECT_TRUE(State(kSpec, {{"axes", StateArray{{0}, NumberType::real, {}}}}).text_list("axes").empty());
  EXPECT_NE(refused({{"axes", StateArray{{1}, NumberType::real, {1}}}}), "");
}

TEST(State, MessagesSayWhatIsWanted) {
  EXPECT_EQ(refused({{"scale", std::string("bright")}}), "state field \"scale\" must be a real number (Jy)");
  const std::string unknown = refused({{"sclae", 1.0}});
  EXPECT_NE(unknown.find("\"sclae\""), std::string::npos) << unknown;
  EXPECT_NE(unknown.find("flag, order, scale, mode, axes, table"), std::string::npos) << unknown;
  EXPECT_EQ(refused({{"a", 1.0}}, {}), "unknown state field \"a\"; this class has none");
  const std::string missing = refused({}, {{.name = "value", .type = StateType::array, .doc = "what it is"}});
  EXPECT_EQ(missing, "state field \"value\" must be given: a number or an array, what it is");
}

TEST(State, ArraysWhoseShapeDoesNotMatchTheirDataAreRefused) {
  for (const StateArray& bad : {StateArray{{2, 2}, NumberType::real, {1}}, StateArray{{}, NumberType::real, {}},
                                StateArray{{2}, NumberType::complex, {1, 2}}, StateArray{{}, NumberType::complex, {1}},
                                StateArray{{-1}, NumberType::real, {1}}}) {
    EXPECT_NE(refused({{"table", bad}}), "");
    EXPECT_NE(refused({{"scale", bad}}), "");
  }
  EXPECT_EQ(refused({{"table", StateArray{{2, 0}, NumberType::real, {}}}}), "");
  EXPECT_EQ(refused({{"table", StateArray{{2}, NumberType::complex, {1, 2, 3, 4}}}}), "");
}

TEST(State, IntegersOfAnArray) {
  EXPECT_EQ(State(kSpec, {{"table", StateArray{{3}, NumberType::real, {2, -7, 0}}}}).integers("table"),
            (std::vector<std::int64_t>{2, -7, 0}));
  EXPECT_THROW(State(kSpec, {{"table", 0.5}}).integers("table"), StateError);
  EXPECT_THROW(State(kSpec, {{"table", 1e300}}).integers("table"), StateError);
  EXPECT_THROW(State(kSpec, {{"table", std::numeric_limits<double>::quiet_NaN()}}).integers("table"), StateError);
  EXPECT_THROW(State(kSpec, {{"table", StateArray{{}, NumberType::complex, {1, 0}}}}).integers("table"), StateError);
}

TEST(State, FieldsAreChangedOneByOne) {
  const State first(kSpec, {{"order", std::int64_t{7}}, {"mode", std::string("y")}});
  const State second = first.with({{"order", StateValue{}}, {"scale", 3.0}});
  EXPECT_EQ(second.integer("order"), 2) << "back to its default";
  EXPECT_EQ(second.text("mode"), "y");
  EXPECT_EQ(second.real("scale"), 3.0);
  EXPECT_EQ(first.integer("order"), 7);
  EXPECT_EQ(first.real("scale"), 0.5);
  EXPECT_EQ(second.find("colour"), nullptr);
  EXPECT_THROW(first.with({{"colour", 1.0}}), StateError);
  EXPECT_TRUE(second.with({{"scale", 0.5}, {"mode", std::string("x")}})
                  .is_same_as(first.with({{"order", std::int64_t{2}}, {"mode", StateValue{}}})))
      << "however it has come about";
}

TEST(State, IsTheSameBitByBit) {
  const std::vector<StateSpec> spec{{.name = "table", .type = StateType::array, .default_value = 0.0},
                                    {.name = "scale", .type = StateType::real, .default_value = 0.0}};
  const State plain = State::defaults(spec);
  EXPECT_TRUE(plain.with({{"scale", 0.0}, {"table", 0.0}}).is_same_as(plain));
  const State other = plain.with({{"scale", -0.0}, {"table", -0.0}});
  EXPECT_FALSE(other.is_same_as(plain));
  EXPECT_TRUE(std::signbit(other.real("scale")) && std::signbit(other.array("table").data[0]));
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_TRUE(plain.with({{"scale", nan}}).is_same_as(plain.with({{"scale", nan}})));
}

TEST(State, FingerprintTellsStatesApart) {
  const auto of = [](const Fields& fields, bool for_batch) { return State(kSpec, fields).fingerprint(for_batch); };
  EXPECT_EQ(of({}, false), of({{"scale", 0.5}}, false)) << "given or by default is the same";
  const std::uint64_t plain = of({}, false);
  for (const Fields& other :
       {Fields{{"flag", false}}, Fields{{"order", std::int64_t{3}}}, Fields{{"scale", 0.25}},
        Fields{{"mode", std::string("y")}}, Fields{{"axes", std::vector<std::string>{"time", "freq"}}},
        Fields{{"axes", std::vector<std::string>{}}}, Fields{{"table", 2.0}},
        Fields{{"table", StateArray{{1}, NumberType::real, {1}}}},
        Fields{{"table", StateArray{{}, NumberType::complex, {1, 0}}}}})
    EXPECT_NE(of(other, false), plain);
  EXPECT_EQ(of({{"table", 2.0}}, true), of({}, true)) << "fields per node do not part a batch";
  EXPECT_NE(of({{"scale", 2.0}}, true), of({}, true));
  EXPECT_NE(of({{"axes", std::vector<std::string>{"ab", "c"}}}, true),
            of({{"axes", std::vector<std::string>{"a", "bc"}}}, true));
}

}  // namespace
}  // namespace rimetree
