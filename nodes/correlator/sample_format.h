// How digitisers write a complex sample: bits, signs and the order of the two numbers. A format is data, not a type, so
// that a new telescope's is a line of a table.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace rimetree::correlator {

/// A sample as integers.
struct Sample {
  std::int8_t re = 0, im = 0;
  friend bool operator==(const Sample&, const Sample&) = default;
};

/// How a number is coded in its bits.
enum class Coding : std::uint8_t {
  twos_complement,  ///< -2^(bits-1) .. 2^(bits-1)-1
  excess,           ///< the code less 2^(bits-1): CHIME's "offset" nibbles (Klages et al. 2015, section III)
};

/// A complex sample in one or two bytes, little-endian, or as two floats. Bits that belong to neither number are not
/// looked at.
struct SampleFormat {
  std::string name;
  int bytes = 1;     ///< of a complex sample: 1 or 2, of floats 8
  int bits = 4;      ///< of each number: 2 to 8
  int re_shift = 4;  ///< where the lowest bit of the real part is
  int im_shift = 0;
  Coding coding = Coding::twos_complement;
  bool is_real = false;   ///< the samples have no imaginary part: im_shift says nothing
  bool is_float = false;  ///< two floats: there are no codes, bits says nothing, and shifts tell which one is first

  /// Whether the imaginary part of two floats comes first.
  bool imaginary_is_first() const { return re_shift > im_shift; }

  /// The code's numbers.
  Sample decode(std::uint16_t code) const;
  /// The code of numbers, which are cut off at the format's range; `saturated` counts samples that were.
  std::uint16_t encode(int re, int im, std::uint64_t& saturated) const;
  /// Bits of a code that belong to neither number: set in none that a digitiser writes.
  std::uint16_t unused_bits() const;
  int lowest() const { return -(1 << (bits - 1)); }
  int highest() const { return (1 << (bits - 1)) - 1; }
};

/// Samples whose products can be added up, whatever they are, so that all sums are exact and their means rounded once:
/// in 53 bits, what a double holds. Floats are never exact: as many as there may be.
std::size_t most_exact_samples(const SampleFormat& format);

/// Formats that have a name:
///   - mwa32t: two 5-bit numbers in a 16-bit word, real part in bits 0-4 (Wayth, Greenhill & Briggs 2009 do not say
///     which);
///   - mwa32t-swapped: the same with the imaginary part in bits 0-4;
///   - chime: two 4-bit numbers in excess-8, real part in the high nibble (Klages et al. 2015);
///   - chime-low: the same with the real part in the low nibble;
///   - int4: two 4-bit numbers in two's complement, real part in the high nibble;
///   - int4-low: the same with the real part in the low nibble;
///   - int8: two bytes in two's complement, the real part first;
///   - int8-swapped: the same with the imaginary part first;
///   - real8: one byte in two's complement, which is all: what is sampled before a channeliser for real signals;
///   - float32: two numbers in single precision (IEEE 754), the real part first;
///   - float32-swapped: the same with the imaginary part first.
/// Throws Error naming them for another name.
const SampleFormat& sample_format(const std::string& name);
const std::vector<SampleFormat>& sample_formats();
std::vector<std::string> format_names();
/// Of those that channels can have.
std::vector<std::string> complex_format_names();

}  // namespace rimetree::correlator
