#include "nodes/correlator/sample_format.h"

#include <algorithm>

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
  return {number(code, re_shift, bits, coding), number(code, im_shift, bits, coding)};
}

std::uint16_t SampleFormat::encode(int re, int im, std::uint64_t& saturated) const {
  const int mask = (1 << bits) - 1, offset = coding == Coding::excess ? 1 << (bits - 1) : 0;
  const int cut_re = std::clamp(re, lowest(), highest()), cut_im = std::clamp(im, lowest(), highest());
  if (cut_re != re || cut_im != im) ++saturated;
  return static_cast<std::uint16_t>(((cut_re + offset) & mask) << re_shift | ((cut_im + offset) & mask) << im_shift);
}

const std::vector<SampleFormat>& sample_formats() {
  static const std::vector<SampleFormat> formats{
      {"mwa32t", 2, 5, 0, 5, Coding::twos_complement},
      {"mwa32t-swapped", 2, 5, 5, 0, Coding::twos_complement},
      {"chime", 1, 4, 4, 0, Coding::excess},
      {"int4", 1, 4, 4, 0, Coding::twos_complement},
      {"int4-low", 1, 4, 0, 4, Coding::twos_complement},
      {"int8", 2, 8, 0, 8, Coding::twos_complement},
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

}  // namespace rimetree::correlator
