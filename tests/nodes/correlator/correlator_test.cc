#include <unistd.h>

#include <fstream>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {

namespace {

/// A file that is gone with the test.
class Voltages {
 public:
  explicit Voltages(const std::vector<int>& bytes)
      : path_(::testing::TempDir() + "rimetree-correlator-" + std::to_string(getpid())) {
    std::ofstream file(path_, std::ios::binary);
    for (const int byte : bytes) file.put(static_cast<char>(byte));
  }
  ~Voltages() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Code of CHIME's format.
int chime(int re, int im) { return (re + 8) << 4 | (im + 8); }

TestForest correlator(const Voltages& voltages, TestForest::Fields state = {}) {
  TestForest forest;
  state.try_emplace("file", voltages.path());
  state.try_emplace("format", std::string("chime"));
  state.try_emplace("n_input", std::int64_t{2});
  state.try_emplace("integration", std::int64_t{2});
  state.try_emplace("start_s", 5e9);
  state.try_emplace("sample_interval_s", 0.5);
  forest.node("V", "Correlator", {}, state);
  forest.request.cells = cells({5e9 + 0.5, 5e9 + 1.5}, {1e9}, 1.0);
  return forest;
}

std::string message_of(const ResultPtr& result) { return result->failures.empty() ? "" : result->failures[0].message; }

// By hand: (1 + 2 i) (3 - i)* = 1 + 7 i, (2) (i)* = -2 i; their mean, and the autos' (5 + 4)/2 and (10 + 1)/2.
TEST(Correlator, MeansOfProducts) {
  const Voltages voltages(
      {chime(3, -1), chime(1, 2), chime(0, 1), chime(2, 0), chime(-8, -8), chime(7, 7), 0x88, 0x88});
  TestForest forest = correlator(voltages);
  const ResultPtr result = forest.evaluate("V", 2);
  expect_ok(result);
  expect_near(value_at(result->value, 0, 0), {5.5, 0}, 0);
  expect_near(value_at(result->value, 1, 0), {0.5, 2.5}, 0);
  expect_near(value_at(result->value, 2, 0), {4.5, 0}, 0);
  expect_near(value_at(result->value, 1, 1), {-56, 0}, 0);
  EXPECT_TRUE(result->flags.empty());
}

TEST(Correlator, OfCellsWithoutSamplesIsFlagged) {
  const Voltages voltages({chime(1, 0), chime(1, 0), chime(1, 0), chime(0, 1), chime(4, 0), chime(0, 2)});
  TestForest forest = correlator(voltages);
  forest.request.cells = cells({5e9 - 0.5, 5e9 + 0.5, 5e9 + 1.5, 5e9 + 2.5}, {1e9}, 1.0);
  const ResultPtr result = forest.evaluate("V");
  expect_ok(result);
  for (const std::size_t t : {0, 1, 2, 3}) EXPECT_EQ(flag_at(result->flags, 0, t), t == 0 || t == 3 ? 1 : 0) << t;
  // The third cell has one of its two samples: 2 i times 4.
  expect_near(value_at(result->value, 1, 2), {0, 8}, 0);
}

TEST(Correlator, ReadsEitherOrder) {
  // [time][channel][input] and [channel][input][time], two channels.
  const Voltages time_first({chime(1, 0), chime(2, 0), chime(3, 0), chime(4, 0),  //
                             chime(5, 0), chime(6, 0), chime(7, 0), chime(-8, 0)});
  std::vector<Complex<double>> found;
  const auto products = [&](const Voltages& voltages, const std::string& order) {
    TestForest forest = correlator(voltages, {{"order", order}, {"n_channel", std::int64_t{2}}});
    forest.request.cells = cells({5e9 + 0.5}, {1e9, 1.1e9}, 1.0);
    const ResultPtr result = forest.evaluate("V");
    expect_ok(result);
    expect_near(value_at(result->value, 1, 0, 0), {(1 * 2 + 5 * 6) / 2.0, 0}, 0);
    expect_near(value_at(result->value, 1, 0, 1), {(3 * 4 - 7 * 8) / 2.0, 0}, 0);
  };
  products(time_first, "time,channel,input");
  const Voltages channel_first({chime(1, 0), chime(5, 0), chime(2, 0), chime(6, 0),  //
                                chime(3, 0), chime(7, 0), chime(4, 0), chime(-8, 0)});
  products(channel_first, "channel,input,time");
}

TEST(Correlator, SaysWhatDoesNotFit) {
  const Voltages voltages({1, 2, 3, 4, 5, 6, 7});
  EXPECT_NE(message_of(correlator(voltages).evaluate("V")).find("7 bytes, which is no multiple of the 2"),
            std::string::npos);
  EXPECT_NE(message_of(correlator(voltages, {{"file", std::string("/nowhere")}}).evaluate("V"))
                .find("cannot read \"/nowhere\": No such file"),
            std::string::npos);
  EXPECT_NE(message_of(correlator(voltages, {{"file", std::string("/")}}).evaluate("V")).find("no regular file"),
            std::string::npos);
  const Voltages even({1, 2, 3, 4});
  TestForest channels = correlator(even);
  channels.request.cells = cells({5e9 + 0.5}, {1e9, 2e9}, 1.0);
  EXPECT_NE(message_of(channels.evaluate("V")).find("the request has 2 channels, the file 1"), std::string::npos);
  TestForest shifted = correlator(even);
  shifted.request.cells = cells({5e9 + 0.75}, {1e9}, 1.0);
  EXPECT_NE(message_of(shifted.evaluate("V")).find("a time cell is no integration"), std::string::npos);
  TestForest wide = correlator(even);
  wide.request.cells = cells({5e9 + 0.5}, {1e9}, 2.0);
  EXPECT_NE(message_of(wide.evaluate("V")).find("integrations are 1.000000 s long"), std::string::npos);
}

TEST(Correlator, RefusesStatesWithTheFieldsName) {
  const Voltages voltages({1, 2});
  const std::pair<const char*, StateValue> wrong[] = {
      {"format", std::string("int9")}, {"order", std::string("input")},  {"n_channel", std::int64_t{0}},
      {"n_input", std::int64_t{-1}},   {"n_input", std::int64_t{70000}}, {"integration", std::int64_t{0}},
      {"sample_interval_s", 0.0},      {"strategy", std::string("fast")}};
  for (const auto& [field, value] : wrong) EXPECT_THROW(correlator(voltages, {{field, value}}).evaluate("V"), Error);
  EXPECT_THROW(
      correlator(voltages, {{"strategy", std::string("packed")}, {"format", std::string("int8")}}).evaluate("V"),
      Error);
}

}  // namespace

}  // namespace rimetree::test
