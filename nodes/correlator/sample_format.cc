#include "nodes/correlator/sample_format.h"

#include <algorithm>
#include <limits>

#include "runtime/core/error.h"

namespace rimetree::correlator {

namespace {

std::int8_t number(std::uint16_t code, int shift, int bits, Coding coding) {
  const int mask = (1 << bits) - 1, half = 1 << (bits - 1);
  const int raw = (code >> shift) & mask;
  if (coding == Coding::excess) return static_cast<std::int8_t>(raw - half);
  return static_cast<std::int8_t>(raw >= half ? raw - 2 * half : raw);
}

}  // namespace

Sample SampleFormat::decode(std::uint16_t code) const {
  return {number(code, re_shift, bits, coding), is_real ? std::int8_t{0} : number(code, im_shift, bits, coding)};
}

std::uint16_t SampleFormat::unused_bits() const {
  if (is_float) return 0;
  const int mask = (1 << bits) - 1, used = mask << re_shift | (is_real ? 0 : mask << im_shift);
  return static_cast<std::uint16_t>(((1 << 8 * bytes) - 1) & ~used);
}

std::uint16_t SampleFormat::encode(int re, int im, std::uint64_t& saturated) const {
  const int mask = (1 << bits) - 1, offset = coding == Coding::excess ? 1 << (bits - 1) : 0;
  const int cut_re = std::clamp(re, lowest(), highest()), cut_im = is_real ? im : std::clamp(im, lowest(), highest());
  if (cut_re != re || cut_im != im) ++saturated;
  const int im_code = is_real ? 0 : ((cut_im + offset) & mask) << im_shift;
  return static_cast<std::uint16_t>(((cut_re + offset) & mask) << re_shift | im_code);
}

std::size_t most_exact_samples(const SampleFormat& format) {
  if (format.is_float) return std::numeric_limits<std::size_t>::max();
  const auto lowest = static_cast<std::size_t>(-format.lowest());
  return (std::size_t{1} << std::numeric_limits<double>::digits) / (2 * lowest * lowest);
}

const std::vector<SampleFormat>& sample_formats() {
  static const std::vector<SampleFormat> formats{
      {"mwa32t", 2, 5, 0, 5, Coding::twos_complement},
      {"mwa32t-swapped", 2, 5, 5, 0, Coding::twos_complement},
      {"chime", 1, 4, 4, 0, Coding::excess},
      {"chime-low", 1, 4, 0, 4, Coding::excess},
      {"int4", 1, 4, 4, 0, Coding::twos_complement},
      {"int4-low", 1, 4, 0, 4, Coding::twos_complement},
      {"int8", 2, 8, 0, 8, Coding::twos_complement},
      {"int8-swapped", 2, 8, 8, 0, Coding::twos_complement},
      {"real8", 1, 8, 0, 0, Coding::twos_complement, true},
      {"float32", 8, 0, 0, 32, Coding::twos_complement, false, true},
      {"float32-swapped", 8, 0, 32, 0, Coding::twos_complement, false, true},
  };
  return formats;
}

const SampleFormat& sample_format(const std::string& name) {
  std::string known;
  for (const SampleFormat& format : sample_formats()) {
    if (format.name == name) return format;
    known += (known.empty() ? "" : ", ") + format.name;
  }
  throw Error("unknown sample format \"" + name + "\"; known are " + known);
}

std::vector<std::string> format_names() {
  std::vector<std::string> names;
  for (const SampleFormat& format : sample_formats()) names.push_back(format.name);
  return names;
}

std::vector<std::string> complex_format_names() {
  std::vector<std::string> names;
  for (const SampleFormat& format : sample_formats())
    if (!format.is_real) names.push_back(format.name);
  return names;
}

}  // namespace rimetree::correlator
