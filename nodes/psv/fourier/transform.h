// Fourier transforms of one length, planned once and used by many threads: the only place that knows FFTW.
#pragma once

#include <cstddef>
#include <memory>

#include "runtime/math/complex.h"

namespace rimetree::psv::fourier {

/// out[k] = sum_j in[j] exp(+2 pi i j k / n). The plan depends on the length only (it is estimated, not measured), so
/// that results do not change from run to run.
class FourierTransform {
 public:
  /// Plans are kept for the life of the process; any thread may ask.
  static std::shared_ptr<const FourierTransform> of_length(std::size_t n);
  virtual ~FourierTransform() = default;
  std::size_t length() const { return length_; }
  /// Both arrays [length], aligned to 64 bytes, not overlapping; `in` is kept. May run on several threads at once.
  virtual void run(const Complex<double>* in, Complex<double>* out) const = 0;

 protected:
  explicit FourierTransform(std::size_t n) : length_(n) {}

 private:
  std::size_t length_;
};

/// The shortest length >= n that is a multiple of 16 without prime factors above 5, which transforms like.
std::size_t good_transform_length(std::size_t n);

}  // namespace rimetree::psv::fourier
