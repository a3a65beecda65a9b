#include <unistd.h>

#include <fstream>

#include "tests/support/forest_fixture.h"

namespace rimetree::test {

namespace {

/// A file that is gone with the test.
class SampleFile {
 public:
  explicit SampleFile(const std::vector<int>& bytes, const std::string& suffix = "")
      : path_(::testing::TempDir() + "rimetree-correlate-" + std::to_string(getpid()) + suffix) {
    std::ofstream file(path_, std::ios::binary);
    for (const int byte : bytes) file.put(static_cast<char>(byte));
  }
  ~SampleFile() { unlink(path_.c_str()); }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

/// Code of CHIME's format.
int chime(int re, int im) { return (re + 8) << 4 | (im + 8); }

/// Voltages, and Correlate of two samples in a cell.
TestForest correlator(const SampleFile& voltages, TestForest::Fields state = {}, TestForest::Fields how = {}) {
  TestForest forest;
  state.try_emplace("source", std::vector<std::string>{voltages.path()});
  state.try_emplace("format", std::string("chime"));
  state.try_emplace("n_input", std::int64_t{2});
  state.try_emplace("start_s", 5e9);
  state.try_emplace("sample_interval_s", 0.5);
  how.try_emplace("integration", std::int64_t{2});
  forest.node("volts", "Voltages", {}, state).node("V", "Correlate", {"volts"}, how);
  forest.request.cells = cells({5e9 + 0.5, 5e9 + 1.5}, {1e9}, 1.0);
  return forest;
}

std::string message_of(const ResultPtr& result) { return result->failures.empty() ? "" : result->failures[0].message; }

// By hand: (1 + 2 i) (3 - i)* = 1 + 7 i, (2) (i)* = -2 i; their mean, and the autos' (5 + 4)/2 and (10 + 1)/2.
TEST(Correlate, MeansOfProducts) {
  const SampleFile voltages(
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

TEST(Correlate, OfCellsWithoutSamplesIsFlagged) {
  const SampleFile voltages({chime(1, 0), chime(1, 0), chime(1, 0), chime(0, 1), chime(4, 0), chime(0, 2)});
  TestForest forest = correlator(voltages);
  forest.request.cells = cells({5e9 - 0.5, 5e9 + 0.5, 5e9 + 1.5, 5e9 + 2.5}, {1e9}, 1.0);
  const ResultPtr result = forest.evaluate("V");
  expect_ok(result);
  for (const std::size_t t : {0, 1, 2, 3}) EXPECT_EQ(flag_at(result->flags, 0, t), t == 0 || t == 3 ? 1 : 0) << t;
  // The third cell has one of its two samples: 2 i times 4.
  expect_near(value_at(result->value, 1, 2), {0, 8}, 0);
}

TEST(Correlate, ReadsEitherOrder) {
  // [time][channel][input] and [channel][input][time], two channels.
  const SampleFile time_first({chime(1, 0), chime(2, 0), chime(3, 0), chime(4, 0),  //
                               chime(5, 0), chime(6, 0), chime(7, 0), chime(-8, 0)});
  std::vector<Complex<double>> found;
  const auto products = [&](const SampleFile& voltages, const std::string& order) {
    TestForest forest = correlator(voltages, {{"order", order}, {"n_channel", std::int64_t{2}}});
    forest.request.cells = cells({5e9 + 0.5}, {1e9, 1.1e9}, 1.0);
    const ResultPtr result = forest.evaluate("V");
    expect_ok(result);
    expect_near(value_at(result->value, 1, 0, 0), {(1 * 2 + 5 * 6) / 2.0, 0}, 0);
    expect_near(value_at(result->value, 1, 0, 1), {(3 * 4 - 7 * 8) / 2.0, 0}, 0);
  };
  products(time_first, "time,channel,input");
  const SampleFile channel_first({chime(1, 0), chime(5, 0), chime(2, 0), chime(6, 0),  //
                                  chime(3, 0), chime(7, 0), chime(4, 0), chime(-8, 0)});
  products(channel_first, "channel,input,time");
}

TEST(Correlate, SaysWhatDoesNotFit) {
  const SampleFile voltages({1, 2, 3, 4, 5, 6, 7});
  EXPECT_NE(message_of(correlator(voltages).evaluate("V")).find("7 bytes, which is no multiple of the 2"),
            std::string::npos);
  EXPECT_NE(message_of(correlator(voltages, {{"source", std::vector<std::string>{"/nowhere"}}}).evaluate("V"))
                .find("cannot read \"/nowhere\": No such file"),
            std::string::npos);
  EXPECT_NE(message_of(correlator(voltages, {{"source", std::vector<std::string>{"/"}}}).evaluate("V"))
                .find("no regular file"),
            std::string::npos);
  const SampleFile even({1, 2, 3, 4});
  TestForest channels = correlator(even);
  channels.request.cells = cells({5e9 + 0.5}, {1e9, 2e9}, 1.0);
  EXPECT_NE(message_of(channels.evaluate("V")).find("the request has 2 channels, the samples have 1"),
            std::string::npos);
  TestForest shifted = correlator(even);
  shifted.request.cells = cells({5e9 + 0.75}, {1e9}, 1.0);
  EXPECT_NE(message_of(shifted.evaluate("V")).find("a time cell is no integration"), std::string::npos);
  TestForest wide = correlator(even);
  wide.request.cells = cells({5e9 + 0.5}, {1e9}, 2.0);
  EXPECT_NE(message_of(wide.evaluate("V")).find("integrations are 1 s long"), std::string::npos);
}

// In MJD times are rounded to 1e-6 s: two integrations of a third of that have the same time. Counted from nearby they
// have not.
TEST(Correlate, RefusesIntegrationsThatTimesDoNotTellApart) {
  const SampleFile voltages({chime(1, 0), chime(1, 0), chime(2, 0), chime(2, 0), chime(3, 0), chime(3, 0)});
  const TestForest::Fields one = {{"integration", std::int64_t{1}}};
  TestForest far = correlator(voltages, {{"sample_interval_s", 3e-7}}, one);
  far.request.cells = cells({5e9 + 1.5e-7, 5e9 + 4.5e-7, 5e9 + 7.5e-7}, {1e9}, 3e-7);
  EXPECT_NE(message_of(far.evaluate("V")).find("integrations are 3e-07 s long, which times do not tell apart"),
            std::string::npos);
  TestForest near = correlator(voltages, {{"sample_interval_s", 3e-7}, {"start_s", 0.0}}, one);
  near.request.cells = cells({1.5e-7, 4.5e-7, 7.5e-7}, {1e9}, 3e-7);
  const ResultPtr result = near.evaluate("V");
  expect_ok(result);
  for (int t = 0; t < 3; ++t) expect_near(value_at(result->value, 0, t), {(t + 1.0) * (t + 1.0), 0}, 0);
  near.request.cells = cells({1.5e-7, 5e-7}, {1e9}, 3e-7);
  EXPECT_NE(message_of(near.evaluate("V")).find("begins 3.5e-07 s after start_s"), std::string::npos);
}

TEST(Correlate, RefusesStatesWithTheFieldsName) {
  const SampleFile voltages({1, 2});
  const std::pair<const char*, StateValue> wrong[] = {
      {"format", std::string("int9")}, {"order", std::string("input")},       {"n_channel", std::int64_t{0}},
      {"n_input", std::int64_t{-1}},   {"n_input", std::int64_t{70000}},      {"sample_interval_s", 0.0},
      {"lost", std::string("no")},     {"source", std::vector<std::string>{}}};
  for (const auto& [field, value] : wrong)
    EXPECT_THROW(correlator(voltages, {{field, value}}).evaluate("V"), Error) << field;
  const std::pair<const char*, StateValue> wrong_how[] = {{"integration", std::int64_t{0}},
                                                          {"gates", std::int64_t{0}},
                                                          {"gate_length", std::int64_t{-3}},
                                                          {"strategy", std::string("fast")}};
  for (const auto& [field, value] : wrong_how)
    EXPECT_THROW(correlator(voltages, {}, {{field, value}}).evaluate("V"), Error) << field;
}

// C4: what the packed way cannot take is refused before anything is computed.
TEST(Correlate, RefusesPackedProductsOfBytes) {
  const SampleFile voltages({1, 2, 3, 4});
  const TestForest::Fields packed{{"strategy", std::string("packed")}, {"integration", std::int64_t{1}}};
  TestForest forest = correlator(voltages, {{"format", std::string("int8")}}, packed);
  forest.request.cells = cells({5e9 + 0.25}, {1e9}, 0.5);
  EXPECT_NE(message_of(forest.evaluate("V")).find("takes samples of at most 4 bits"), std::string::npos);
}

TEST(Correlate, TakesNothingButSources) {
  TestForest forest;
  forest.constant("x", array({2}, {1, 1})).node("V", "Correlate", {"x"}, {{"integration", std::int64_t{1}}});
  EXPECT_NE(message_of(forest.evaluate("V")).find("\"x\" of class Constant, which gives no samples"),
            std::string::npos);
}

// C9: sample n is in gate (n + offset) / length modulo gates; together the gates have what there is without them.
TEST(Correlate, GatesShareOutTheSamples) {
  std::vector<int> bytes;
  for (int t = 0; t < 40; ++t)
    for (int input = 0; input < 2; ++input)
      bytes.push_back(chime((7 * t + 3 * input) % 15 - 7, (5 * t + input) % 13 - 6));
  const SampleFile voltages(bytes);
  const TestForest::Fields gated{{"gates", std::int64_t{3}},
                                 {"gate_length", std::int64_t{4}},
                                 {"gate_offset", std::int64_t{-5}},
                                 {"integration", std::int64_t{20}}};
  TestForest forest = correlator(voltages, {}, gated),
             whole = correlator(voltages, {}, {{"integration", std::int64_t{20}}});
  forest.request.cells = whole.request.cells = cells({5e9 + 5, 5e9 + 15}, {1e9}, 10.0);
  const ResultPtr result = forest.evaluate("V"), all = whole.evaluate("V");
  expect_ok(result);
  for (std::size_t t = 0; t < 2; ++t)
    for (std::size_t product = 0; product < 3; ++product) {
      Complex<double> sum[3] = {}, total{};
      double count[3] = {};
      const std::size_t i = product == 0 ? 0 : 1, j = product == 2 ? 1 : 0;
      for (int n = 20 * int(t); n < 20 * int(t) + 20; ++n) {
        const int gate = ((n - 5 + 120) / 4) % 3;
        const auto number = [&](std::size_t input) {
          const int code = bytes[2 * static_cast<std::size_t>(n) + input];
          return Complex<double>(code / 16 - 8, code % 16 - 8);
        };
        sum[gate] += number(i) * conj(number(j));
        ++count[gate];
      }
      for (std::size_t gate = 0; gate < 3; ++gate) {
        EXPECT_EQ(value_at(result->weight, 3 * gate + product, t).re, count[gate]);
        const Complex<double> mean = value_at(result->value, 3 * gate + product, t);
        expect_near(mean, (1 / count[gate]) * sum[gate], 1e-13);
        total += count[gate] * mean;
      }
      expect_near((1.0 / 20) * total, value_at(all->value, product, t), 1e-13);
    }
}

// C6: one integration is as good as several that are added.
TEST(Correlate, LongIntegrationsAreSumsOfShortOnes) {
  std::vector<int> bytes;
  for (int k = 0; k < 2 * 6000; ++k) bytes.push_back((k * 2654435761u >> 13) & 255);
  const SampleFile voltages(bytes);
  TestForest parts = correlator(voltages, {}, {{"integration", std::int64_t{1000}}}),
             whole = correlator(voltages, {}, {{"integration", std::int64_t{6000}}});
  parts.request.cells = cells({5e9 + 250, 5e9 + 750, 5e9 + 1250, 5e9 + 1750, 5e9 + 2250, 5e9 + 2750}, {1e9}, 500);
  whole.request.cells = cells({5e9 + 1500}, {1e9}, 3000);
  const ResultPtr some = parts.evaluate("V", 2), all = whole.evaluate("V", 2);
  for (std::size_t product = 0; product < 3; ++product) {
    Complex<double> sum{};
    for (std::size_t t = 0; t < 6; ++t) sum += 1000 * value_at(some->value, product, t);
    EXPECT_EQ(std::round(6000 * value_at(all->value, product).re), std::round(sum.re)) << product;
    EXPECT_EQ(std::round(6000 * value_at(all->value, product).im), std::round(sum.im)) << product;
  }
}

}  // namespace

}  // namespace rimetree::test
