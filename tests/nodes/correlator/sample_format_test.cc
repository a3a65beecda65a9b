#include "nodes/correlator/sample_format.h"

#include <gtest/gtest.h>

#include <set>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

// M2: every code of the MWA's words; the sign is extended by repeated subtraction, not by shifts.
TEST(SampleFormat, DecodesEveryWordOfTheMwa) {
  const SampleFormat &format = sample_format("mwa32t"), &swapped = sample_format("mwa32t-swapped");
  for (int code = 0; code < 65536; ++code) {
    const int low = code % 32 >= 16 ? code % 32 - 32 : code % 32;
    const int next = code / 32 % 32, high = next >= 16 ? next - 32 : next;
    ASSERT_EQ(format.decode(static_cast<std::uint16_t>(code)), (Sample{std::int8_t(low), std::int8_t(high)})) << code;
    ASSERT_EQ(swapped.decode(static_cast<std::uint16_t>(code)), (Sample{std::int8_t(high), std::int8_t(low)})) << code;
  }
}

// C1: every byte; excess-8 has the real part in the high nibble.
TEST(SampleFormat, DecodesEveryByteOfChime) {
  for (int code = 0; code < 256; ++code) {
    const Sample sample = sample_format("chime").decode(static_cast<std::uint16_t>(code));
    ASSERT_EQ(sample, (Sample{std::int8_t(code / 16 - 8), std::int8_t(code % 16 - 8)})) << code;
    // Two's complement of the same numbers differs in the highest bits of the nibbles only.
    ASSERT_EQ(sample_format("int4").decode(static_cast<std::uint16_t>(code ^ 0x88)), sample) << code;
    const int swapped = code % 16 * 16 + code / 16;
    ASSERT_EQ(sample_format("int4-low").decode(static_cast<std::uint16_t>(swapped ^ 0x88)), sample) << code;
    ASSERT_EQ(sample_format("chime-low").decode(static_cast<std::uint16_t>(swapped)), sample) << code;
  }
}

TEST(SampleFormat, DecodesEveryPairOfBytes) {
  for (int code = 0; code < 65536; ++code) {
    const auto low = static_cast<std::int8_t>(code & 255), high = static_cast<std::int8_t>(code >> 8);
    ASSERT_EQ(sample_format("int8").decode(static_cast<std::uint16_t>(code)), (Sample{low, high}));
    ASSERT_EQ(sample_format("int8-swapped").decode(static_cast<std::uint16_t>(code)), (Sample{high, low}));
  }
}

TEST(SampleFormat, EncodesWhatItDecodes) {
  for (const SampleFormat& format : sample_formats()) {
    if (format.is_real || format.is_float) continue;
    std::uint64_t saturated = 0;
    std::set<std::uint16_t> codes;
    for (int re = format.lowest(); re <= format.highest(); ++re)
      for (int im = format.lowest(); im <= format.highest(); ++im) {
        const std::uint16_t code = format.encode(re, im, saturated);
        ASSERT_EQ(format.decode(code), (Sample{std::int8_t(re), std::int8_t(im)})) << format.name;
        codes.insert(code);
      }
    EXPECT_EQ(saturated, 0u);
    EXPECT_EQ(codes.size(), std::size_t{1} << (2 * format.bits)) << format.name;
  }
}

TEST(SampleFormat, RealSamplesHaveNoImaginaryPart) {
  const SampleFormat& format = sample_format("real8");
  std::uint64_t saturated = 0;
  for (int code = 0; code < 256; ++code) {
    EXPECT_EQ(format.decode(static_cast<std::uint16_t>(code)),
              (Sample{std::int8_t(code < 128 ? code : code - 256), 0}));
    EXPECT_EQ(format.encode(code < 128 ? code : code - 256, 99, saturated), code);
  }
  EXPECT_EQ(saturated, 0u);
}

TEST(SampleFormat, KnowsTheBitsThatNoCodeHas) {
  EXPECT_EQ(sample_format("mwa32t").unused_bits(), 0xfc00);
  EXPECT_EQ(sample_format("mwa32t-swapped").unused_bits(), 0xfc00);
  for (const char* name : {"chime", "int4", "int4-low", "int8", "real8", "float32", "float32-swapped"})
    EXPECT_EQ(sample_format(name).unused_bits(), 0);
}

TEST(SampleFormat, CutsOffAndCounts) {
  const SampleFormat& format = sample_format("chime");
  std::uint64_t saturated = 0;
  EXPECT_EQ(format.decode(format.encode(8, -9, saturated)), (Sample{7, -8}));
  EXPECT_EQ(saturated, 1u);  // a sample, not its two numbers
  EXPECT_EQ(format.decode(format.encode(7, -9, saturated)), (Sample{7, -8}));
  EXPECT_EQ(format.decode(format.encode(-8, 7, saturated)), (Sample{-8, 7}));
  EXPECT_EQ(saturated, 2u);
}

TEST(SampleFormat, UnknownNamesAreRefusedWithThoseThatAreKnown) {
  try {
    sample_format("cHIME");
    FAIL();
  } catch (const Error& error) {
    EXPECT_STREQ(error.what(),
                 "unknown sample format \"cHIME\"; known are mwa32t, mwa32t-swapped, chime, chime-low, int4, int4-low, "
                 "int8, int8-swapped, "
                 "real8, float32, float32-swapped");
  }
}

}  // namespace

}  // namespace rimetree::correlator
