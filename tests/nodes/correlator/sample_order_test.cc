#include "nodes/correlator/sample_order.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>

#include "nodes/correlator/unpacking.h"
#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

constexpr std::size_t kTimes = 5, kChannels = 3, kInputs = 4;

/// What sample (t, c, i) is.
std::uint16_t tag(std::size_t t, std::size_t c, std::size_t i) {
  return static_cast<std::uint16_t>(t << 8 | c << 4 | i);
}

/// All samples, one axis inside the other as an order says.
std::vector<std::uint8_t> laid_out(const std::vector<std::string>& axes) {
  const bool apart = axes.size() == 4;
  const std::map<std::string, std::size_t> lengths{
      {"time", kTimes}, {"channel", kChannels}, {"input", kInputs}, {"antenna", kInputs / 2}, {"feed", 2}};
  std::size_t n = 1;
  for (const std::string& axis : axes) n *= lengths.at(axis);
  std::vector<std::uint8_t> bytes;
  for (std::size_t k = 0; k < n; ++k) {
    std::map<std::string, std::size_t> at;
    std::size_t rest = k;
    for (auto axis = axes.rbegin(); axis != axes.rend(); ++axis) {
      at[*axis] = rest % lengths.at(*axis);
      rest /= lengths.at(*axis);
    }
    const std::uint16_t code = tag(at["time"], at["channel"], apart ? 2 * at["antenna"] + at["feed"] : at["input"]);
    bytes.push_back(static_cast<std::uint8_t>(code & 255));
    bytes.push_back(static_cast<std::uint8_t>(code >> 8));
  }
  return bytes;
}

// M3: whatever the order, the sample of a time, a channel and an input is found; all permutations.
TEST(SampleOrder, FindsEverySampleInEveryOrder) {
  for (std::vector<std::string> axes : {std::vector<std::string>{"channel", "input", "time"},
                                        std::vector<std::string>{"antenna", "channel", "feed", "time"}}) {
    std::sort(axes.begin(), axes.end());
    int orders = 0;
    do {
      std::string name;
      for (const std::string& axis : axes) name += (name.empty() ? "" : ",") + axis;
      const std::vector<std::uint8_t> bytes = laid_out(axes);
      const SamplePlaces places(sample_order(name), sample_format("int8"), kTimes, kChannels, kInputs);
      std::vector<std::uint8_t> copied(2 * 3 * kChannels * kInputs);
      places.copy(bytes.data(), 1, 3, copied.data());
      const SampleView plain = input_fastest(copied.data(), sample_format("int8"), 3, kChannels, kInputs);
      for (std::size_t t = 0; t < kTimes; ++t)
        for (std::size_t c = 0; c < kChannels; ++c)
          for (std::size_t i = 0; i < kInputs; ++i) {
            if (places.is_a_view()) {
              ASSERT_EQ(places.view(bytes.data()).code(t, c, i), tag(t, c, i)) << name;
            }
            if (t >= 1 && t < 4) {
              ASSERT_EQ(plain.code(t - 1, c, i), tag(t, c, i)) << name;
            }
          }
      ++orders;
    } while (std::next_permutation(axes.begin(), axes.end()));
    EXPECT_EQ(orders, axes.size() == 3 ? 6 : 24);
  }
}

TEST(SampleOrder, RefusesWhatIsNone) {
  for (const char* name : {"", "time", "time,channel", "time,channel,input,feed", "time,time,input",
                           "Time,channel,input", "time, channel,input", "time,channel,input,", "antenna,channel,time"})
    EXPECT_THROW(sample_order(name), Error) << name;
  EXPECT_TRUE(sample_order("groups").are_groups);
  EXPECT_THROW(SamplePlaces(sample_order("antenna,channel,time,feed"), sample_format("int8"), 1, 1, 3), Error);
}

// M2, M4, C1: every code of every format as floats, for any number of inputs side by side and any distance of times.
TEST(Unpacking, GivesEveryNumberOfEveryFormat) {
  for (const SampleFormat& format : sample_formats()) {
    if (format.is_float) continue;
    const auto bytes = static_cast<std::size_t>(format.bytes);
    const std::size_t n_code = std::size_t{1} << 8 * format.bytes, numbers = format.is_real ? 1 : 2;
    for (const std::size_t inputs : {1, 3, 8, 16, 29}) {
      const std::size_t n = (n_code + inputs - 1) / inputs, stride = inputs * bytes + 5, row = numbers * inputs + 7;
      std::vector<std::uint8_t> codes(n * stride);
      std::vector<float> found(n * row, -1e9f);
      for (std::size_t k = 0; k < n * inputs; ++k) {
        const auto code = static_cast<std::uint16_t>(k % n_code);
        std::memcpy(codes.data() + k / inputs * stride + k % inputs * bytes, &code, bytes);
      }
      unpack(codes.data(), static_cast<std::ptrdiff_t>(stride), inputs, n, format, found.data(), row);
      for (std::size_t k = 0; k < n * inputs; ++k) {
        const Sample want = format.decode(static_cast<std::uint16_t>(k % n_code));
        const float* at = found.data() + k / inputs * row + numbers * (k % inputs);
        ASSERT_EQ(at[0], want.re) << format.name << " " << k;
        if (!format.is_real) {
          ASSERT_EQ(at[1], want.im) << format.name << " " << k;
        }
      }
      for (std::size_t t = 0; t < n; ++t) ASSERT_EQ(found[t * row + numbers * inputs], -1e9f) << "behind a row";
    }
  }
}

}  // namespace

}  // namespace rimetree::correlator
